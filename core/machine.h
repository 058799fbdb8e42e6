// SPDX-License-Identifier: Apache-2.0
// Machine: the state of the core and what its commands do to it. Core (core.h) is the thin face of this.
//
// Where things are:
//   definition.cpp  topics, queues and routes, and what a configuration may not say
//   publish.cpp     accepting messages: numbers, positions, entry decisions, their records
//   delivery.cpp    who gets what: room, dirty classes, dispatch, leases (D1-D10)
//   actions.cpp     what is published when a message leaves unprocessed (A1-A3)
//   leaving.cpp     returns, and the one way out of a queue (X7); dead letters, redrive, purge
//   steps.h         the steps that every message takes: lease, hand, end of lease, out
//   verbs.cpp       acknowledge, cancel, expire, renew
//   clients.cpp     clients and subscriptions coming, changing and ending
//   hand_over.cpp   at-most-once: reservations (M1)
//   time.cpp        what falls due, and what waited for durable records
//   recovery.cpp    applying records, the start and the stop
// Each command ends with settle(), which makes the deliveries that it made possible (D9). While records are
// applied (`recovering`) nothing is recorded or delivered.
#pragma once

#include <cstdint>
#include <deque>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/action.h"
#include "core/core.h"
#include "core/evaluator.h"
#include "core/message_state.h"
#include "core/publishers.h"
#include "core/queue.h"
#include "core/ring_buffer.h"
#include "core/timer_wheel.h"

namespace pinnace {

// What waits for a record to be durable: a message to become available, or a delivery to be handed over.
struct AwaitedRecord {
    RecordIndex index;
    Handle handle;
    Position position;  // of the message, since the handle may be another one's by then
    LeaseId lease;      // of the delivery
};

// A message on its way into queues.
struct Incoming {
    Position position = 0;
    Time published = 0;
    BodyRef body{};
    std::uint32_t route = 0;
    std::uint32_t match_class = 0;
    Position origin = 0;
    RecordIndex wait_for = 0;  // 0: available at once (rule 11)
};

// What was decided for one queue of a message that is to be stored.
struct PlanItem {
    QueueEntry entry;
    QueueId queue;
    std::uint32_t route;
    std::uint32_t match_class;
};
struct Planned {
    std::uint32_t begin, end;  // in the plan
    TopicId topic;
    bool stored;
};

// What an action publishes for the message that is leaving.
struct RenderedPublish {
    ActionPublish to;
    std::string body;
};

struct Machine {
    Machine(Effects& effects_in, const CoreOptions& options_in);

    Effects& effects;
    CoreOptions options;
    Time now = 0;
    bool recovering = true;
    bool defining = true;
    std::vector<Refusal> refusals;  // of the definitions, in order

    StateSlab states;
    ExtraSlab extras;
    BlockSlab blocks;
    LaneSlab lanes;
    GroupSlab groups;
    GroupTextSlab group_texts;
    Evaluator evaluator;
    TimerWheel wheel;

    std::vector<std::unique_ptr<Queue>> queues;  // in order of definition
    std::vector<Topic> topics;
    std::vector<Route> routes;
    std::vector<std::pair<NamePattern, std::string>> covered;  // topics that the log covers, with their type
    std::vector<Action> actions;
    std::vector<ActionConfig> action_configs;  // by the same indexes
    std::vector<RenderedPublish> rendered;
    std::deque<AwaitedPublish> awaited_publishes;
    NameMap queue_ids;
    NameMap topic_ids;
    std::vector<std::uint32_t> queue_of_journal;  // journal ids to ids, kNone: not defined any more
    std::vector<std::uint32_t> topic_of_journal;
    Publishers publishers;

    std::vector<Client> clients;
    std::vector<Subscription> subscriptions;
    std::vector<std::uint32_t> free_clients;
    std::vector<std::uint32_t> free_subscriptions;
    std::uint64_t next_order = 1;

    Position next_position = 1;
    Position reserved = 0;  // positions below it may be used once that is durable
    Position reserved_durable = 0;
    RecordIndex reserve_record = 0;  // of the newest reservation, until it is durable; 0: none
    RecordIndex durable_index = 0;
    std::uint64_t lease_counter = 0;

