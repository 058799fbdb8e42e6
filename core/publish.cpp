// SPDX-License-Identifier: Apache-2.0
// Machine: accepting messages (T2, T7, F8, Q3): first everything is decided and checked, then stored.
#include <algorithm>

#include "core/expr/convert.h"
#include "core/steps.h"

namespace pinnace {

namespace {

constexpr std::size_t kHeadSizeMax = 65'535;

// The time `period` from `now`, or never if that does not fit the clock.
Time after(Time now, Duration period) { return period >= kNever - now ? kNever : now + period; }

}  // namespace

void Machine::publish(const PublishRequest& request, std::span<PublishResult> results) {
    PINNACE_CHECK(results.size() == request.messages.size());
    if (request.messages.empty()) return;
    publishing = request.messages;
    stored.clear();
    planned_dedups.clear();
    group_names.clear();
    const Answer answer = make_plan(request, results);
    if (answer != Answer::ok) {
        while (!planned_dedups.empty()) {
            planned_dedups.back()->dedup.take_back();
            planned_dedups.pop_back();
        }
        std::ranges::fill(results, PublishResult{answer, 0});
    } else {
        stored_first = next_position;
        for (std::size_t index = 0; index < results.size(); ++index)
            if (planned[index].stored) store(request, index, results[index]);
        if (request.publisher != kNone && publishers.highest(request.publisher) < request.number) {
            // Accepted, though nothing was stored for it (U1).
            publishers.accepted(request.publisher, request.number);
            record(RecordKind::accepted, request.publisher, 0, request.number);
        }
        keep_reserve();
        settle();
    }
    publishing = {};
}

// As enter, where nothing is decided: the message is the newest one of the only class. `at_once`: it is given
// to whoever is there, if no other one waits. If the class is clean and others wait, nobody has room.
[[gnu::always_inline]] inline void Machine::enter_quickly(Queue& queue, std::uint32_t route,
                                                          const RecordHeader& header, const BodyRef& body,
                                                          bool at_once) {
    const Handle handle = states.allocate();
    MessageState& state = states[handle];
    state = {};
    state.position = header.position;
    state.log = body.log.bits;
    state.published = header.time;
    state.size = body.size;
    state.holder = kNone;
    state.extra = kNone;
    state.route = route & (kRouteCountMax - 1);
    MatchClass& match = queue.classes[0];
    if (match.lane == kNone) lane_for(queue, 0, LaneKey{});
    state.lane = match.lane;
    Lane& lane = lanes[match.lane];
    ++lane.refs;
    queue.directory.append(blocks, state, handle);
    if (lane.empty() && !match.dirty && at_once && queue.leased < queue.config.max_backlog) {
        const std::uint32_t slot = choose(queue, match);
        if (slot != kNone) return grant(queue, handle, state, slot, body, false);
    } else if (lane.empty()) {
        mark_class(queue, 0);
    }
    lane_append(lane, states, handle);
}

// The ordinary message: one, new, for queues that decide nothing. False: it is not that.
bool Machine::publish_quickly(const PublishRequest& request, PublishResult& result) {
    const PublishMessage& message = request.messages[0];
    if (!request.to_queue.empty() || message.topic >= topics.size()) return false;
    if (message.expiration != -1 || message.delay != -1 || next_position >= reserved_durable) return false;
    Topic& topic = topics[message.topic];
    for (const TopicRoute& route : topic.routes)
        if (!queues[route.queue]->quick) return false;
    RecordHeader header;
    if (request.publisher != kNone) {
        if (!publishers.known(request.publisher)) return false;
        const std::uint64_t highest = publishers.highest(request.publisher);
        if (request.number <= highest) return false;
        if (request.previous != kNoPrevious && request.previous > highest) return false;
        header.publisher = request.publisher;
        header.number = request.number;
        publishers.accepted(request.publisher, request.number);
    }
    if (topic.quick_head.empty()) {
        put_varint(topic.quick_head, topic.routes.size());
        for (const TopicRoute& route : topic.routes) {
            QueueEntry entry;
            entry.queue = queues[route.queue]->journal_id;
            put_entry(topic.quick_head, entry);
        }
    }
    header.kind = static_cast<std::uint16_t>(RecordKind::message);
    header.head_size = static_cast<std::uint16_t>(topic.quick_head.size());
    header.subject = topic.journal_id;
    header.position = next_position++;
    header.time = now;
    effects.record(header, topic.quick_head, message.body);
    result = {Answer::ok, header.position};
    // Whoever has room gets it at once, unless somebody is to see it before.
    const bool at_once = topic.subscriptions.empty() && dirty_queues.empty();
    for (const TopicRoute& route : topic.routes)
        enter_quickly(*queues[route.queue], route.route, header, message.body, at_once);
    if (!topic.subscriptions.empty()) publish_to_subscribers(message.topic, header.position, message.body);
    keep_reserve();
    if (recovering || dirty_queues.empty()) return settle(), true;
    publishing = request.messages;
    stored.assign(1, 0);
    stored_first = header.position;
    settle();
    publishing = {};
    return true;
}

// Fills `plan` with the entries of each message, and says in `planned` and `results` which are stored and
// which are duplicates; or says why nothing is stored.
Answer Machine::make_plan(const PublishRequest& request, std::span<PublishResult> results) {
    const std::size_t count = request.messages.size();
    std::uint64_t highest = 0;
    std::uint64_t first_number = 0;
    if (request.publisher != kNone) {
        if (!publishers.known(request.publisher) || request.number < count) return Answer::bad_request;
        highest = publishers.highest(request.publisher);
        first_number = request.number - count + 1;
        if (request.previous != kNoPrevious && request.previous > highest) return Answer::gap;
    }
    if (next_position + count > reserved_durable) return Answer::would_block;
    const Queue* to_queue = nullptr;
    if (!request.to_queue.empty()) {
        const QueueId id = find_queue(request.to_queue);
        if (id == kNone) return Answer::unknown_topic;
        to_queue = queues[id].get();
    }
    plan.clear();
    planned.clear();
    Position position = next_position;
    for (std::size_t index = 0; index < count; ++index) {
        const PublishMessage& message = request.messages[index];
        results[index] = {Answer::ok, 0};
        Planned& made = planned.emplace_back();
        made.topic = to_queue != nullptr ? to_queue->publish_target : message.topic;
        made.begin = made.end = static_cast<std::uint32_t>(plan.size());
        if (request.publisher != kNone && first_number + index <= highest) {
            results[index].answer = Answer::duplicate;
            continue;
        }
        if (made.topic >= topics.size()) return Answer::unknown_topic;
        if (message.delay < -1 || message.expiration < -1) return Answer::bad_request;
        const Answer answer = plan_message(message, made, to_queue, position, results[index]);
        if (answer != Answer::ok) return answer;
        if (made.stored) ++position;
    }
    return Answer::ok;
}

// One message: which queues take it in, and with what decisions (rule 10).
Answer Machine::plan_message(const PublishMessage& message, Planned& made, const Queue* to_queue,
                             Position position, PublishResult& result) {
    bool was_read = false;
    bool left_out = false;
    const auto read = [&](const Queue& queue) {
        if (!was_read) read_body(queue.type, made.topic, message.body.data, message.body.size);
        was_read = true;
    };
    for (const TopicRoute& route : topics[made.topic].routes) {
        Queue& queue = *queues[route.queue];
        if (queue.evaluates) read(queue);
        if (queue.filter && !evaluator.matches(*queue.filter)) continue;
        PlanItem& item = plan.emplace_back();
        item.queue = route.queue;
        item.route = route.route;
        item.match_class = 0;
        item.entry.queue = queue.journal_id;
        if (!queue.plain || message.expiration >= 0 || message.delay >= 0) {
            const Answer answer = decide_entry(queue, message, item.entry);
            if (answer != Answer::ok) return answer;
        }
        if (queue.filter_count != 0) item.match_class = class_of_values(queue);
        if (!item.entry.has_dedup) continue;
        queue.dedup.expire(now, queue.config.dedup_window);
        if (const DedupTable::Entry* first = queue.dedup.find(item.entry.dedup)) {
            if (to_queue == &queue || result.position == 0) result.position = first->position;
            if (to_queue == &queue) result.answer = Answer::duplicate;
            left_out = true;
            plan.pop_back();
            continue;
        }
        if (queue.dedup.count() >= options.dedup_count_max) return Answer::would_block;
        queue.dedup.add(item.entry.dedup, position, now);
        planned_dedups.push_back(&queue);
    }
    made.end = static_cast<std::uint32_t>(plan.size());
    made.stored = made.end != made.begin || !left_out;
    if (!made.stored) result.answer = Answer::duplicate;
    if (result.answer == Answer::ok) result.position = 0;
    return Answer::ok;
}

// What one queue decides; its expressions see the body that was read.
Answer Machine::decide_entry(Queue& queue, const PublishMessage& message, QueueEntry& entry) {
    const QueueConfig& config = queue.config;
    if (queue.fifo && message.delay >= 0) return Answer::bad_delay;  // F9
    if (queue.fifo) {
        entry.group = message.group;
        if (message.group.data() == nullptr && queue.group_key) entry.group = group_of_values(queue);
        if (!is_id(entry.group)) return Answer::bad_group;
        queue.groups.expect_entry(entry.group);
    }
    if (config.dedup_window != 0) {
        entry.has_dedup = true;
        if (message.dedup.data() != nullptr) {
            if (!is_id(message.dedup)) return Answer::bad_dedup;
            entry.dedup = dedup_hash(message.dedup);
        } else if (config.content_based_dedup && (message.body.data != nullptr || message.body.size == 0)) {
            entry.dedup = dedup_hash_of_body(message.body.data, message.body.size);
        } else {
            return Answer::bad_dedup;
        }
    }
    decide_times(queue, message.expiration, message.delay, entry);
    decide_by_values(queue, entry);
    return Answer::ok;
}

void Machine::decide_times(const Queue& queue, Duration expiration, Duration delay, QueueEntry& entry) const {
    if (expiration < 0) expiration = queue.config.expiration;
    if (expiration != kNever && expiration != 0) entry.expiry = after(now, expiration);
    if (delay < 0) delay = queue.config.delay;
    if (delay != 0) entry.due = after(now, delay);
}

void Machine::decide_by_values(const Queue& queue, QueueEntry& entry) {
    if (queue.barrier) entry.barrier = evaluator.matches(*queue.barrier);
    if (!queue.priority) return;
    const auto priority = expr::priority_of(evaluator.eval(*queue.priority));
    entry.has_priority = priority.has_value();
    entry.priority = priority.value_or(0);
}

// The group id by GroupKey; the text lives until the next call.
std::string_view Machine::group_of_values(const Queue& queue) {
    std::array<char, expr::kNumberTextSizeMax> buffer;
    const std::string_view text = expr::text_of(evaluator.eval(*queue.group_key), buffer);
    return group_names.emplace_back(text.substr(0, kGroupSizeMax + 1));
}

void Machine::read_body(std::uint32_t type, TopicId topic, const std::byte* data, std::uint32_t size) {
    evaluator.read(type, data, size);
    expr::MessageFacts& facts = evaluator.facts();
    facts.topic = topics[topic].name;
    facts.now_ns = now;
    facts.in_queue = true;
}

void Machine::store(const PublishRequest& request, std::size_t index, PublishResult& result) {
    const PublishMessage& message = request.messages[index];
    const Planned& made = planned[index];
    const std::span<PlanItem> items(plan.data() + made.begin, made.end - made.begin);
    const Topic& topic = topics[made.topic];
    // All of them before the head is made: this may write a record of its own.
    for (PlanItem& item : items) {
        Queue& queue = *queues[item.queue];
        if (queue.fifo) queue.groups.expect_group(groups, item.entry.group);
        if (queue.at_most_once) give_ordinal(queue, request.resend, item.entry);
    }
    head.clear();
    put_varint(head, items.size());
    for (const PlanItem& item : items) put_entry(head, item.entry);
    for (const PlanItem& item : items)
        if (queues[item.queue]->fifo)
            queues[item.queue]->groups.expect_tail(groups, states, item.entry.group);
    PINNACE_CHECK(head.size() <= kHeadSizeMax);

    RecordHeader header;
    header.kind = static_cast<std::uint16_t>(RecordKind::message);
    header.head_size = static_cast<std::uint16_t>(head.size());
    header.subject = topic.journal_id;
    header.position = next_position++;
    header.time = now;
    if (request.publisher != kNone) {
        header.publisher = request.publisher;
        header.number = request.number - request.messages.size() + 1 + index;
        publishers.accepted(request.publisher, header.number);
    }
    const RecordIndex record_index = effects.record(header, head, message.body);
    head.clear();
    if (result.answer == Answer::ok) result.position = header.position;
    result.stored = result.answer != Answer::ok;
    stored.push_back(static_cast<std::uint32_t>(index));

    Incoming incoming{.position = header.position, .published = now, .body = message.body};
    for (const PlanItem& item : items) {
        Queue& queue = *queues[item.queue];
        incoming.route = item.route;
        incoming.match_class = item.match_class;
        incoming.wait_for = queue.config.deliver_after == DeliverAfter::persisted ? record_index : 0;
        if (!item.entry.handed_over) enter(queue, item.entry, incoming);
    }
    if (!topic.subscriptions.empty()) publish_to_subscribers(made.topic, header.position, message.body);
}

// Positions that may be seen must have been reserved durably (rule 12): the next reservation is made when
// half of the last one is left, so that publishes wait only if the disk stands still.
void Machine::reserve_more() {
    if (reserve_record != 0) return;
    reserved = next_position + options.position_reserve;
    reserve_record = record(RecordKind::reserve, 0, reserved, 0);
}

// T4: everything, in order, from now on. Nothing is leased.
void Machine::publish_to_subscribers(TopicId topic, Position position, const BodyRef& body) {
    for (const std::uint32_t slot : topics[topic].subscriptions) {
        Subscription& subscription = subscriptions[slot];
        Client& client = clients[subscription.client];
        if (subscription.topic_filter) {
            read_body(evaluator.type(topics[topic].message_type), topic, body.data, body.size);
            if (!evaluator.matches(*subscription.topic_filter)) continue;
        }
        if (!client.has_ring_room()) continue;
        client.use_ring_place();
        if (!client.has_ring_room()) update_ring_room(client);
        Delivery delivery;
        delivery.client = subscription.client;
        delivery.subscription = slot;
        delivery.topic = topic;
        delivery.position = position;
        delivery.body_position = position;
        delivery.published = now;
        delivery.count = 1;
        delivery.body = body;
        effects.deliver(delivery);
    }
}

}  // namespace pinnace
