// SPDX-License-Identifier: Apache-2.0
// Machine: accepting messages (T2, T7, F8, Q3): first everything is decided and checked, then stored.
#include <algorithm>

#include "core/machine.h"

namespace pinnace {

namespace {

constexpr std::size_t kHeadSizeMax = 65'535;

void answer_all(std::span<PublishResult> results, Answer answer) {
    std::ranges::fill(results, PublishResult{answer, 0});
}

// The time `period` from `now`, or never if that does not fit the clock.
Time after(Time now, Duration period) { return period >= kNever - now ? kNever : now + period; }

}  // namespace

void Machine::publish(const PublishRequest& request, std::span<PublishResult> results) {
    PINNACE_CHECK(results.size() == request.messages.size());
    if (request.messages.empty()) return;
    publishing = request.messages;
    stored.clear();
    const Answer answer = make_plan(request, results);
    if (answer != Answer::ok) {
        answer_all(results, answer);
    } else {
        stored_first = next_position;
        for (std::size_t index = 0; index < results.size(); ++index)
            if (results[index].answer == Answer::ok) store(request, index, results[index]);
        keep_reserve();
        settle();
    }
    publishing = {};
}

// Fills `plan` with the entries of each message that is to be stored, `results` with the duplicates; or says
// why nothing is stored.
Answer Machine::make_plan(const PublishRequest& request, std::span<PublishResult> results) {
    const std::size_t count = request.messages.size();
    std::uint64_t highest = 0;
    std::uint64_t first_number = 0;
    if (request.publisher != kNone) {
        if (!publishers.known(request.publisher) || request.number < count || request.number == 0)
            return Answer::bad_request;
        highest = publishers.highest(request.publisher);
        first_number = request.number - count + 1;
        if (request.previous != kNoPrevious && request.previous > highest) return Answer::gap;
    }
    if (next_position + count > reserved_durable) return Answer::would_block;
    Queue* to_queue = nullptr;
    if (!request.to_queue.empty()) {
        const QueueId id = find_queue(request.to_queue);
        if (id == kNone) return Answer::unknown_topic;
        to_queue = queues[id].get();
    }
    plan.clear();
    plan_ends.clear();
    for (std::size_t index = 0; index < count; ++index) {
        const PublishMessage& message = request.messages[index];
        results[index] = {Answer::ok, 0};
        if (request.publisher != kNone && first_number + index <= highest) {
            results[index].answer = Answer::duplicate;
        } else {
            const TopicId topic = to_queue != nullptr ? to_queue->publish_target : message.topic;
            if (topic >= topics.size()) return Answer::unknown_topic;
            if (message.delay < -1 || message.expiration < -1) return Answer::bad_request;
            for (const TopicRoute& route : topics[topic].routes) {
                QueueEntry& entry = plan.emplace_back();
                decide_entry(*queues[route.queue], message, entry);
            }
        }
        plan_ends.push_back(static_cast<std::uint32_t>(plan.size()));
    }
    return Answer::ok;
}

void Machine::decide_entry(Queue& queue, const PublishMessage& message, QueueEntry& entry) {
    entry.queue = queue.journal_id;
    const Duration expiration = message.expiration >= 0 ? message.expiration : queue.config.expiration;
    if (expiration != kNever && expiration != 0) entry.expiry = after(now, expiration);
    const Duration delay = message.delay >= 0 ? message.delay : queue.config.delay;
    if (delay != 0) entry.due = after(now, delay);
}

void Machine::store(const PublishRequest& request, std::size_t index, PublishResult& result) {
    const PublishMessage& message = request.messages[index];
    const std::uint32_t plan_begin = index == 0 ? 0 : plan_ends[index - 1];
    const std::span<QueueEntry> entries(plan.data() + plan_begin, plan_ends[index] - plan_begin);
    const TopicId topic_id =
        request.to_queue.empty() ? message.topic : queues[find_queue(request.to_queue)]->publish_target;
    const Topic& topic = topics[topic_id];
    head.clear();
    put_varint(head, entries.size());
    for (std::size_t i = 0; i < entries.size(); ++i) {
        Queue& queue = *queues[topic.routes[i].queue];
        if (queue.at_most_once) give_ordinal(queue, request.resend, entries[i]);
        put_entry(head, entries[i]);
    }
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
    result.position = header.position;
    stored.push_back(static_cast<std::uint32_t>(index));

    Incoming incoming{.position = header.position, .published = now, .body = message.body};
    for (std::size_t i = 0; i < entries.size(); ++i) {
        Queue& queue = *queues[topic.routes[i].queue];
        incoming.route = topic.routes[i].route;
        incoming.wait_for = queue.config.deliver_after == DeliverAfter::persisted ? record_index : 0;
        if (!entries[i].handed_over && !entries[i].duplicate) enter(queue, entries[i], incoming);
    }
    if (!topic.subscriptions.empty()) publish_to_subscribers(topic_id, header.position, message.body);
}

// Positions that may be seen must have been reserved durably (rule 12): the next reservation is made when
// half of the last one is left, so that publishes wait only if the disk stands still.
void Machine::keep_reserve() {
    const Position half = options.position_reserve / 2;
    if (reserve_record != 0 || (reserved > next_position && reserved - next_position >= half)) return;
    reserved = next_position + options.position_reserve;
    reserve_record = record(RecordKind::reserve, 0, reserved, 0);
}

MessageExtra& Machine::extra_of(MessageState& state) {
    if (state.extra == kNone) {
        state.extra = extras.allocate();
        extras[state.extra] = {
            .expiry = kNever, .due = 0, .period = 0, .cancels = 0, .group = kNone, .origin = 0};
    }
    return extras[state.extra];
}

// Makes the state of a message in one queue.
Handle Machine::enter(Queue& queue, const QueueEntry& entry, const Incoming& incoming) {
    const Handle handle = states.allocate();
    MessageState& state = states[handle];
    state = {};
    state.position = incoming.position;
    state.log = incoming.body.log.bits;
    state.published = incoming.published;
    state.size = incoming.body.size;
    state.holder = kNone;
    state.extra = kNone;
    state.route = incoming.route & (kRouteCountMax - 1);
    if (queue.at_most_once) state.lease = entry.ordinal & ((std::uint64_t{1} << 40) - 1);
    if (entry.expiry != kNever) extra_of(state).expiry = entry.expiry;
    if (incoming.origin != 0) extra_of(state).origin = incoming.origin;
    if (entry.due != 0) extra_of(state).due = entry.due;
    state.lane = lane_for(queue, 0, entry);
    ++lanes[state.lane].refs;
    queue.directory.append(blocks, states, handle);
    if (incoming.wait_for != 0 && !recovering) {
        state.set_stage(Stage::entering);
        entering.push({incoming.wait_for, handle, incoming.position, 0});
    } else {
        place(queue, handle);
    }
    return handle;
}

// The lane of a class for an entry's priority.
std::uint32_t Machine::lane_for(Queue& queue, std::uint32_t match_class, const QueueEntry& entry) {
    MatchClass& match = queue.classes[match_class];
    const bool by_priority = !queue.config.priority.empty();
    if (!by_priority && match.lane != kNone) return match.lane;
    const LaneKey key{entry.priority, entry.has_priority ? 1u : 0u};
    if (by_priority) {
        for (std::uint32_t at = match.lanes; at != kNone;) {
            const int order = compare_priority(key, LaneKey{lanes[at].priority, lanes[at].numbered});
            if (order == 0) return at;
            at = order < 0 ? lanes[at].left : lanes[at].right;
        }
    }
    const std::uint32_t index = lanes.allocate();
    Lane& lane = lanes[index];
    lane = {};
    lane.priority = key.priority;
    lane.numbered = key.numbered;
    lane.match_class = match_class;
    lane.fresh_head = lane.fresh_tail = lane.returned = kNone;
    if (by_priority) {
        LaneTree::insert(LanesByPriority{lanes}, match.lanes, index);
    } else {
        match.lane = index;
    }
    return index;
}

void Machine::release_lane(Queue& queue, MessageState& state) {
    Lane& lane = lanes[state.lane];
    if (--lane.refs != 0 || queue.config.priority.empty()) return;
    LaneTree::erase(LanesByPriority{lanes}, queue.classes[lane.match_class].lanes, state.lane);
    lanes.free(state.lane);
}

// T4: everything, in order, from now on. Nothing is leased.
void Machine::publish_to_subscribers(TopicId topic, Position position, const BodyRef& body) {
    for (const std::uint32_t slot : topics[topic].subscriptions) {
        Subscription& subscription = subscriptions[slot];
        Client& client = clients[subscription.client];
        if (client.ring_free == 0) continue;
        if (client.ring_free != UINT32_MAX) --client.ring_free;
        Delivery delivery;
        delivery.client = subscription.client;
        delivery.subscription = slot;
        delivery.topic = topic;
        delivery.position = position;
        delivery.count = 1;
        delivery.body = body;
        effects.deliver(delivery);
    }
}

}  // namespace pinnace
