// SPDX-License-Identifier: Apache-2.0
#include "bench/ticks.h"

#include <ctime>

#include "bench/histogram.h"

namespace pinnace::bench {

std::uint64_t monotonic_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

#if !defined(__x86_64__)
std::uint64_t ticks() { return monotonic_ns(); }
#endif

namespace {

struct Reading {
    std::uint64_t at_ticks = 0;
    std::uint64_t at_ns = 0;
};

// A pair of readings as close to each other as several tries give.
Reading read_pair() {
    Reading best;
    std::uint64_t best_gap = UINT64_MAX;
    for (int i = 0; i < 32; ++i) {
        const std::uint64_t before = ticks();
        const std::uint64_t now = monotonic_ns();
        const std::uint64_t after = ticks();
        if (after - before < best_gap) {
            best_gap = after - before;
            best = {before + (after - before) / 2, now};
        }
    }
    return best;
}

double calibrate() {
    const Reading first = read_pair();
    while (monotonic_ns() - first.at_ns < 20'000'000) {
    }
    const Reading second = read_pair();
    return static_cast<double>(second.at_ns - first.at_ns) /
           static_cast<double>(second.at_ticks - first.at_ticks);
}

}  // namespace

std::uint64_t to_ns(std::uint64_t span_of_ticks) {
    static const double ns_per_tick = calibrate();
    return static_cast<std::uint64_t>(static_cast<double>(span_of_ticks) * ns_per_tick + 0.5);
}

std::uint64_t overhead_ns() {
    Histogram spans;
    for (int i = 0; i < 10'000; ++i) {
        const std::uint64_t before = ticks();
        spans.record(ticks() - before);
    }
    return to_ns(spans.quantile(0.5));
}

}  // namespace pinnace::bench