    std::vector<QueueId> dirty_queues;
    RingBuffer<AwaitedRecord> entering;
    RingBuffer<AwaitedRecord> handing;

    // Kept between commands so that nothing is allocated in steady state.
    HeadBytes head;
    std::vector<std::uint32_t> due;
    std::vector<Position> due_positions;  // of these
    std::vector<Handle> batch;
    std::vector<PlanItem> plan;
    std::vector<Planned> planned;
    std::vector<Queue*> planned_dedups;   // the queues that took an id in, in order
    std::deque<std::string> group_names;  // by GroupKey, of the publish that is being carried out
    std::vector<QueueEntry> entries;
    std::vector<std::uint32_t> slots_scratch;
    std::vector<Handle> batch_of_group;
    std::uint64_t instant = 0;  // of the command; groups become ready at it
    std::uint32_t settling_group = kNone;
    bool breaking = false;                       // a client's leases are being broken, all of them
    std::span<const PublishMessage> publishing;  // bodies of the publish that is being carried out
    std::vector<std::uint32_t> stored;           // indexes in `publishing`, in order of position
    Position stored_first = 0;

    // --- definition.cpp
    std::expected<TopicId, Refusal> define_topic(const TopicConfig& config);
    std::expected<QueueId, Refusal> define_queue(const QueueConfig& config);
    std::expected<void, Refusal> finish_definitions();
    std::expected<void, Refusal> define_message_type(const expr::MessageType& type);
    // Keeps the refusal, and is the answer too.
    std::unexpected<Refusal> refuse(std::string_view owner, std::string_view element, std::string_view text);
    std::unexpected<Refusal> refuse_queue(const QueueConfig& config, std::string_view element,
                                          std::string_view text);
    void cover_topics(const Queue& queue);
    void compile_expressions(Queue& queue);
    void check_topics(Queue& queue);
    void check_dead_letters(const Queue& queue);
    void check_cycles(const Queue& queue);
    TopicId add_topic(std::string_view name, std::string_view message_type);
    void add_route(TopicId topic, QueueId queue);
    void record_topic(Topic& topic, std::uint32_t journal_id);
    TopicId find_topic(std::string_view name) const;
    // Also defines a topic that a pattern covers (T9).
    TopicId resolve_topic(std::string_view name);
    QueueId find_queue(std::string_view name) const;

    void note_plain(Queue& queue);

    // --- reload.cpp
    std::expected<QueueId, Refusal> add_queue(const QueueConfig& config);
    void join_by_pattern(QueueId added);
    void change_limits(QueueId id, const QueueConfig& config);

    // --- actions.cpp
    std::expected<void, Refusal> define_action(const ActionConfig& config);
    void resolve_actions();
    void resolve_publish(const std::string& owner, const ActionStep& step, ActionPublish& to);
    void render_actions(const Queue& queue, const MessageState& state, std::uint8_t reasons);
    void publish_rendered(std::string_view group);
    void plan_by_action(const ActionPublish& to, std::string_view group, const std::byte* data,
                        std::uint32_t size);
    void show_awaited_publishes();

    // --- publish.cpp
    void publish(const PublishRequest& request, std::span<PublishResult> results);
    bool publish_quickly(const PublishRequest& request, PublishResult& result);
    Answer make_plan(const PublishRequest& request, std::span<PublishResult> results);
    void store(const PublishRequest& request, std::size_t index, PublishResult& result);
    Answer plan_message(const PublishMessage& message, Planned& made, const Queue* to_queue,
                        Position position, PublishResult& result);
    Answer decide_entry(Queue& queue, const PublishMessage& message, QueueEntry& entry);
    void decide_times(const Queue& queue, Duration expiration, Duration delay, QueueEntry& entry) const;
    void decide_by_values(const Queue& queue, QueueEntry& entry);
    std::string_view group_of_values(const Queue& queue);
    void read_body(std::uint32_t type, TopicId topic, const std::byte* data, std::uint32_t size);
    void keep_reserve() {
        if (next_position + options.position_reserve / 2 > reserved) reserve_more();
    }
    void reserve_more();
    void publish_to_subscribers(TopicId topic, Position position, const BodyRef& body);

