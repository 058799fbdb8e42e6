// SPDX-License-Identifier: Apache-2.0
#include "bindings/daemon/clock.h"

#include <algorithm>
#include <ctime>
#include <fstream>
#include <string>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace pinnace::daemon {
namespace {

__extension__ using Wide = __int128;  // of ticks times rate; ISO C++ has no name for it

std::int64_t boottime_ns() {
    timespec t{};
    clock_gettime(CLOCK_BOOTTIME, &t);
    return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

std::uint64_t counter() {
#if defined(__x86_64__)
    return __rdtsc();
#else
    return 0;
#endif
}

bool kernel_keeps_time_by_tsc() {
#if defined(__x86_64__)
    std::ifstream file("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    std::string name;
    return file >> name && name == "tsc";
#else
    return false;
#endif
}

struct Pair {
    std::uint64_t tsc = 0;
    std::int64_t boottime = 0;
};

// The counter and the kernel's clock at one instant: of several tries the one with the smallest gap round
// it.
Pair read_pair() {
    Pair best;
    std::uint64_t best_gap = UINT64_MAX;
    for (int i = 0; i < 16; ++i) {
        const std::uint64_t before = counter();
        const std::int64_t boottime = boottime_ns();
        const std::uint64_t after = counter();
        if (after - before < best_gap) {
            best_gap = after - before;
            best = {before + (after - before) / 2, boottime};
        }
    }
    return best;
}

}  // namespace

EngineClock::EngineClock(Time now, bool manual) : manual_(manual), last_(now), manual_now_(now) {
    if (manual_) return;
    const Pair first = read_pair();
    boot_offset_ = now - first.boottime;
    if (!kernel_keeps_time_by_tsc()) return;
    first_tsc_ = first.tsc;
    first_boottime_ = first.boottime;
    // A first measurement over 5 ms; recalibrate() makes it finer while the engine runs.
    while (boottime_ns() - first_boottime_ < 5'000'000) {
    }
    tsc_ = true;
    recalibrate();
}

void EngineClock::recalibrate() {
    if (!tsc_) return;
    if (!kernel_keeps_time_by_tsc()) {
        tsc_ = false;
        generation_.store(-1, std::memory_order_release);  // pair: clock calibrated
        return;
    }
    const Pair pair = read_pair();
    const std::uint64_t ticks = pair.tsc - first_tsc_;
    const auto elapsed = static_cast<std::uint64_t>(pair.boottime - first_boottime_);
    if (ticks == 0) return;
    const std::int64_t next =
        generation_.load(std::memory_order_relaxed) + 1;  // relaxed: only this thread writes it
    const auto scaled = (static_cast<Wide>(elapsed) << 32) / static_cast<Wide>(ticks);
    Calibration& calibration = calibrations_[next % 4];
    calibration.tsc.store(pair.tsc, std::memory_order_relaxed);  // relaxed: the generation carries all three
    calibration.time.store(pair.boottime + boot_offset_, std::memory_order_relaxed);
    calibration.ns_per_tick_32.store(static_cast<std::uint64_t>(scaled), std::memory_order_relaxed);
    generation_.store(next, std::memory_order_release);  // pair: clock calibrated
}

Time EngineClock::from_counter(const Calibration& calibration) {
    // relaxed: now() looks at the generation before and after
    const std::uint64_t tsc = calibration.tsc.load(std::memory_order_relaxed);
    const std::uint64_t rate = calibration.ns_per_tick_32.load(std::memory_order_relaxed);
    const auto ticks = static_cast<std::int64_t>(counter() - tsc);
    const auto ns = (static_cast<Wide>(ticks) * static_cast<Wide>(rate)) >> 32;
    return calibration.time.load(std::memory_order_relaxed) + static_cast<Time>(ns);
}

Time EngineClock::from_boottime() const { return boottime_ns() + boot_offset_; }

Time EngineClock::now() {
    if (manual_) return manual_now_.load(std::memory_order_acquire);  // pair: manual clock set
    for (;;) {
        const std::int64_t generation =
            generation_.load(std::memory_order_acquire);  // pair: clock calibrated
        const Time now = generation < 0 ? from_boottime() : from_counter(calibrations_[generation % 4]);
        // A calibration is overwritten four generations later: if it is still one of the last two, it was
        // whole.
        if (generation >= 0 && generation_.load(std::memory_order_acquire) > generation + 2)
            continue;  // pair: clock calibrated
        last_ = std::max(last_, now);
        return last_;
    }
}

void EngineClock::set(Time now) {
    if (now > manual_now_.load(std::memory_order_relaxed)) {  // relaxed: one setter
        manual_now_.store(now, std::memory_order_release);    // pair: manual clock set
    }
}

shm::ClockCalibration EngineClock::calibration() const {
    constexpr std::uint64_t kBoottime = 2;
    constexpr std::uint64_t kTicks = 1;
    if (manual_)
        return {0, manual_now_.load(std::memory_order_relaxed), 0, 0, kBoottime};  // relaxed: for showing
    const std::int64_t generation =
        generation_.load(std::memory_order_relaxed);  // relaxed: this thread writes it
    if (generation < 0) return {0, boot_offset_, 1, 0, kBoottime};
    const Calibration& c = calibrations_[generation % 4];
    return {c.tsc.load(std::memory_order_relaxed), c.time.load(std::memory_order_relaxed),
            c.ns_per_tick_32.load(std::memory_order_relaxed), 32, kTicks};  // relaxed: this thread wrote them
}

const char* EngineClock::source() const {
    if (manual_) return "manual";
    return generation_.load(std::memory_order_relaxed) < 0 ? "boottime" : "tsc";  // relaxed: for showing
}

}  // namespace pinnace::daemon
