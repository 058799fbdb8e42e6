// SPDX-License-Identifier: Apache-2.0
// Core: the queues as pure logic. Commands in, effects out, time as an argument; no OS, thread, clock,
// randomness, and no allocation in steady state. The same commands give the same effects, always.
//
// Each command is an instant of its own (D9): it is applied whole, then all deliveries that it makes possible
// are made, then it returns. A command with all its effects is one step; the engine cuts journal batches only
// between steps (architecture rule 7).
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "core/config.h"
#include "core/effects.h"
#include "core/evaluator.h"
#include "core/expr/reader.h"
#include "core/record.h"
#include "core/types.h"

namespace pinnace {

// Answers to single verbs and publishes. The texts of decisions.md and scenarios.md are given by to_text().
enum class Answer : std::uint8_t {
    ok = 0,         // verbs: done; publish: stored
    duplicate,      // publish: was accepted before (T7, U1)
    unknown,        // the message has left already, or the bookmark was never given out (L8)
    not_owner,      // strict leasing: leased to somebody else (L5)
    stale,          // not the current lease (L6, L10, F11)
    deferred,       // kept until the message enters (L8)
    range,          // period out of range (L10)
    unknown_topic,  // T9
    gap,            // the number before this one was not accepted (T7)
    fenced,         // a newer session owns this publisher's name (T7)
    too_large,      // larger than the limit
    bad_filter,
    bad_group,    // F1
    bad_dedup,    // U2
    bad_delay,    // F9
    bad_request,  // anything else that is wrong with the request itself
    would_block,  // C5, U4
};
std::string_view to_text(Answer answer);

struct PublishMessage {
    TopicId topic = kNone;
    BodyRef body;              // data must be set
    Duration expiration = -1;  // -1: not given; 0: never expires (X2)
    Duration delay = -1;       // -1: not given
    std::string_view group;    // null data: not given
    std::string_view dedup;    // null data: not given
};

struct PublishRequest {
    std::span<const PublishMessage> messages;  // stored in order, all or none (F8)
    std::string_view to_queue;      // the publish was made to this queue's name (T6, U6); empty: to a topic
    PublisherId publisher = kNone;  // kNone: not numbered
    std::uint64_t number = 0;       // of the last message; messages count up to it (T7)
    std::uint64_t previous = 0;     // the number before the first one's; kNoPrevious: not given
    bool resend = false;            // may have been accepted in the engine's former life (M1)
};
inline constexpr std::uint64_t kNoPrevious = UINT64_MAX;

// Of one message of a publish.
struct PublishResult {
    Answer answer = Answer::ok;
    Position position = 0;  // of the stored one, or of the first one if it is a duplicate and still known
    bool stored =
        false;  // a duplicate that was stored all the same, for other queues than the one named (U6)
};

enum class Verb : std::uint8_t { none = 0, acknowledge = 1, cancel = 2, expire = 3, renew = 4 };

struct VerbRequest {
    Verb verb = Verb::acknowledge;
    ClientId client = kNone;
    QueueId queue = kNone;
    Position position = 0;
    LeaseId lease = 0;      // 0: the caller has none
    Handle handle = kNone;  // a hint
    Duration period = 0;    // renew: 0: the lease's latest period
};

struct SubscribeRequest {
    ClientId client = kNone;
    std::string_view target;        // a queue's name, a pattern over queues' names (D8), or a topic (T4)
    std::uint64_t max_backlog = 1;  // as asked for; the answer tells what it was clipped to (D4)
    std::string_view filter;        // empty: none
};

struct Subscribed {
    SubscriptionId subscription = kNone;
    std::uint64_t max_backlog = 0;
};

struct RequestError {
    Answer answer = Answer::bad_request;
    std::string text;
};

struct ReplaceRequest {
    SubscriptionId subscription = kNone;
    const std::string_view* target = nullptr;  // null: stays
    const std::string_view* filter = nullptr;
    const std::uint64_t* max_backlog = nullptr;
};

// One pull (PL1). The leases belong to `subscription`, or if that is kNone to one of the client's own that
// takes nothing by itself; the answer names it.
struct PullRequest {
    ClientId client = kNone;
    SubscriptionId subscription = kNone;
    std::string_view queue;
    std::uint32_t count_max = 1;
    std::string_view filter;  // for a pull without a subscription, which brings its own
};

struct Pulled {
    SubscriptionId subscription = kNone;
    std::uint32_t count = 0;  // deliveries made; 0: nothing was there, ask again
};

// A part of a change of many messages (rule 18): at most `count_max` messages behind the position `after` are
// looked at, up to `until`; then `after` is behind the last one. As it stands: all of them at once.
struct Slice {
    Position after = 0;
    Position until = UINT64_MAX;
    std::uint64_t count_max = UINT64_MAX;
    bool done = false;  // there are no more
};

// A verb by filter (L4): acknowledge or expire all messages of the queue that match.
struct VerbWhereRequest {
    Verb verb = Verb::acknowledge;
    ClientId client = kNone;
    QueueId queue = kNone;
    std::string_view filter;
};

// A delivery that its client never took out of its ring (L11), as the descriptor names it.
struct Untaken {
    QueueId queue = kNone;
    Position position = 0;
    LeaseId lease = 0;
    Handle handle = kNone;
};

struct QueueStatus {
    std::string_view name;
    std::uint64_t depth = 0;  // messages with state, leased ones included (TD1)
    std::uint64_t leased = 0;
    Position oldest = 0;  // 0: none
    Time oldest_published = 0;
};

// One message of a query (V1).
struct QueuedMessage {
    Position position = 0;
    TopicId topic = kNone;
    BodyRef body;
    Time published = 0;
    Position body_position = 0;  // of the record that has the body
};

struct CoreOptions {
    std::uint32_t epoch = 1;  // of this life of the engine, for LeaseId; grows with each start
    std::uint32_t ring_entry_count = 65'536;  // a subscription's limit is clipped to it (D4)
    std::uint32_t position_reserve = 1u << 20;
    std::uint64_t dedup_count_max = 16u << 20;  // ids that a queue keeps; beyond it publishes wait (U4)
    std::uint32_t message_count_hint = 0;       // states to have room for before the first command
    // True: a queue's topics must be covered by define_topic (T3: a configuration file); false: a queue
    // covers its own (a queue of the command line or of a scenario).
    bool topics_must_be_covered = false;
};

class Core {
 public:
    Core(Effects& effects, const CoreOptions& options);
    ~Core();
    Core(const Core&) = delete;
    Core& operator=(const Core&) = delete;