    // --- entry.cpp
    // kNone: it stays beyond the depth (TD1). `fills`: it comes in from there.
    Handle enter(Queue& queue, const QueueEntry& entry, const Incoming& incoming, bool fills = false);
    void enter_quickly(Queue& queue, std::uint32_t route, const RecordHeader& header, const BodyRef& body,
                       bool at_once);
    std::uint32_t lane_for(Queue& queue, std::uint32_t match_class, LaneKey key);
    void release_lane(Queue& queue, std::uint32_t lane);
    void change_class(Queue& queue, MessageState& state, std::uint32_t match_class);
    MessageExtra& extra_of(MessageState& state);
    // Null: it has none.
    MessageExtra* find_extra(const MessageState& state) {
        return state.extra == kNone || state.group_only ? nullptr : &extras[state.extra];
    }
    const MessageExtra* find_extra(const MessageState& state) const {
        return state.extra == kNone || state.group_only ? nullptr : &extras[state.extra];
    }
    std::uint32_t cancels_of(const MessageState& state) const {
        const MessageExtra* extra = find_extra(state);
        return extra == nullptr ? 0 : extra->cancels;
    }
    // Of a fifo queue's message.
    std::uint32_t group_of(const MessageState& state) const {
        return state.group_only ? state.extra : extras[state.extra].group;
    }

    // --- depth.cpp
    bool is_beyond(const Queue& queue) const;
    void keep_beyond(Queue& queue, const QueueEntry& entry, const Incoming& incoming);
    Beyond* find_beyond(Queue& queue, Position position);
    void fill(Queue& queue);
    Answer defer(Queue& queue, Position position);
    std::uint64_t purge_beyond(Queue& queue, std::uint64_t count_max);

    // --- groups.cpp
    void join_group(Queue& queue, Handle handle, std::string_view id);
    void part_group(Queue& queue, Handle handle, std::uint32_t group);
    void remove_ready(Queue& queue, std::uint32_t group);
    bool is_due(const MessageState& state) const;
    bool is_due_in_group(const MessageState& state) const;
    Handle next_of_group(const Queue& queue, const Group& group) const;
    void refresh_group(Queue& queue, std::uint32_t group);
    void settle_group(Queue& queue, std::uint32_t group);
    void hold_group(Queue& queue, Handle handle, std::uint32_t slot);
    void release_group(std::uint32_t group);
    std::vector<Handle> revoke_later(Queue& queue, Handle returned);
    void give_back_grouped(Queue& queue, Handle handle);
    bool matches_slot(const Queue& queue, const MessageState& state, std::uint32_t filter) const;
    std::uint32_t give_batch(Queue& queue, std::uint32_t group, std::uint32_t slot, std::uint32_t filter,
                             std::uint32_t most, bool pulled);
    void dispatch_groups(Queue& queue);
    void expect_groups(std::uint32_t index);
    std::uint32_t filter_of(const Subscription& subscription, QueueId queue) const;
    std::uint32_t next_ready_group(Queue& queue, std::uint32_t& match_class);
    std::uint32_t next_sticky_group(Queue& queue, std::uint32_t other, std::uint32_t& filter);

    // --- delivery.cpp
    // Every command's end.
    void settle() {
        if (recovering) return;
        if (!dirty_queues.empty()) settle_dirty();
        ++instant;
    }
    void settle_dirty();
    void dispatch(Queue& queue);
    Handle next_available(Queue& queue, std::uint32_t& match_class);
    std::uint32_t pick(Queue& queue, const MatchClass& match, const MessageState& state);
    [[gnu::always_inline]] std::uint32_t choose(const Queue& queue, const MatchClass& match) const {
        if (queue.in_turn || !match.slots.empty()) return choose_of_many(queue, match);
        return queue.everybody->best_slot();
    }
    std::uint32_t choose_of_many(const Queue& queue, const MatchClass& match) const;
    void lease(Queue& queue, Handle handle, std::uint32_t slot, bool pulled = false);
    // The same for a message that is in no list and has no timer.
    // The steps in steps.h are given the state beside its handle, so that it is looked up once.
    void grant(Queue& queue, Handle handle, MessageState& state, std::uint32_t slot, const BodyRef& body,
               bool pulled);
    bool waits_for_record(Queue& queue, Handle handle);
    void hand(Queue& queue, Handle handle, MessageState& state, const BodyRef& body);
    void make_available(Queue& queue, Handle handle);
    void take_available(Queue& queue, Handle handle);
    void mark_class(Queue& queue, std::uint32_t match_class);
    // Unless nothing of it is available.
    void mark_waiting(Queue& queue, std::uint32_t match_class);
    void mark_all(Queue& queue);
    void update_room(Subscription& subscription);
    void update_room_of(Subscription& subscription);
    void weigh(const Subscription& subscription);
    void update_ring_room(Client& client);
    void mark_queue(Queue& queue);
    bool release_barrier(Queue& queue);
    BodyRef body_of(const MessageState& state) const;
    // Of the record that has the body.
    Position body_position(const MessageState& state) const {
        const MessageExtra* extra = find_extra(state);
        return extra != nullptr && extra->origin != 0 ? extra->origin : state.position;
    }
    Delivery delivery_of(const MessageState& state, Handle handle, const BodyRef& body) const;

