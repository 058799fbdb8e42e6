// SPDX-License-Identifier: Apache-2.0
// Ticks: the cheapest clock for short spans: the processor's counter where it is invariant, else
// CLOCK_MONOTONIC.
#pragma once

#include <cstdint>

namespace pinnace::bench {

#if defined(__x86_64__)
inline std::uint64_t ticks() { return __builtin_ia32_rdtsc(); }
#else
std::uint64_t ticks();
#endif

// Of CLOCK_MONOTONIC, which is the same for all processes.
std::uint64_t monotonic_ns();

// Converts spans of ticks to nanoseconds; calibrated once, at the first call, which takes some milliseconds.
std::uint64_t to_ns(std::uint64_t span_of_ticks);

// What measuring a span costs by itself: the median of many empty spans.
std::uint64_t overhead_ns();

}  // namespace pinnace::bench
