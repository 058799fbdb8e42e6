// SPDX-License-Identifier: Apache-2.0
// The bytes in a record's head: entry decisions of messages, definitions, moves, and runs of positions.
//
// Everything is built of unsigned varints (seven bits a byte, lowest first, the shortest form only) and of
// texts (a varint of the size, then the bytes). Invariants:
// 1. One meaning has one encoding, so that equal states have equal records.
// 2. A decoder checks everything, since what comes from a disk is not trusted; it reads all of the head or
//    refuses it. Decoded texts point into the head.
// 3. Encoders append to a buffer that the caller reuses; none of them allocates once the buffer has grown.
// The formats are on disk for ever: new flags may be added, a known one never changes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/record.h"
#include "core/types.h"

namespace pinnace {

using HeadBytes = std::vector<std::byte>;
using DedupHash = std::array<std::byte, 16>;

// --- Parts

inline void put_varint(HeadBytes& out, std::uint64_t value) {
    while (value >= 0x80) {
        out.push_back(static_cast<std::byte>(value | 0x80));
        value >>= 7;
    }
    out.push_back(static_cast<std::byte>(value));
}
void put_text(HeadBytes& out, std::string_view text);

// Reads parts from the front; once something was wrong it stays failed and gives zeros.
class HeadReader {
 public:
    explicit HeadReader(std::span<const std::byte> head) : rest_(head) {}

    std::uint64_t varint();
    std::uint32_t varint32();
    std::uint8_t byte();
    std::string_view text(std::size_t size_max);
    DedupHash hash();
    void fail() {
        failed_ = true;
        rest_ = {};
    }
    bool failed() const { return failed_; }
    bool at_end() const { return rest_.empty(); }
    // True if everything was read and nothing was wrong.
    bool complete() const { return !failed_ && rest_.empty(); }

 private:
    std::span<const std::byte> rest_;
    bool failed_ = false;
};

// --- Entry decisions (architecture rule 10): what was decided when a message entered a queue

struct QueueEntry {
    QueueId queue = kNone;
    Time expiry = kNever;        // when it leaves, if it is not leased then (X2)
    Time due = 0;                // not deliverable before (DL1)
    std::uint64_t priority = 0;  // meaningful if has_priority
    std::uint64_t ordinal = 0;   // at-most-once: the how manieth to enter; 0: not counted (M1)
    std::string_view group;      // fifo (F1); empty: none
    DedupHash dedup{};           // meaningful if has_dedup
    bool has_priority = false;   // of a queue without Priority, or below every number (P2)
    bool has_dedup = false;
    bool barrier = false;
    bool beyond = false;       // it had no state when it was accepted (TD1)
    bool handed_over = false;  // it counts as handed over already (M1, re-sent after a crash)
    bool duplicate = false;    // it did not enter, since it is a duplicate there (U6)
};
inline constexpr std::size_t kGroupSizeMax = 128;
inline constexpr std::size_t kNameSizeMax = 4096;

// A message's head is the count of entries and the entries.
void put_entry(HeadBytes& out, const QueueEntry& entry);
bool read_entry(HeadReader& in, QueueEntry& entry);

// --- move: a dead letter or a redrive (A2)

struct MoveHead {
    Position from = 0;    // its position in the queue that it leaves
    Position origin = 0;  // where its body's record is
    Time published = 0;   // of the message as it leaves
    std::uint64_t deliveries = 0;
    std::uint64_t cancels = 0;
    TopicId topic = kNone;  // that it enters
    std::uint32_t size = 0;
    bool redrive = false;
};
// The entries follow, to the end of the head.
void put_move(HeadBytes& out, const MoveHead& move);
bool read_move(HeadReader& in, MoveHead& move);

// --- Definitions

struct QueueDefinition {
    std::string_view name;
    std::string_view recovery_point;
    bool at_most_once = false;
    bool fifo = false;
};
void put_queue_definition(HeadBytes& out, const QueueDefinition& definition);
std::optional<QueueDefinition> read_queue_definition(std::span<const std::byte> head);

struct TopicDefinition {
    std::string_view name;
    std::string_view message_type;
};
void put_topic_definition(HeadBytes& out, const TopicDefinition& definition);
std::optional<TopicDefinition> read_topic_definition(std::span<const std::byte> head);

// define_publisher: the name alone; the user's id is in the header's number.
void put_publisher_name(HeadBytes& out, std::string_view name);
std::optional<std::string_view> read_publisher_name(std::span<const std::byte> head);

// --- Runs of positions (remove_runs; hand_over: those that stayed)
//
// Pairs of (gap, length): a cursor starts at the base, which is the header's position; a run starts `gap`
// behind the cursor, is `length` (at least 1) long, and leaves the cursor behind its end. Only the first gap
// may be 0. The base of an encoder is the first position.

// Appends the runs of `sorted` (growing, no two alike).
void encode_runs(std::span<const Position> sorted, HeadBytes& out);

// Into a fixed buffer, without allocation: as many of the positions as fit. Returns how many these are, and
// in `size` how many bytes they took.
std::size_t encode_runs(std::span<const Position> sorted, std::span<std::byte> out, std::size_t& size);

// Calls visit(first, count) for each run; false if the bytes are not runs from `base` on. Decodes all of them
// before the first call, so that a damaged head has no effect.
bool check_runs(std::span<const std::byte> head, Position base);
template <class Visit>
bool decode_runs(std::span<const std::byte> head, Position base, Visit&& visit) {
    if (!check_runs(head, base)) return false;
    HeadReader in(head);
    Position cursor = base;
    while (!in.at_end()) {
        const Position first = cursor + in.varint();
        const std::uint64_t count = in.varint();
        visit(first, count);
        cursor = first + count;
    }
    return true;
}

}  // namespace pinnace