    // --- leaving.cpp
    // The lease's end, for any reason: frees place, timer and list. The stage is left to the caller.
    void unlease(Queue& queue, MessageState& state);
    void detach(Queue& queue, Handle handle);
    // A leased message goes back, or leaves if its limits or its time say so (X2-X4).
    void give_back(Queue& queue, Handle handle, bool cancelled);
    void give_back_untaken(Queue& queue, Handle handle);
    void place(Queue& queue, Handle handle);
    void arm(MessageState& state, Handle handle);
    std::uint8_t spent(const Queue& queue, const MessageState& state) const;
    // The one way out (X7).
    void leave(Queue& queue, Handle handle, std::uint8_t reasons);
    void leave_processed(Queue& queue, Handle handle, MessageState& state);
    void forget(Queue& queue, Handle handle, MessageState& state);
    void forget_outstanding(Queue& queue, Handle handle);
    bool plan_entry(const TopicRoute& route, std::string_view group, bool needs_group);
    bool plan_move(Queue& to, const MessageState& old, std::string_view group, bool redrive);
    bool move(Queue& from, Handle handle, Queue& to, bool redrive, std::uint8_t reasons);
    void record_counts(const Queue& queue, const MessageState& state);
    void record_counts(const Queue& queue, const MessageState& state, RecordIndex& index);

    // The messages of a slice, in order, into `batch`; what is left of its count.
    std::uint64_t gather(const Queue& queue, Slice& slice);
    std::uint64_t purge(QueueId id, Slice& slice);
    std::uint64_t redrive(QueueId from, QueueId to, Slice& slice);

    // --- pull.cpp
    std::expected<Pulled, RequestError> pull(const PullRequest& request);
    std::expected<std::uint32_t, RequestError> puller(const PullRequest& request, QueueId queue);
    Handle next_to_pull(Queue& queue, std::uint32_t filter);
    std::uint32_t pull_groups(Queue& queue, std::uint32_t slot, std::uint32_t filter, std::uint32_t most);

    // --- verbs.cpp
    Answer verb(const VerbRequest& request);
    Answer verb_at_most_once(Queue& queue, Handle handle, ClientId client);
    Answer renew(Queue& queue, Handle handle, Duration period);
    Duration period_of(const Queue& queue, const MessageState& state) const;
    Handle find(const Queue& queue, Position position, Handle hint) const;
    bool holds(ClientId client, const MessageState& state) const;
    LeaseId lease_id(std::uint64_t counter) const;
    std::optional<Time> visible(const Delivery& delivery, LogPosition log);
    void unreadable(const Delivery& delivery);
    std::optional<Delivery> current_delivery(const VerbRequest& request) const;
    Handle find_lease(QueueId queue, Position position, LeaseId lease, Handle hint) const;

