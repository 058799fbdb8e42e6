// SPDX-License-Identifier: Apache-2.0
// The words of the core as types: times, positions, ids, and where a message's body lies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace pinnace {

// Engine time: nanoseconds since 1970-01-01 UTC by the engine's own clock, which never goes back and does not
// jump when the wall clock is set (L12). Wall clock time is for showing only.
using Time = std::int64_t;
inline constexpr Time kNever = std::numeric_limits<Time>::max();

// A span of engine time in nanoseconds.
using Duration = std::int64_t;

// A message's place in the order of acceptance (T2). 0 is no position. Positions are never used again, not
// even after a crash (architecture rule 12). Where a position lies on disk is the journal's affair.
using Position = std::uint64_t;

// Ids that the core or the engine hands out. Topic, queue and publisher ids are durable: the journal maps
// them to names. Client and subscription ids live as long as the client's session.
using TopicId = std::uint32_t;
using QueueId = std::uint32_t;
using PublisherId = std::uint32_t;
using ClientId = std::uint32_t;
using SubscriptionId = std::uint32_t;
inline constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

// A lease, different from every other one that this data directory has ever seen: the engine's epoch in the
// upper 24 bits, a counter in the lower 40 (L9, architecture rule 12). 0 is no lease.
using LeaseId = std::uint64_t;

// Index of a message's state in the core's slab. Travels with a delivery and comes back with an
// acknowledgment as a hint that makes finding the state one load; it is checked, never believed.
using Handle = std::uint32_t;

// Counts the records that the core has emitted since the engine started; the first one is 1.
using RecordIndex = std::uint64_t;

// Where a body lies in the delivery log: an area and a byte position in it that only grows, so that it names
// both the place (modulo the area's size) and the lap. kCold: in the journal only.
enum class Area : std::uint8_t { cold = 0, small = 1, large = 2, reread = 3 };

struct LogPosition {
    std::uint64_t bits = 0;  // area in the upper two bits, byte position in the lower 62

    static constexpr LogPosition make(Area area, std::uint64_t byte_position) {
        return {(static_cast<std::uint64_t>(area) << 62) | byte_position};
    }
    constexpr Area area() const { return static_cast<Area>(bits >> 62); }
    constexpr std::uint64_t byte_position() const { return bits & ((std::uint64_t{1} << 62) - 1); }
    constexpr bool operator==(const LogPosition&) const = default;
};
inline constexpr LogPosition kCold{};

// A body as the core sees it. `data` is valid only during the call that carries it (null when the body is
// cold); the core keeps `log` and `size`.
struct BodyRef {
    LogPosition log;
    std::uint32_t size = 0;
    const std::byte* data = nullptr;
};

}  // namespace pinnace
