// SPDX-License-Identifier: Apache-2.0
// The layout of shared memory: every struct that two processes look at, with its size and offsets asserted.
//
// shm/LAYOUT.md is the page for readers; tests/golden/shm_layout.txt holds the same numbers and is compared
// by a test. A change here is a new kLayoutVersion. Fixed-width integers only, no padding that is not named,
// words of different writers never in one page (architecture rule 1), index words kLineSize apart.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace pinnace::shm {

inline constexpr std::uint32_t kLayoutVersion = 1;

// Two cache lines: the adjacent-line prefetcher pulls pairs. Fixed, since it is part of the layout.
inline constexpr std::size_t kLineSize = 128;
inline constexpr std::size_t kPageSize = 4096;
inline constexpr std::size_t kEntrySize = 64;  // of the ack, delivery and answer rings

// --- The submit ring: frames of a client's publishes, 64-byte aligned.

inline constexpr std::size_t kFrameAlignment = 64;
inline constexpr std::size_t kSubmitHeaderSize = 48;

enum class FrameType : std::uint8_t {
    none = 0,
    publish = 1,   // a whole message
    fragment = 2,  // a part of a message that exceeds an eighth of the ring (architecture rule 15)
    padding = 3,   // the rest of a lap
};

// Flags of a frame.
inline constexpr std::uint8_t kFrameFirst = 1;   // fragment: the first one, which carries the options
inline constexpr std::uint8_t kFrameLast = 2;    // fragment: the last one
inline constexpr std::uint8_t kFrameMore = 4;    // more messages of this batch follow
inline constexpr std::uint8_t kFrameResend = 8;  // may have been accepted in an engine's former life (M1)
inline constexpr std::uint8_t kFrameFlagsAll = 15;

// The options' bytes follow the header, then the body.
struct SubmitHeader {
    std::uint64_t commit = 0;        // (frame's position + 1) xor the ring's key: written last
    std::uint64_t number = 0;        // the publisher's number of the message
    std::uint64_t previous = 0;      // the number before; UINT64_MAX: not given
    std::uint32_t size = 0;          // bytes of body in this frame; padding: bytes after the header
    std::uint32_t topic = 0;         // id from the engine
    std::uint32_t total_size = 0;    // bytes of body of the whole message
    std::uint32_t publisher = 0;     // id from the engine; UINT32_MAX: not numbered
    std::uint16_t options_size = 0;  // bytes of options
    std::uint8_t type = 0;           // FrameType
    std::uint8_t flags = 0;
    std::uint32_t reserved = 0;
};
static_assert(sizeof(SubmitHeader) == kSubmitHeaderSize && offsetof(SubmitHeader, size) == 24);
static_assert(offsetof(SubmitHeader, options_size) == 40 && std::is_trivially_copyable_v<SubmitHeader>);
static_assert(std::has_unique_object_representations_v<SubmitHeader>);

// --- The ack ring: a client's verbs. An entry's number is its index in the ring and never wraps (L13).

// Verbs beyond core's Verb (1 acknowledge, 2 cancel, 3 expire, 4 renew).
inline constexpr std::uint8_t kVerbMax = 4;
inline constexpr std::uint8_t kVerbBodyAgain = 64;  // the body is gone from the log: deliver it once more

inline constexpr std::uint8_t kAckMore = 1;  // more entries of this list follow; a list is applied as one
inline constexpr std::uint8_t kAckUnordered = 2;  // does not wait for submit_position (opts out of rule 8)
inline constexpr std::uint8_t kAckFlagsAll = 3;

struct AckEntry {
    std::uint64_t commit = 0;  // index + 1: written last
    std::uint64_t position = 0;
    std::uint64_t lease = 0;
    std::uint64_t submit_position = 0;  // applied only when the submit ring was read so far (rule 8)
    std::int64_t period = 0;            // renew
    std::uint32_t queue = 0;
    std::uint32_t handle = 0;
    std::uint32_t subscription = 0;
    std::uint8_t verb = 0;
    std::uint8_t flags = 0;
    std::uint16_t reserved = 0;
    std::uint64_t reserved_2 = 0;
};
static_assert(sizeof(AckEntry) == kEntrySize && offsetof(AckEntry, queue) == 40);
static_assert(offsetof(AckEntry, verb) == 52 && std::has_unique_object_representations_v<AckEntry>);

// --- The delivery ring: what a client holds a lease on, and where in the log its body lies.

inline constexpr std::uint16_t kDeliveryAgain = 1;    // the body of a delivery that was taken before
inline constexpr std::uint16_t kDeliveryBarrier = 2;  // a barrier message: nothing is to be acknowledged

