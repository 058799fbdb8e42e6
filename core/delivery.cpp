// SPDX-License-Identifier: Apache-2.0
// Machine: who gets what (D1-D10, B1-B5). The oldest available message of all dirty classes goes to whom D6
// picks, until nobody with room is left for any of them.
#include <algorithm>

#include "core/steps.h"

namespace pinnace {

void Machine::settle_dirty() {
    if (dirty_queues.size() == 1) {
        Queue& queue = *queues[dirty_queues[0]];
        queue.dirty = false;
        dispatch(queue);
        if (dirty_queues.size() == 1 && !queue.dirty) dirty_queues.clear();
    }
    while (!dirty_queues.empty()) {
        if (dirty_queues.size() > 1) std::ranges::sort(dirty_queues);
        // Room only shrinks while messages are given out, so one pass in order of definition is enough, but
        // for what a barrier's release brings.
        for (std::size_t index = 0; index < dirty_queues.size(); ++index) {
            Queue& queue = *queues[dirty_queues[index]];
            queue.dirty = false;
            dispatch(queue);
        }
        std::erase_if(dirty_queues, [&](QueueId id) { return !queues[id]->dirty; });
    }
}

void Machine::mark_queue(Queue& queue) {
    if (queue.dirty) return;
    queue.dirty = true;
    if (std::ranges::find(dirty_queues, queue.id) == dirty_queues.end()) dirty_queues.push_back(queue.id);
}

void Machine::mark_class(Queue& queue, std::uint32_t match_class) {
    MatchClass& match = queue.classes[match_class];
    if (!match.dirty) {
        match.dirty = true;
        queue.dirty_classes.push_back(match_class);
    }
    mark_queue(queue);
}

void Machine::mark_waiting(Queue& queue, std::uint32_t match_class) {
    const MatchClass& match = queue.classes[match_class];
    const bool waits = match.lane != kNone ? !lanes[match.lane].empty() : match.active != kNone;
    if (waits || queue.fifo) mark_class(queue, match_class);
}

void Machine::mark_all(Queue& queue) {
    for (std::uint32_t index = 0; index < queue.classes.size(); ++index)
        if (queue.classes[index].used) mark_waiting(queue, index);
}

void Machine::dispatch(Queue& queue) {
    if (!queue.beyond.empty()) fill(queue);
    if (queue.fifo) return dispatch_groups(queue);
    for (;;) {
        if (queue.leased >= queue.config.max_backlog) break;  // D5; the classes stay dirty
        std::uint32_t match_class = 0;
        const Handle handle = next_available(queue, match_class);
        if (handle == kNone) {
            if (release_barrier(queue)) continue;
            break;
        }
        if (queue.at_most_once && !may_hand_over(queue, states[handle])) break;
        const std::uint32_t slot = pick(queue, queue.classes[match_class], states[handle]);
        if (slot == kNone) {
            queue.classes[match_class].dirty = false;
            std::erase(queue.dirty_classes, match_class);
            continue;
        }
        lease(queue, handle, slot);
        if (queue.at_most_once && !queue.beyond.empty()) fill(queue);  // it has left
    }
    if (queue.at_most_once) keep_hand_over(queue);
}

// The first message, in delivery order (D2), of the dirty classes. Classes without one are clean.
Handle Machine::next_available(Queue& queue, std::uint32_t& match_class) {
    if (queue.dirty_classes.size() == 1 && queue.barriers == kNone && queue.config.priority.empty()) {
        match_class = queue.dirty_classes[0];
        const std::uint32_t lane = queue.classes[match_class].lane;
        const Handle handle = lane == kNone ? kNone : lane_first(lanes[lane], states);
        if (handle != kNone) return handle;
        queue.classes[match_class].dirty = false;
        queue.dirty_classes.clear();
        return kNone;
    }
    Handle best = kNone;
    LaneKey best_key{};
    const Handle barrier = PositionTree::first({states}, queue.barriers);
    for (std::size_t index = 0; index < queue.dirty_classes.size();) {
        MatchClass& match = queue.classes[queue.dirty_classes[index]];
        const std::uint32_t lane_index =
            queue.config.priority.empty() ? match.lane : ActiveTree::first({{lanes}}, match.active);
        Handle handle = lane_index == kNone ? kNone : lane_first(lanes[lane_index], states);
        if (handle != kNone && barrier != kNone && states[barrier].position < states[handle].position)
            handle = kNone;  // B1
        if (handle == kNone) {
            match.dirty = false;
            queue.dirty_classes[index] = queue.dirty_classes.back();
            queue.dirty_classes.pop_back();
            continue;
        }
        const LaneKey key{lanes[lane_index].priority, lanes[lane_index].numbered};
        const int order = best == kNone ? -1 : compare_priority(key, best_key);
        if (order < 0 || (order == 0 && states[handle].position < states[best].position)) {
            best = handle;
            best_key = key;
            match_class = queue.dirty_classes[index];
        }
        ++index;
    }
    return best;
}

// D6 among those that match and have room, and D10: the last holder only if it is the only one.
std::uint32_t Machine::pick(Queue& queue, const MatchClass& match, const MessageState& state) {
    const Subscription* last = state.holder == kNone ? nullptr : holder_of(state);
    if (last == nullptr || !last->room) return choose(queue, match);
    const auto member = std::ranges::find(last->members, queue.id, &Membership::queue);
    if (member == last->members.end()) return choose(queue, match);
    RoomTree& tree = queue.filters[member->filter].members;
    const double key = tree.members()[member->place].key;
    tree.set(member->place, RoomTree::kNoRoom);
    const std::uint32_t other = choose(queue, match);
    tree.set(member->place, key);
    return other != kNone ? other : choose(queue, match);
}

std::uint32_t Machine::choose_of_many(const Queue& queue, const MatchClass& match) const {
    const bool in_turn = queue.in_turn;
    const RoomTree::Member* best = nullptr;
    const auto consider = [&](const RoomTree& tree, std::uint64_t after) {
        const std::uint32_t place = in_turn ? tree.next_after(after) : tree.best();
        if (place == kNone) return;
        const RoomTree::Member& member = tree.members()[place];
        if (best == nullptr || member.key < best->key ||
            (member.key == best->key && member.order < best->order))
            best = &member;
    };
    const auto consider_all = [&](std::uint64_t after) {
        consider(queue.filters[0].members, after);
        for (const std::uint32_t slot : match.slots) consider(queue.filters[slot].members, after);
    };
    consider_all(in_turn ? queue.last_served : 0);
    if (best == nullptr && in_turn) consider_all(0);
    return best == nullptr ? kNone : best->slot;
}

// Gives an available message to a subscription.
void Machine::lease(Queue& queue, Handle handle, std::uint32_t slot, bool pulled) {
    MessageState& state = states[handle];
    if (!queue.fifo) take_available(queue, handle);
    if (state.timed) wheel.erase(states, handle);
    if (MessageExtra* extra = find_extra(state)) extra->due = 0;
    grant(queue, handle, state, slot, body_of(state), pulled);
}

// Whether a lease that is to be handed over must wait for its record, which is made here (X6, M1).
bool Machine::waits_for_record(Queue& queue, Handle handle) {
    const MessageState& state = states[handle];
    RecordIndex index = 0;
    if (queue.limits) record_counts(queue, state, index);
    const bool exact = queue.at_most_once && queue.exact;
    if (exact) index = record_single_hand_over(queue, state, false);
    if (index != 0) effects.part_may_end();
    Subscription& subscription = subscriptions[state.holder & kSlotMask];
    if (!exact && !(queue.limits && state.recovered)) {
        // A subscription gets everything in the order of the decisions.
        if (subscription.handing == 0) return false;
        index = handing[handing.size() - 1].index;
    }
    ++subscription.handing;
    handing.push({index, handle, state.position, state.lease});
    return true;
}

void Machine::make_available(Queue& queue, Handle handle) {
    MessageState& state = states[handle];
    Lane& lane = lanes[state.lane];
    const bool was_empty = lane.empty();
    lane_insert(lane, states, handle);
    if (was_empty && !queue.config.priority.empty())
        ActiveTree::insert({{lanes}}, queue.classes[lane.match_class].active, state.lane);
    mark_class(queue, lane.match_class);
}

void Machine::take_available(Queue& queue, Handle handle) {
    const MessageState& state = states[handle];
    Lane& lane = lanes[state.lane];
    lane_erase(lane, states, handle);
    if (lane.empty() && !queue.config.priority.empty())
        ActiveTree::erase({{lanes}}, queue.classes[lane.match_class].active, state.lane);
}

void Machine::update_ring_room(Client& client) {
    client.ring_room = client.has_ring_room();
    for (const std::uint32_t slot : client.subscriptions) update_room(subscriptions[slot]);
}

void Machine::update_room(Subscription& subscription) {
    const bool room = subscription.outstanding < subscription.limit && clients[subscription.client].ring_room;
    const bool changed = room != subscription.room;
    const bool gained = room && changed;
    subscription.room = room;
    if (room && subscription.weighted) weigh(subscription);
    for (const Membership& member : subscription.members) {
        if (changed && !(room && member.weighted))
            member.slot->members.set(member.place, room ? 0 : RoomTree::kNoRoom);
        if (!gained) continue;
        Queue& queue = *queues[member.queue];
        if (member.filter == 0) {
            mark_all(queue);
        } else {
            for (const std::uint32_t match_class : queue.filters[member.filter].classes)
                mark_waiting(queue, match_class);
        }
    }
}

// B2: the oldest of the queue is a barrier, and it is due: it goes to every subscription, and leaves.
bool Machine::release_barrier(Queue& queue) {
    const Handle handle = PositionTree::first({states}, queue.barriers);
    if (handle == kNone || queue.directory.first(blocks) != handle || queue.subscriptions.empty())
        return false;
    MessageState& state = states[handle];
    if (!is_due(state)) return false;
    // Nobody can take anything: an orderly stop, or all of them are behind. It waits.
    if (std::ranges::none_of(queue.subscriptions, [&](std::uint32_t slot) {
            return clients[subscriptions[slot].client].has_ring_room();
        }))
        return false;
    Delivery delivery;
    delivery.queue = queue.id;
    delivery.topic = routes[state.route].topic;
    delivery.position = state.position;
    delivery.count = 1;
    delivery.published = state.published;
    delivery.body = body_of(state);
    delivery.body_position = body_position(state);
    for (const std::uint32_t slot : queue.subscriptions) {
        if (!matches_slot(queue, state, filter_of(subscriptions[slot], queue.id))) continue;
        delivery.client = subscriptions[slot].client;
        delivery.subscription = slot;
        effects.deliver(delivery);
    }
    leave(queue, handle, 0);
    mark_all(queue);
    return true;
}

}  // namespace pinnace
