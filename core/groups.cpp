// SPDX-License-Identifier: Apache-2.0
// Machine: fifo queues: groups, their readiness, batches, and their settling (F2-F11).
#include <algorithm>
#include <utility>

#include "core/steps.h"

namespace pinnace {

// A new message at the end of its group; positions grow.
void Machine::join_group(Queue& queue, Handle handle, std::string_view id) {
    std::uint32_t index = queue.groups.find(groups, group_texts, id);
    if (index == kNone) index = queue.groups.add(groups, group_texts, id);
    MessageState& state = states[handle];
    if (state.extra == kNone) {
        state.extra = index;
        state.group_only = 1;
    } else {
        extras[state.extra].group = index;
    }
    Group& group = groups[index];
    state.link_a = group.tail;
    state.link_b = kNone;
    (group.tail == kNone ? group.head : states[group.tail].link_b) = handle;
    group.tail = handle;
}

void Machine::part_group(Queue& queue, Handle handle, std::uint32_t index) {
    const MessageState& state = states[handle];
    Group& group = groups[index];
    (state.link_a == kNone ? group.head : states[state.link_a].link_b) = state.link_b;
    (state.link_b == kNone ? group.tail : states[state.link_b].link_a) = state.link_a;
    if (group.head != kNone) return settle_group(queue, index);
    remove_ready(queue, index);
    queue.groups.remove(groups, group_texts, index);
}

void Machine::remove_ready(Queue& queue, std::uint32_t index) {
    Group& group = groups[index];
    if (group.ready_class == kNone) return;
    if (group.ready_class == kStickyClass) {
        ReadyTree::erase({groups}, queue.sticky_ready, index);
    } else {
        queue.classes[group.ready_class].ready.erase(groups, index);
    }
    group.ready_class = kNone;
}

bool Machine::is_due(const MessageState& state) const {
    const MessageExtra* extra = find_extra(state);
    return extra == nullptr || extra->due <= now;
}

// The same of one that is in its group and unleased: arm() has given a timer to each one that is not due.
bool Machine::is_due_in_group(const MessageState& state) const { return !state.timed || is_due(state); }

// The first message that the group may give next; kNone: none, or it may not.
Handle Machine::next_of_group(const Queue& queue, const Group& group) const {
    Handle handle = group.head;
    if (group.leased != 0) {
        if (!queue.config.sticky) return kNone;
        const std::uint32_t most = queue.config.max_deliveries;
        if (most != 0 && is_leased(states[handle].stage()) && states[handle].deliveries >= most) return kNone;
        while (handle != kNone && is_leased(states[handle].stage())) handle = states[handle].link_b;
        if (handle != kNone && most != 0 && states[handle].deliveries + 1u >= most) return kNone;
    }
    if (handle == kNone || states[handle].stage() != Stage::grouped || !is_due_in_group(states[handle]))
        return kNone;
    if (group.leased != 0 && spent(queue, states[handle]) != 0)
        return kNone;  // it leaves with the last lease
    return handle;
}

// After anything that may have changed a group's readiness. A ready one keeps its place.
void Machine::refresh_group(Queue& queue, std::uint32_t index) {
    Group& group = groups[index];
    const Handle first = next_of_group(queue, group);
    if (first == kNone) return remove_ready(queue, index);
    const std::uint32_t wanted = group.leased != 0 ? kStickyClass : lanes[states[first].lane].match_class;
    if (group.ready_class != wanted) {
        if (group.ready_class == kNone) {
            group.ready_instant = recovering ? 0 : instant;
            group.ready_position = states[first].position;
        }
        remove_ready(queue, index);
        group.ready_class = wanted;
        if (wanted == kStickyClass) {
            ReadyTree::insert({groups}, queue.sticky_ready, index);
        } else {
            queue.classes[wanted].ready.insert(groups, index);
        }
    }
    if (wanted != kStickyClass) mark_class(queue, wanted);
    mark_queue(queue);
}

// F3, F6: when the last lease is over, what is spent leaves in order, and the group is ready anew.
void Machine::settle_group(Queue& queue, std::uint32_t index) {
    Group& group = groups[index];
    if (group.leased != 0 || group.leased_until == 0) {
        if (settling_group != index) refresh_group(queue, index);
        return;
    }
    if (settling_group == index) return;
    const std::uint32_t former = settling_group;
    settling_group = index;
    remove_ready(queue, index);
    const Position until = group.leased_until;
    group.leased_until = 0;
    batch_of_group.clear();
    for (Handle at = group.head; at != kNone && states[at].position <= until; at = states[at].link_b)
        if (states[at].stage() == Stage::grouped && (spent(queue, states[at]) & ~unsigned{kTimeLimit}) != 0)
            batch_of_group.push_back(at);
    const std::vector<Handle> leaving = batch_of_group;
    bool emptied = false;
    for (const Handle handle : leaving) {
        emptied = groups[index].head == handle && states[handle].link_b == kNone;
        leave(queue, handle, spent(queue, states[handle]));
    }
    settling_group = former;
    if (!emptied) refresh_group(queue, index);
}

// The holder's side of a lease of a group's message.
void Machine::hold_group(Queue& queue, Handle handle, std::uint32_t slot) {
    const MessageState& state = states[handle];
    const std::uint32_t index = group_of(state);
    Group& group = groups[index];
    group.leased_until = std::max(group.leased_until, state.position);
    if (state.link_b != kNone) states.prefetch(state.link_b);  // it is first when this one leaves
    if (group.leased++ != 0) return;
    remove_ready(queue, index);
    Subscription& subscription = subscriptions[slot];
    group.holder = slot;
    group.held_prev = kNone;
    group.held_next = subscription.groups_head;
    if (subscription.groups_head != kNone) groups[subscription.groups_head].held_prev = index;
    subscription.groups_head = index;
}

void Machine::release_group(std::uint32_t index) {
    Group& group = groups[index];
    if (--group.leased != 0) return;
    (group.held_prev == kNone ? subscriptions[group.holder].groups_head : groups[group.held_prev].held_next) =
        group.held_next;
    if (group.held_next != kNone) groups[group.held_next].held_prev = group.held_prev;
    group.holder = kNone;
}

// F10: the later leased ones come again after it. Answers those that leave instead.
std::vector<Handle> Machine::revoke_later(Queue& queue, Handle returned) {
    std::vector<Handle> leaving;
    for (Handle at = states[returned].link_b; at != kNone; at = states[at].link_b) {
        if (!is_leased(states[at].stage())) continue;
        unlease(queue, states[at]);
        states[at].set_stage(Stage::grouped);
        if (queue.filters_change) evaluate_again(queue, at);
        if (states[at].purged || (spent(queue, states[at]) & kTimeLimit) != 0) {
            leaving.push_back(at);
        } else {
            arm(states[at], at);
        }
    }
    return leaving;
}

// As give_back, for a message of a group: limits wait until the group is settled (F6).
void Machine::give_back_grouped(Queue& queue, Handle handle) {
    MessageState& state = states[handle];
    const std::uint32_t index = group_of(state);
    state.set_stage(Stage::grouped);
    // The group is settled only when the last of them is dealt with.
    const std::uint32_t former = std::exchange(settling_group, index);
    std::vector<Handle> leaving;
    if (queue.config.sticky && !breaking) leaving = revoke_later(queue, handle);
    if (state.purged || (spent(queue, state) & kTimeLimit) != 0) {
        leaving.insert(leaving.begin(), handle);
    } else {
        arm(state, handle);
    }
    bool emptied = false;
    for (const Handle at : leaving) {
        emptied = groups[index].head == at && states[at].link_b == kNone;
        leave(queue, at, states[at].purged ? std::uint8_t{0} : spent(queue, states[at]));
    }
    settling_group = former;
    if (!emptied) settle_group(queue, index);
}

bool Machine::matches_slot(const Queue& queue, const MessageState& state, std::uint32_t filter) const {
    if (filter == 0) return true;
    return std::ranges::binary_search(queue.classes[lanes[state.lane].match_class].slots, filter);
}

// F2: consecutive messages of one group to one subscription, as far as its room goes.
std::uint32_t Machine::give_batch(Queue& queue, std::uint32_t index, std::uint32_t slot, std::uint32_t filter,
                                  std::uint32_t most, bool pulled) {
    std::uint32_t count = 0;
    Handle handle = next_of_group(queue, groups[index]);
    const std::uint32_t limit = queue.config.max_deliveries;
    const bool alone = handle != kNone && limit != 0 && states[handle].deliveries + 1u >= limit;
    while (handle != kNone && count < most && queue.leased < queue.config.max_backlog) {
        const MessageState& state = states[handle];
        if (!pulled && !subscriptions[slot].room) break;
        if (state.stage() != Stage::grouped || !is_due_in_group(state) || !matches_slot(queue, state, filter))
            break;
        const Handle following = state.link_b;
        lease(queue, handle, slot, pulled);
        ++count;
        if (alone) break;
        handle = following;
    }
    ++instant;  // sticky: it queues up again behind the others
    if (groups[index].ready_class != kNone) remove_ready(queue, index);
    refresh_group(queue, index);
    return count;
}

void Machine::dispatch_groups(Queue& queue) {
    while (queue.leased < queue.config.max_backlog) {
        std::uint32_t match_class = 0;
        const std::uint32_t index = next_ready_group(queue, match_class);
        std::uint32_t filter = 0;
        std::uint32_t slot = kNone;
        const std::uint32_t sticky = next_sticky_group(queue, index, filter);
        if (sticky != kNone) {
            give_batch(queue, sticky, groups[sticky].holder, filter, UINT32_MAX, false);
            continue;
        }
        if (index == kNone) break;
        slot = pick(queue, queue.classes[match_class], states[groups[index].head]);
        if (slot == kNone) {
            queue.classes[match_class].dirty = false;
            std::erase(queue.dirty_classes, match_class);
            continue;
        }
        expect_groups(index);
        give_batch(queue, index, slot, filter_of(subscriptions[slot], queue.id), UINT32_MAX, false);
    }
}

// The groups behind this one are served soon, and each lies anywhere: one of them is fetched, and of the one
// before that, which was fetched the last time, the first message.
void Machine::expect_groups(std::uint32_t index) {
    for (int step = 0; step < 2; ++step) {
        if (groups[index].is_late || groups[index].right == kNone) return;
        index = groups[index].right;
    }
    states.prefetch(groups[index].head);
    if (groups[index].right != kNone) groups.prefetch(groups[index].right);
}

// The filter slot of a subscription in a queue; kNone: it is not over the queue.
std::uint32_t Machine::filter_of(const Subscription& subscription, QueueId queue) const {
    const auto member = std::ranges::find(subscription.members, queue, &Membership::queue);
    return member == subscription.members.end() ? kNone : member->filter;
}

// The first ready group of the dirty classes, in the order of becoming ready.
std::uint32_t Machine::next_ready_group(Queue& queue, std::uint32_t& match_class) {
    std::uint32_t best = kNone;
    for (std::size_t i = 0; i < queue.dirty_classes.size();) {
        const std::uint32_t candidate_class = queue.dirty_classes[i];
        const std::uint32_t index = queue.classes[candidate_class].ready.first(groups);
        if (index == kNone) {
            queue.classes[candidate_class].dirty = false;
            queue.dirty_classes[i] = queue.dirty_classes.back();
            queue.dirty_classes.pop_back();
            continue;
        }
        if (best == kNone || GroupsByReadiness{groups}.less(index, best)) {
            best = index;
            match_class = candidate_class;
        }
        ++i;
    }
    return best;
}

// F10: the first held group, before `other`, whose holder can get more of it.
std::uint32_t Machine::next_sticky_group(Queue& queue, std::uint32_t other, std::uint32_t& filter) {
    std::uint32_t found = kNone;
    auto visit = [&](std::uint32_t index) {
        if (other != kNone && GroupsByReadiness{groups}.less(other, index)) return false;
        const Subscription& holder = subscriptions[groups[index].holder];
        filter = filter_of(holder, queue.id);
        if (!holder.room || filter == kNone) return true;
        if (!matches_slot(queue, states[next_of_group(queue, groups[index])], filter)) return true;
        found = index;
        return false;
    };
    if (queue.config.sticky) ReadyTree::for_each({groups}, queue.sticky_ready, visit);
    return found;
}

}  // namespace pinnace
