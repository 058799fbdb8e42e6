// SPDX-License-Identifier: Apache-2.0
// Waiting: spin, spin then yield, or block; the same three for the dispatcher and for clients.
#pragma once

#include <sched.h>

#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace pinnace::shm {

enum class WaitMode : std::uint8_t {
    spin = 0,   // burns a core, reacts at once
    yield = 1,  // spins a little, then gives the core to whoever wants it
    block = 2,  // spins and yields a little, then sleeps until somebody rings
};

inline void cpu_pause() {
#if defined(__x86_64__)
    _mm_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

// Called each time that a look around found nothing; reset() when one found something.
class Waiter {
 public:
    explicit Waiter(WaitMode mode) : mode_(mode) {}

    void reset() { idle_count_ = 0; }
    // True: the caller should go to sleep now (block only).
    bool idle() {
        ++idle_count_;
        // A pause takes up to 140 cycles, half of which a message would wait: who spins does not pause.
        if (mode_ == WaitMode::spin) return false;
        if (idle_count_ <= kSpinCount) {
            cpu_pause();
            return false;
        }
        if (mode_ == WaitMode::yield || idle_count_ <= kSpinCount + kYieldCount) {
            sched_yield();
            return false;
        }
        return true;
    }
    std::uint64_t idle_count() const { return idle_count_; }
    WaitMode mode() const { return mode_; }

 private:
    static constexpr std::uint64_t kSpinCount = 200;
    static constexpr std::uint64_t kYieldCount = 20;
    WaitMode mode_;
    std::uint64_t idle_count_ = 0;
};

}  // namespace pinnace::shm
