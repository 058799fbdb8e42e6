// SPDX-License-Identifier: Apache-2.0
// The durable records: every change of durable state is one of these, and recovery is applying them in order
// (architecture rules 10 and 21). The journal stores header and payload and knows nothing of their meaning,
// but for `remove`, which it may merge (see RecordKind::remove_runs).
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>

#include "core/types.h"

namespace pinnace {

// Values are on disk for ever: never change or reuse one. 0 is reserved, since prepared space is zero.
enum class RecordKind : std::uint16_t {
    none = 0,
    message = 1,  // a message was accepted; head: the entry decisions (core/record_codec.h); then the body
    remove = 2,   // one message left one queue: queue, position; number: the reason bits (0: acknowledged)
    remove_runs =
        3,  // several `remove` of one queue and reason 0, merged by the journal; head: runs of positions
    define_topic = 4,      // topic id -> name (head)
    define_queue = 5,      // queue id -> name and what recovery must know of it (head)
    define_publisher = 6,  // publisher id -> uid (number) and name (head)
    reserve = 7,           // positions below `position` may have been seen by somebody
    hand_over =
        8,         // at-most-once: the first `number` messages that entered `queue` count as handed over (M1)
    counts = 9,    // deliveries and cancels of one message of one queue (X6)
    move = 10,     // dead letter or redrive: out of one queue, into others, by reference (A2)
    defer = 11,    // an acknowledgment kept for a message that has not entered yet (L8)
    purge = 12,    // everything of a queue up to a position (A5)
    depth = 13,    // progress of a queue with TargetQueueDepth (TD1)
    session = 14,  // the engine's: a client's session began or ended (C4)
    stop = 15,     // the engine's: an orderly stop; nothing follows in this life
    accepted =
        16,  // of publisher `subject`: numbers up to `number` were accepted, nothing was stored (T7, U1)
    // Only in checkpoints (core/fold.h). `kept`: a message that is still needed, without its body; head as in
    // `message`, number: the body's size. `resume`: subject kNone: positions below `position` were given out;
    // else of a queue: `number` messages entered it (M1).
    kept = 17,
    resume = 18,
};

// As it lies in a batch's index, little-endian. The payload is head_size bytes of head, then the body.
struct RecordHeader {
    std::uint16_t kind = 0;
    std::uint16_t flags = 0;
    std::uint16_t head_size = 0;
    std::uint16_t reserved = 0;      // zero
    std::uint32_t payload_size = 0;  // head and body; filled in by the journal
    std::uint32_t payload_crc = 0;   // CRC32C of the payload; filled in by the journal
    std::uint32_t subject = 0;       // topic id or queue id, as the kind says
    std::uint32_t publisher = kNone;
    std::uint64_t position = 0;
    std::int64_t time = 0;     // engine time of the change
    std::uint64_t number = 0;  // publisher's number of the message, or as the kind says
};
static_assert(sizeof(RecordHeader) == 48 && std::is_trivially_copyable_v<RecordHeader>);
static_assert(std::has_unique_object_representations_v<RecordHeader>);

// A record as recovery hands it to the core. `body` is cold; body.data may be null if only heads were read.
struct RecordView {
    RecordHeader header;
    std::span<const std::byte> head;
    BodyRef body;
};

}  // namespace pinnace