    // --- Definition: before the first command, again at each start, in the same way for new and known names.
    // A topic's name may be a pattern (T10): topics that it matches are covered, and defined when they are
    // first named; the answer is kNone then. Queue ids follow the order of definition, which is that of D9;
    // records name queues and topics by ids of their own.
    // Message types first: those that are no built-in format, or have a layout or separators of their own.
    std::expected<void, Refusal> define_message_type(const expr::MessageType& type);
    std::expected<TopicId, Refusal> define_topic(const TopicConfig& config);
    std::expected<QueueId, Refusal> define_queue(const QueueConfig& config);
    // After all queues (A1).
    std::expected<void, Refusal> define_action(const ActionConfig& config);
    // Ends the definitions: checks what only all of them together show (T3, A3). The engine then applies the
    // journal.
    std::expected<void, Refusal> finish_definitions();
    // Everything that was refused so far, in order; the functions above answer only the first of theirs. A
    // core that has refused something must not be used.
    std::span<const Refusal> refusals() const;

    // --- While it runs: define_topic goes on working, and these. A queue more takes what is published
    // from now on; the definitions must have been accepted by a core of their own before. Of a queue that
    // is there LeasePeriod, Expiration, MaxBacklog, MaxPerSubscriptionBacklog, MaxDeliveries, MaxCancels and
    // DeferredAckExpiration can change.
    std::expected<QueueId, Refusal> add_queue(const QueueConfig& config);
    void change_limits(QueueId queue, const QueueConfig& config);

    // --- Recovery: every durable record in order, then recovered(). A record that cannot be applied is
    // damage that the checksums did not see, or a newer format: the error is a whole sentence.
    std::expected<void, std::string> apply(const RecordView& record);
    // Before recovered(): the epoch is known only when the journal has been read.
    void set_epoch(std::uint32_t epoch);
    // `clean`: the former life ended with a stop record. Emits what is new (definitions, reservation, open
    // leases of X6). `now` is the engine's time at the start; expirations and limits due by then are settled
    // as commands would.
    void recovered(Time now, bool clean);

    // --- Commands
    // Moves time on; what falls due happens each at its own instant, in the order of D9.
    void advance(Time now);
    Time now() const;
    // The next instant at which something falls due; kNever: nothing.
    Time next_due() const;
    // All records up to this index are durable: what waited for it goes on (rule 11, M1).
    void durable(RecordIndex index);

