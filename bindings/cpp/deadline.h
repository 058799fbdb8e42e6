// SPDX-License-Identifier: Apache-2.0
// Deadline: a time-out as a point in time, so that it holds over several waits.
#pragma once

#include <ctime>

#include "bindings/cpp/error.h"

namespace pinnace::client {

inline std::int64_t clock_ns(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// Of the process's monotonic clock. The coarse one is some milliseconds behind and costs next to nothing.
inline std::int64_t now_ns() { return clock_ns(CLOCK_MONOTONIC); }
inline std::int64_t coarse_now_ns() { return clock_ns(CLOCK_MONOTONIC_COARSE); }

class Deadline {
 public:
    explicit Deadline(Timeout timeout) {
        if (timeout <= Timeout::zero()) at_ = 0;
        if (timeout <= Timeout::zero() || timeout == kForever) return;
        const std::int64_t now = now_ns();
        at_ = timeout.count() > kNever - now ? kNever : now + timeout.count();
    }

    // The caller does not want to wait at all.
    bool is_zero() const { return at_ == 0; }
    bool is_over() const { return at_ == 0 || (at_ != kNever && now_ns() >= at_); }
    // -1: for ever; as shm's waits want it.
    std::int64_t left_ns() const {
        if (at_ == kNever) return -1;
        if (at_ == 0) return 0;
        const std::int64_t left = at_ - now_ns();
        return left > 0 ? left : 0;
    }
    // What is left, at most `limit`.
    std::int64_t left_ns(std::int64_t limit) const {
        const std::int64_t left = left_ns();
        return left < 0 || left > limit ? limit : left;
    }

 private:
    static constexpr std::int64_t kNever = INT64_MAX;
    std::int64_t at_ = kNever;
};

}  // namespace pinnace::client
