// SPDX-License-Identifier: Apache-2.0
// Ports: what the pump needs of the world, as concepts, and the plain values that pass through them. The
// engine gives shared memory and the journal, the simulator gives fakes; the loop is the same.
//
// A port hands over values that were loaded once from a peer's memory and checked against private geometry
// (rule 3). The exceptions are the two spans of SubmitFrame, which point into the peer's memory: each is
// copied once, and only the copy is looked at.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/core.h"

namespace pinnace {

enum class Next : std::uint8_t { none, ready, violation };

// One frame of a publisher's submit ring: a whole message, or a piece of one.
struct SubmitFrame {
    std::uint64_t position = 0;  // of this frame in the ring
    std::uint64_t number = 0;    // the publisher's (T7)
    std::uint64_t previous = kNoPrevious;
    std::uint32_t message_size =
        0;  // of the whole message; equals body.size() unless the message is in pieces
    TopicId topic = kNone;
    PublisherId publisher = kNone;       // kNone: not numbered
    bool first = true;                   // first piece of its message
    bool last = true;                    // last piece of its message
    bool more = false;                   // another message of the same publish follows (F8)
    bool resend = false;                 // may have been accepted in the engine's former life (M1)
    std::span<const std::byte> options;  // in the peer's memory, see core/publish_options.h
    std::span<const std::byte> body;     // in the peer's memory
};

// One entry of a client's acknowledgment ring.
struct AckEntry {
    VerbRequest request;                // `client` is filled in by the pump
    std::uint64_t submit_position = 0;  // applied only when the submit ring was read so far (rule 8)
    bool more = false;                  // the next entry belongs to the same list (L4)
    bool reread = false;  // no verb: the body left the log before it was copied; hand it over again
};

// An exception told to a client; success is told by the marks.
struct AnswerEntry {
    enum class Kind : std::uint8_t { publish = 1, verb = 2, subscription_ended = 3 };  // on the wire
    Kind kind = Kind::publish;
    Answer answer = Answer::ok;
    std::uint64_t id = 0;               // publish: the publisher's number; verb: number of the entry
    std::uint64_t submit_position = 0;  // publish: of the message's first frame
    PublisherId publisher = kNone;
    QueueId queue = kNone;  // verb: the queue that it named
    Position position = 0;  // publish: of the stored message, or of the first one if it was a duplicate
};

// One session's rings, engine side.
template <class P>
concept SessionPort =
    requires(P& port, SubmitFrame& frame, AckEntry& ack, const Delivery& delivery, const AnswerEntry& answer,
             std::uint64_t u, std::vector<Untaken>& untaken, SubscriptionId subscription) {
        { port.peek_submit(frame) } -> std::same_as<Next>;  // loads the next frame; the same one until taken
        port.take_submit();
        { port.submit_position() } -> std::same_as<std::uint64_t>;  // behind what was taken
        { port.peek_ack(ack) } -> std::same_as<Next>;
        port.take_ack();
        { port.ack_count() } -> std::same_as<std::uint64_t>;  // entries taken since the ring was made
        { port.ack_capacity() } -> std::same_as<std::uint32_t>;
        { port.answer_capacity() } -> std::same_as<std::uint32_t>;
        // Free entries of the answer ring, exactly if they are fewer than asked for.
        { port.answer_room(std::uint32_t{}) } -> std::same_as<std::uint32_t>;
        port.answer(answer);           // there must be room
        port.deliver(delivery, true);  // there must be room; true: a body that was asked for once more
        { port.has_input() } -> std::same_as<bool>;  // a frame or an entry waits
        // Free entries of the delivery ring, from the client's cursor; the cursor is checked, nullopt is a
        // violation.
        { port.ring_free() } -> std::same_as<std::optional<std::uint32_t>>;
        // Appends the deliveries of a subscription (kNone: of all) that lie behind the client's cursor;
        // none if it is bad.
        port.untaken(subscription, untaken);
        { port.frozen() } -> std::same_as<bool>;  // the client takes nothing any more
        port.mark_read(u, u);                     // submit position, acknowledgment count: read
        port.mark_durable(u, u);                  // likewise: durable
    };

struct ReadRequest {
    std::uint64_t token = 0;
    Position position = 0;
    std::uint32_t size = 0;
    Time published = 0;  // and the topic: for the frame's header
    TopicId topic = kNone;
};

struct ReadDone {
    std::uint64_t token = 0;
    LogPosition log;  // where the body lies now
    bool readable = false;
};

// The delivery log and the journal behind it.
template <class L>
concept LogPort =
    requires(L& log, const RecordHeader& header, std::span<const std::byte> bytes, const BodyRef& body,
             LogPosition position, Time time, std::uint32_t size, const ReadRequest& read) {
        { log.allocate(size) } -> std::same_as<std::optional<LogPosition>>;  // nothing: wait for durable
        log.write(position, size, bytes);  // into the body, from this offset on
        { log.body(position) } -> std::same_as<const std::byte*>;
        log.finish(position, time, size, size);  // the frame's header: publish time, size, topic
        log.abandon(position, size);             // allocated, and not going to be recorded
        { log.resident(position, size) } -> std::same_as<bool>;
        {
            log.room_for_submission()
        } -> std::same_as<bool>;  // leaves the reserve for acknowledgments (rule 14)
        { log.room_for_verbs(size) } -> std::same_as<bool>;
        { log.append(header, bytes, body) } -> std::same_as<RecordIndex>;
        log.end_step(time);
        log.publish();  // whole steps become visible to the journal
        { log.durable() } -> std::same_as<RecordIndex>;
        { log.appended() } -> std::same_as<RecordIndex>;
        { log.request_read(read) } -> std::same_as<bool>;  // false: no room now
        { log.next_read() } -> std::same_as<std::optional<ReadDone>>;
        // A body that a new filter must look at, wherever it is; valid until the next call. Null: unreadable.
        { log.read_now(read.position, size) } -> std::same_as<const std::byte*>;
    };

// Whoever must be told of what is not the core's business.
template <class O>
concept Outside = requires(O& outside, std::uint32_t session, std::string_view why, const Expired& expired) {
    outside.violation(session, why);  // detach this session; it is not read any more
    outside.ended(session);           // both its rings were read, its leases are broken: free it
    outside.touched(session);         // something was written for it: wake it at the end of the turn
    outside.expired(expired);
};

}  // namespace pinnace
