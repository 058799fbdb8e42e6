// SPDX-License-Identifier: Apache-2.0
// Machine: the steps that every message takes, inline: an ordinary message's publish, lease and
// acknowledgment are two functions then, without calls in between. Each has its rare part elsewhere.
#pragma once

#include <algorithm>

#include "core/machine.h"

namespace pinnace {

// --- Naming things

inline LeaseId Machine::lease_id(std::uint64_t counter) const {
    return static_cast<LeaseId>(options.epoch) << 40 | counter;
}

// The message's state, by hint in one load, else by position.
[[gnu::always_inline]] inline Handle Machine::find(const Queue& queue, Position position, Handle hint) const {
    if (position == 0) return kNone;
    if (states.contains(hint)) {
        const MessageState& state = states[hint];
        if (state.position == position && routes[state.route].queue == queue.id) return hint;
    }
    return queue.directory.find(blocks, states, position);
}

inline bool Machine::holds(ClientId client, const MessageState& state) const {
    return subscriptions[state.holder & kSlotMask].client == client;
}

[[gnu::always_inline]] inline RecordIndex Machine::record(RecordKind kind, std::uint32_t subject,
                                                          Position position, std::uint64_t number,
                                                          std::uint16_t flags) {
    RecordHeader header;
    header.kind = static_cast<std::uint16_t>(kind);
    header.flags = flags;
    header.head_size = static_cast<std::uint16_t>(head.size());
    header.subject = subject;
    header.position = position;
    header.time = now;
    header.number = number;
    return effects.record(header, head, BodyRef{});
}

// --- Room

// The client's ring is shared by its subscriptions: when it has become full or free, all of them change.
[[gnu::always_inline]] inline void Machine::update_room_of(Subscription& subscription) {
    Client& client = clients[subscription.client];
    const bool ring_room = client.has_ring_room();
    if (ring_room != client.ring_room) return update_ring_room(client);
    const bool room = ring_room && subscription.outstanding < subscription.limit;
    if (room != subscription.room) return update_room(subscription);
    if (room && subscription.weighted) weigh(subscription);
}

// Proportional queues rank it anew (D6).
[[gnu::always_inline]] inline void Machine::weigh(const Subscription& subscription) {
    const double key = static_cast<double>(static_cast<std::int64_t>(subscription.outstanding)) /
                       static_cast<double>(static_cast<std::int64_t>(subscription.limit));
    for (const Membership& member : subscription.members)
        if (member.weighted) member.slot->members.set(member.place, key);
}

// --- A lease's begin

inline BodyRef Machine::body_of(const MessageState& state) const {
    BodyRef body{LogPosition{state.log}, state.size, nullptr};
    const Position index = state.position - stored_first;
    if (!publishing.empty() && state.position >= stored_first && index < stored.size())
        body.data = publishing[stored[index]].body.data;
    return body;
}

[[gnu::always_inline]] inline Delivery Machine::delivery_of(const MessageState& state, Handle handle,
                                                            const BodyRef& body) const {
    const Route route = routes[state.route];
    Delivery delivery;
    delivery.client = subscriptions[state.holder & kSlotMask].client;
    delivery.subscription = state.holder & kSlotMask;
    delivery.queue = route.queue;
    delivery.topic = route.topic;
    delivery.position = state.position;
    delivery.lease = lease_id(state.lease);
    delivery.count = static_cast<std::uint32_t>(state.deliveries);
    delivery.handle = handle;
    delivery.published = state.published;
    // Field by field: one wide load behind the narrow stores of a body just made would wait for them.
    delivery.body.log = body.log;
    delivery.body.size = body.size;
    delivery.body.data = body.data;
    delivery.body_position = body_position(state);
    return delivery;
}

// The subscriber gets it.
[[gnu::always_inline]] inline void Machine::hand(Queue& queue, Handle handle, MessageState& state,
                                                 const BodyRef& body) {
    Subscription& subscription = subscriptions[state.holder & kSlotMask];
    clients[subscription.client].use_ring_place();
    update_room_of(subscription);
    const Time deadline =
        queue.at_most_once || queue.config.lease_period == kNever ? kNever : now + queue.config.lease_period;
    Delivery delivery = delivery_of(state, handle, body);
    delivery.deadline = deadline;
    // After its word was read: a load waits for a narrower store before it until that has reached the cache.
    state.set_stage(queue.at_most_once ? Stage::outstanding : Stage::leased);
    state.cold = effects.deliver(delivery) ? 0 : 1;
    if (!state.cold && deadline != kNever) wheel.insert(states, state, handle, deadline);
}

// A lease for a message that is in no list and has no timer.
[[gnu::always_inline]] inline void Machine::grant(Queue& queue, Handle handle, MessageState& state,
                                                  std::uint32_t slot, const BodyRef& body, bool pulled) {
    Subscription& subscription = subscriptions[slot];
    if (queue.at_most_once) {
        if (!state.handed_over && !queue.exact)
            queue.handed = std::max<std::uint64_t>(queue.handed, state.lease);
        state.handed_over = 1;
        ++queue.outstanding;
    }
    if (state.deliveries < kDeliveriesMax) state.deliveries = (state.deliveries + 1) & kDeliveriesMax;
    state.lease = ++lease_counter & ((std::uint64_t{1} << 40) - 1);
    state.holder = subscription.holder_id;
    Directory::expect_erase(blocks, state);
    if (queue.fifo) {
        hold_group(queue, handle, slot);
    } else {
        state.link_a = subscription.leases_tail;
        state.link_b = kNone;
        (subscription.leases_tail == kNone ? subscription.leases_head
                                           : states[subscription.leases_tail].link_b) = handle;
        subscription.leases_tail = handle;
    }
    ++subscription.outstanding;
    ++queue.leased;
    if (!pulled) queue.last_served = subscription.order;
    if ((queue.limits || queue.at_most_once || subscription.handing != 0) &&
        waits_for_record(queue, handle)) {
        state.set_stage(Stage::handing);
        ++clients[subscription.client].ring_reserved;
        update_room_of(subscription);
    } else {
        hand(queue, handle, state, body);
    }
}

// --- A lease's end, and the message's

[[gnu::always_inline]] inline void Machine::unlease(Queue& queue, MessageState& state) {
    Subscription& subscription = subscriptions[state.holder & kSlotMask];
    if (queue.fifo) {
        release_group(group_of(state));
    } else {
        (state.link_a == kNone ? subscription.leases_head : states[state.link_a].link_b) = state.link_b;
        (state.link_b == kNone ? subscription.leases_tail : states[state.link_b].link_a) = state.link_a;
    }
    --subscription.outstanding;
    if (queue.leased-- == queue.config.max_backlog) mark_queue(queue);
    if (queue.at_most_once) --queue.outstanding;
    if (state.timed) wheel.erase(states, state);
    if (state.stage() == Stage::handing) {
        --clients[subscription.client].ring_reserved;
        --subscription.handing;
    }
    if (MessageExtra* extra = find_extra(state)) extra->due = 0;
    state.lease = 0;
    state.cold = 0;
    update_room_of(subscription);
}

[[gnu::always_inline]] inline void Machine::forget(Queue& queue, Handle handle, MessageState& state) {
    queue.directory.erase(blocks, states, state);
    if (--lanes[state.lane].refs == 0) release_lane(queue, state.lane);
    if (state.extra != kNone) {
        if (queue.fifo) part_group(queue, handle, group_of(state));
        if (!state.group_only) extras.free(state.extra);
    }
    state.position = 0;
    state.set_stage(Stage::free);
    states.free(handle, state);
    if (!queue.beyond.empty()) mark_queue(queue);
    if (queue.barriers != kNone) mark_queue(queue);  // B1: perhaps it was the last one before a barrier
}

// The ordinary way out: it was processed.
[[gnu::always_inline]] inline void Machine::leave_processed(Queue& queue, Handle handle,
                                                            MessageState& state) {
    // The room that becomes free goes to the next one of its kind, which may lie far away.
    if (const Handle next = lanes[state.lane].fresh_head; next != kNone) states.prefetch(next);
    if (!recovering) record(RecordKind::remove, queue.journal_id, state.position, 0);
    if (is_leased(state.stage())) {
        unlease(queue, state);
    } else {
        detach(queue, handle);
    }
    forget(queue, handle, state);
}

}  // namespace pinnace