    // --- clients.cpp
    ClientId open_client(std::uint32_t uid);
    void end_client(ClientId client, std::span<const Untaken> untaken);
    void set_ring_free(ClientId client, std::uint32_t entry_count);
    std::expected<Subscribed, RequestError> subscribe(const SubscribeRequest& request);
    std::expected<Subscribed, RequestError> replace(const ReplaceRequest& request);
    std::uint32_t new_subscription(ClientId client);
    void unsubscribe(SubscriptionId id, std::span<const Untaken> untaken);
    void break_leases(std::span<const std::uint32_t> slots, std::span<const Untaken> untaken);
    void free_subscription(std::uint32_t slot);
    std::expected<void, RequestError> find_targets(std::string_view target, std::vector<QueueId>& to_queues,
                                                   std::vector<TopicId>& to_topics);
    std::uint64_t limit_of(std::uint64_t max_backlog, std::span<const QueueId> over) const;
    void join(std::uint32_t slot, std::span<const QueueId> over);
    void part(std::uint32_t slot);
    void renew_places(Queue& queue, std::uint32_t filter);

    // --- filters.cpp
    std::expected<void, RequestError> check_filter(std::string_view filter, std::span<const QueueId> over);
    std::uint32_t class_of_values(Queue& queue);
    std::uint32_t class_of_slots(Queue& queue, const std::vector<std::uint32_t>& slots);
    void drop_class(Queue& queue, std::uint32_t match_class);
    void note_filters(Queue& queue);
    void read_queued(const Queue& queue, const MessageState& state);
    void scan(Queue& queue, std::uint32_t slot);
    void reclassify(Queue& queue, Handle handle, std::uint32_t match_class);
    void evaluate_again(Queue& queue, Handle handle);
    std::expected<std::uint64_t, RequestError> verbs_where(const VerbWhereRequest& request, Slice& slice);
    std::uint32_t filter_slot(Queue& queue, std::string_view filter);
    void drop_filter_slot(Queue& queue, std::uint32_t slot);

    // --- hand_over.cpp
    void give_ordinal(Queue& queue, bool resend, QueueEntry& entry);
    bool may_hand_over(Queue& queue, const MessageState& state);
    void keep_hand_over(Queue& queue);
    void record_exact_hand_over(Queue& queue);
    void make_exact(Queue& queue);
    // One message of a queue with a record for each; `back`: it was not taken after all.
    RecordIndex record_single_hand_over(const Queue& queue, const MessageState& state, bool back);
    void after_readers_changed(Queue& queue);
    void settle_recovered_hand_over(Queue& queue, bool clean);

    // --- time.cpp
    void advance(Time to);
    void sort_due();
    void fall_due(Handle handle);
    void durable(RecordIndex index);

    // --- recovery.cpp
    std::expected<void, std::string> apply(const RecordView& record);
    void recovered(Time at, bool clean);
    std::expected<void, std::string> apply_definition(const RecordView& view);
    std::expected<void, std::string> apply_message(const RecordView& view);
    std::expected<void, std::string> apply_move(const RecordView& view);
    std::expected<void, std::string> apply_to_queue(const RecordView& view);
    std::expected<void, std::string> apply_hand_over(Queue& queue, const RecordView& view);
    void set_counts(MessageState& state, std::uint64_t counts);
    std::expected<void, std::string> apply_purge(Queue& queue, Position up_to);
    std::expected<void, std::string> apply_entries(const RecordHeader& header, TopicId topic,
                                                   Incoming incoming);
    std::uint32_t route_for(TopicId topic, QueueId queue);
    void leave_overdue(Time at, bool clean);
    void order_groups(Queue& queue);
    void record_definitions();
    void stop();
    PublisherId publisher(std::uint32_t uid, std::string_view name);

    // --- digest.cpp
    std::uint64_t durable_digest() const;
    std::size_t state_byte_count() const;

    RecordIndex record(RecordKind kind, std::uint32_t subject, Position position, std::uint64_t number,
                       std::uint16_t flags = 0);
    Queue& queue_of(const MessageState& state) { return *queues[routes[state.route].queue]; }
    const Queue& queue_of(const MessageState& state) const { return *queues[routes[state.route].queue]; }
    Time expiry_of(const MessageState& state) const {
        const MessageExtra* extra = find_extra(state);
        return extra == nullptr ? kNever : extra->expiry;
    }
    Subscription* holder_of(const MessageState& state) {
        if (state.holder == kNone) return nullptr;
        Subscription& subscription = subscriptions[state.holder & kSlotMask];
        return subscription.holder_id == state.holder && subscription.client != kNone ? &subscription
                                                                                      : nullptr;
    }
};

}  // namespace pinnace
