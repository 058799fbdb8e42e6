// SPDX-License-Identifier: Apache-2.0
// Floor: what the machine itself takes for a round trip between two cores, which nothing of ours can beat.
//
// Two measures, between one thread on each core: a cache line that goes back and forth, and a message that
// goes through one boost::lockfree::spsc_queue and comes back through another one, both sides spinning.
#pragma once

#include <cstdint>

#include "bench/histogram.h"
#include "bench/place.h"
#include "bench/report.h"

namespace pinnace::bench {

// Spans are in ticks (ticks.h).
Histogram cache_line_round_trip(const Place& place, std::uint64_t count);

// Messages of `size` bytes, rounded up to the next power of two, at most kQueueMessageSizeMax.
inline constexpr std::uint64_t kQueueMessageSizeMax = 1u << 16;
Histogram queue_round_trip(const Place& place, std::uint64_t size, std::uint64_t count);

Report floor(const Place& place, std::uint64_t size, std::uint64_t count);

}  // namespace pinnace::bench