    // Results: one for each message of the request. A refusal holds for all of them.
    void publish(const PublishRequest& request, std::span<PublishResult> results);

    ClientId open_client(std::uint32_t uid);
    // The client is gone; `untaken` are the deliveries that it never took out of its ring (L2, L11).
    void end_client(ClientId client, std::span<const Untaken> untaken);
    // Free entries of the client's delivery ring (rule 17); the core counts down from there. UINT32_MAX: no
    // limit.
    void set_ring_free(ClientId client, std::uint32_t entry_count);

    std::expected<Subscribed, RequestError> subscribe(const SubscribeRequest& request);
    std::expected<Subscribed, RequestError> replace(const ReplaceRequest& request);
    void unsubscribe(SubscriptionId subscription, std::span<const Untaken> untaken);

    // A list is one command: all of it is applied before any delivery.
    void verbs(std::span<const VerbRequest> requests, std::span<Answer> answers);
    // After Effects::deliver said false: the body has been read, lies at `log`, and the subscriber will see
    // it now. Answers the lease's deadline; nothing if the lease is no longer current: the delivery must be
    // dropped.
    std::optional<Time> visible(const Delivery& delivery, LogPosition log);
    // The delivery of the current lease that the request names, for a client that holds it (its body went out
    // of the log before the client copied it); nothing if the lease is not current.
    std::optional<Delivery> current_delivery(const VerbRequest& request) const;
    // The body could not be read: the message leaves its queue with a named error (rule 16), the room is
    // free.
    void unreadable(const Delivery& delivery);
    // Orderly stop: emits the last records (exact hand-over of at-most-once queues). No command may follow.
    void stop();

    std::expected<Pulled, RequestError> pull(const PullRequest& request);
    // Answers how many messages it was done to.
    std::expected<std::uint64_t, RequestError> verbs_where(const VerbWhereRequest& request, Slice& slice);
    std::expected<std::uint64_t, RequestError> verbs_where(const VerbWhereRequest& request) {
        Slice all;
        return verbs_where(request, all);
    }
    // A5, A4: how many messages were removed, or moved.
    std::uint64_t purge(QueueId queue, Slice& slice);
    std::uint64_t redrive(QueueId from, QueueId to, Slice& slice);
    std::uint64_t purge(QueueId queue) {
        Slice all;
        return purge(queue, all);
    }
    std::uint64_t redrive(QueueId from, QueueId to) {
        Slice all;
        return redrive(from, to, all);
    }
    // What the newest message of all has, and of those that have state in this queue (TD1); for
    // Slice::until: what
    // comes later has a greater one. A purge is of what lies beyond the depth too, so it goes by the first.
    Position last_position() const;
    Position last_position(QueueId queue) const;

    // The publisher of this user and name; new ones get an id and a record (T7).
    PublisherId publisher(std::uint32_t uid, std::string_view name);
    std::uint64_t highest_number(PublisherId publisher) const;

    // --- Questions
    TopicId find_topic(std::string_view name) const;  // kNone: not defined (T9)
    // As find_topic; also defines a topic that a pattern of define_topic covers.
    TopicId resolve_topic(std::string_view name);
    // The topic that a message record's subject means (ids in records are the journal's own); kNone: unknown.
    TopicId topic_of_record(std::uint32_t subject) const;
    QueueId find_queue(std::string_view name) const;
    // Where a publish to the queue's name goes (T6).
    TopicId publish_target(QueueId queue) const;
    // Whether a publish to the queue's name is answered otherwise than one to its topic (U6).
    bool deduplicates(QueueId queue) const;
    // Empty: there is nothing with this id.
    std::string_view topic_name(TopicId topic) const;
    std::string_view queue_name(QueueId queue) const;
    std::string_view message_type(QueueId queue) const;
    const expr::MessageType& message_type_definition(QueueId queue) const;
    std::size_t queue_count() const;
    QueueStatus status(QueueId queue) const;
    // Messages that are available now, in delivery order (V1), until `visit` says false.
    void query(QueueId queue, const std::function<bool(const QueuedMessage&)>& visit) const;
    // Hash of the durable state: equal for equal durable states, whatever way led there (rule 10).
    std::uint64_t durable_digest() const;
    EvaluationCounts evaluation_counts() const;
    std::size_t state_byte_count() const;  // of all message state, indexes included (D11)

 private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace pinnace