struct DeliveryEntry {
    std::uint64_t commit = 0;    // index + 1: written last
    std::uint64_t position = 0;  // the bookmark
    std::uint64_t lease = 0;     // 0: nothing is to be acknowledged
    std::int64_t deadline = 0;   // engine time; INT64_MAX: never
    std::uint64_t log_position = 0;
    std::uint32_t size = 0;
    std::uint32_t subscription = 0;
    std::uint32_t handle = 0;
    std::uint32_t queue = 0;
    std::uint32_t topic = 0;
    std::uint16_t count = 0;  // 1 for the first delivery; stays at 65,535
    std::uint16_t flags = 0;
};
static_assert(sizeof(DeliveryEntry) == kEntrySize && offsetof(DeliveryEntry, size) == 40);
static_assert(offsetof(DeliveryEntry, count) == 60 &&
              std::has_unique_object_representations_v<DeliveryEntry>);

// --- The answer ring: exceptions only; success is a cumulative mark (architecture rule 17).

enum class AnswerKind : std::uint16_t { none = 0, acknowledgment = 1, publish = 2, subscription_ended = 3 };

struct AnswerEntry {
    std::uint64_t commit = 0;           // index + 1: written last
    std::uint64_t number = 0;           // index in the ack ring, or the publisher's number of the message
    std::uint64_t submit_position = 0;  // publish: position of its (first) frame
    std::uint64_t position = 0;         // the bookmark that the answer is about, 0: none
    std::uint32_t publisher = 0;
    std::uint32_t queue = 0;
    std::uint16_t kind = 0;    // AnswerKind
    std::uint16_t answer = 0;  // core's Answer
    std::uint32_t reserved = 0;
    std::uint64_t reserved_2[2] = {};
};
static_assert(sizeof(AnswerEntry) == kEntrySize && offsetof(AnswerEntry, kind) == 40);
static_assert(std::has_unique_object_representations_v<AnswerEntry>);

// --- Pages of words.

inline constexpr std::size_t kPinCount = 16;

// First page of a session's `up` region, written by the client.
struct ClientPage {
    alignas(kLineSize) std::uint64_t delivery_taken;  // entries taken out of the delivery ring
    alignas(kLineSize) std::uint64_t answer_taken;    // entries taken out of the answer ring
    // How often a thread of the client got ready to sleep. The engine rings once for each value that it sees.
    alignas(kLineSize) std::uint64_t sleep_count;
    // 1: the client takes nothing more; what is untaken may be believed (rule 17).
    alignas(kLineSize) std::uint64_t frozen;
    alignas(kLineSize) std::uint64_t pins[kPinCount];  // 0: free; else pin_word() of log_layout
    std::byte reserved[kPageSize - 5 * kLineSize];
};
static_assert(sizeof(ClientPage) == kPageSize && offsetof(ClientPage, sleep_count) == 256);
static_assert(offsetof(ClientPage, pins) == 512 && std::is_trivially_copyable_v<ClientPage>);

enum class SessionState : std::uint32_t { starting = 0, running = 1, ended = 2 };

// First page of a session's `down` region, written by the engine.
struct MarksPage {
    alignas(kLineSize) std::uint64_t submit_read;       // the submit ring was read up to this position
    alignas(kLineSize) std::uint64_t submit_persisted;  // up to here it is durable: its space is free again
    alignas(kLineSize) std::uint64_t ack_read;     // entries of the ack ring that were applied: free again
    alignas(kLineSize) std::uint64_t ack_durable;  // entries whose effects are durable (L13)
    alignas(kLineSize) std::uint32_t state;        // SessionState
    std::uint32_t end_reason;                      // ViolationKind or EndReason
    alignas(kLineSize) std::uint64_t unused[16];
    std::byte reserved[kPageSize - 6 * kLineSize];
};
static_assert(sizeof(MarksPage) == kPageSize && offsetof(MarksPage, state) == 512);

inline constexpr std::uint64_t kControlMagic = 0x314c5443'50414e50;  // "PNAPCTL1"

// The engine-wide control region, written by the engine.
struct ControlPage {
    std::uint64_t magic;
    std::uint32_t layout_version;
    std::uint32_t wait_mode;  // WaitMode of the dispatcher; spin: it never sleeps, so nobody has to ring
    std::uint64_t epoch;      // of this life of the engine
    std::uint8_t engine_id[16];
    std::uint64_t message_size_max;
    // Odd: the dispatcher sleeps or is about to. A client rings once for each odd value that it sees.
    alignas(kLineSize) std::uint64_t dispatcher_sleep;
    alignas(kLineSize) std::uint64_t stopping;  // 1: an orderly stop has begun
    // The clock: engine time = base_time + ((ticks - base_ticks) * multiplier >> shift); under a sequence
    // counter that is odd while they change.
    alignas(kLineSize) std::uint64_t clock_sequence;
    std::uint64_t clock_base_ticks;
    std::int64_t clock_base_time;
    std::uint64_t clock_multiplier;
    std::uint64_t clock_shift;
    std::uint64_t clock_source;  // 0: CLOCK_MONOTONIC, 1: the processor's ticks, 2: CLOCK_BOOTTIME
    alignas(kLineSize) std::byte reserved[kPageSize - 4 * kLineSize];
};
static_assert(sizeof(ControlPage) == kPageSize && offsetof(ControlPage, dispatcher_sleep) == 128);
static_assert(offsetof(ControlPage, clock_sequence) == 384);

