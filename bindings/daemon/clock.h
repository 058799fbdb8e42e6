// SPDX-License-Identifier: Apache-2.0
// EngineClock: engine time (L12). Reads the time stamp counter where that is invariant and the kernel
// itself keeps time by it, CLOCK_BOOTTIME otherwise. It never goes back and does not see the wall clock
// being set.
//
// now() is for the dispatcher's thread. A manual clock stands still until somebody sets it (scenarios,
// tests).
#pragma once

#include <atomic>
#include <cstdint>

#include "core/types.h"
#include "shm/engine_regions.h"

namespace pinnace::daemon {

class EngineClock {
 public:
    // Starts at `now`. `manual`: moves only by set().
    EngineClock(Time now, bool manual);

    // Dispatcher only: it keeps what the clock must not fall behind.
    Time now();

    // Manual clocks only; any thread. Never back.
    void set(Time now);

    // What clients need to turn their own readings into engine time; control thread.
    shm::ClockCalibration calibration() const;

    // "tsc", "boottime" or "manual".
    const char* source() const;

    // To be called now and then (the control thread, once a second): measures the counter against
    // CLOCK_BOOTTIME again over the longer time, and turns to CLOCK_BOOTTIME for good when the kernel
    // stopped trusting the counter.
    void recalibrate();

 private:
    // Atomic, since a dispatcher that was paused for seconds may read one while it is written anew; it
    // sees that by the generation and reads again.
    struct Calibration {
        std::atomic<std::uint64_t> tsc{0};
        std::atomic<Time> time{0};
        std::atomic<std::uint64_t> ns_per_tick_32{0};  // nanoseconds per tick, 32 bits of fraction
    };
    static Time from_counter(const Calibration& calibration);
    Time from_boottime() const;

    bool manual_;
    bool tsc_ = false;
    Time last_ = 0;         // dispatcher's own
    Time boot_offset_ = 0;  // engine time minus CLOCK_BOOTTIME
    std::uint64_t first_tsc_ = 0;
    std::int64_t first_boottime_ = 0;
    Calibration calibrations_[4];
    std::atomic<std::int64_t> generation_{-1};  // calibrations_[generation_ % 4] holds; -1: CLOCK_BOOTTIME
    std::atomic<Time> manual_now_{0};
};

}  // namespace pinnace::daemon