// --- The delivery log.

inline constexpr std::size_t kLogFrameAlignment = 64;
inline constexpr std::size_t kLogHeaderSize = 32;

// In front of each body in the log. A client needs nothing of it but the time of publishing: sizes come from
// the descriptor (rule 3).
struct LogHeader {
    std::int64_t published = 0;  // engine time
    std::uint64_t position = 0;  // the bookmark
    std::uint32_t size = 0;
    std::uint32_t topic = 0;
    std::uint64_t reserved = 0;
};
static_assert(sizeof(LogHeader) == kLogHeaderSize && std::has_unique_object_representations_v<LogHeader>);

// An area of the log: a table of generations, one word for each slot, then the slots. A slot's generation is
// the number of the slot counted from the log's start, plus 1: 0 means never used.
struct AreaGeometry {
    std::uint64_t slot_size = 0;   // power of two
    std::uint64_t slot_count = 0;  // power of two

    constexpr std::uint64_t data_size() const { return slot_size * slot_count; }
    // A shift instead of a division, which costs dozens of cycles.
    constexpr unsigned slot_shift() const { return static_cast<unsigned>(std::countr_zero(slot_size)); }
    constexpr std::uint64_t table_size() const {
        const std::uint64_t bytes = slot_count * 8;
        return (bytes + kPageSize - 1) / kPageSize * kPageSize;
    }
    constexpr std::uint64_t region_size() const { return table_size() + data_size(); }
    friend constexpr bool operator==(const AreaGeometry&, const AreaGeometry&) = default;
};
static_assert(sizeof(AreaGeometry) == 16);

// --- A session's two regions.

struct SessionGeometry {
    std::uint64_t submit_capacity = 0;  // bytes, power of two, at least kSubmitCapacityMin
    std::uint64_t ack_count = 0;        // entries, powers of two, at least kEntryCountMin
    std::uint64_t delivery_count = 0;
    std::uint64_t answer_count = 0;

    constexpr std::uint64_t ack_offset() const { return kPageSize; }
    constexpr std::uint64_t submit_offset() const { return ack_offset() + ack_count * kEntrySize; }
    constexpr std::uint64_t up_size() const { return submit_offset() + submit_capacity; }
    constexpr std::uint64_t delivery_offset() const { return kPageSize; }
    constexpr std::uint64_t answer_offset() const { return delivery_offset() + delivery_count * kEntrySize; }
    constexpr std::uint64_t down_size() const { return answer_offset() + answer_count * kEntrySize; }
    friend constexpr bool operator==(const SessionGeometry&, const SessionGeometry&) = default;
};
static_assert(sizeof(SessionGeometry) == 32);

inline constexpr std::uint64_t kSubmitCapacityMin = 64 * 1024;
inline constexpr std::uint64_t kSubmitCapacityMax = std::uint64_t{1} << 34;
inline constexpr std::uint64_t kEntryCountMin = 64;
inline constexpr std::uint64_t kEntryCountMax = std::uint64_t{1} << 24;
inline constexpr std::uint64_t kMessageSizeMaxMax = std::uint64_t{1} << 30;

// Whether the numbers are ones that we would ever use: powers of two within the bounds. Both sides ask this
// of what the other one told them, before anything is computed from it.
bool is_valid(const SessionGeometry& geometry);
bool is_valid(const AreaGeometry& geometry, std::uint64_t body_size_max);

// A frame is at most an eighth of its ring, so that padding and fragments always fit; a message, which stays
// in the ring until it is persisted, at most half of it.
constexpr std::uint64_t frame_size_max(std::uint64_t submit_capacity) { return submit_capacity / 8; }
constexpr std::uint64_t message_size_max(std::uint64_t submit_capacity, std::uint64_t engine_limit) {
    return engine_limit < submit_capacity / 2 ? engine_limit : submit_capacity / 2;
}
// Frames of one message or batch, in bytes; what is left of the ring can hold the padding that they may need.
constexpr std::uint64_t batch_footprint_max(std::uint64_t submit_capacity) {
    return submit_capacity - frame_size_max(submit_capacity);
}

}  // namespace pinnace::shm
