// SPDX-License-Identifier: Apache-2.0
// Lane: available messages of one queue that are alike to everybody (the same filters match them, the same
// priority), in order of position.
//
// 1. `fresh` is a doubly linked list in order; a message enters at either end. New ones come at the back, and
//    a returned one is often older than all, so that this is the ordinary way.
// 2. `returned` is a tree in order of position, for those whose place is in between.
// 3. The first message of a lane is the older of the two firsts.
// A state has its lane as long as it lives, leased or not; `refs` counts them.
#pragma once

#include <cstdint>

#include "core/message_state.h"
#include "core/ordered_tree.h"
#include "core/slab.h"
#include "core/types.h"

namespace pinnace {

struct Lane {
    std::uint64_t priority;
    std::uint32_t numbered;  // 0: below every number (P2)
    std::uint32_t match_class;
    std::uint32_t fresh_head, fresh_tail;
    std::uint32_t returned;  // root
    std::uint32_t refs;
    std::uint32_t left, right;                // of all lanes of the class, by priority
    std::uint32_t active_left, active_right;  // of those that have an available message

    bool empty() const { return fresh_head == kNone && returned == kNone; }
    std::uint32_t& slab_link() { return left; }
};
using LaneSlab = Slab<Lane, 10>;

struct LaneKey {
    std::uint64_t priority;
    std::uint32_t numbered;
};
// Below 0: `a` is delivered before `b` (P1, P2).
inline int compare_priority(const LaneKey& a, const LaneKey& b) {
    if (a.numbered != b.numbered) return a.numbered > b.numbered ? -1 : 1;
    if (a.numbered == 0 || a.priority == b.priority) return 0;
    return a.priority > b.priority ? -1 : 1;
}

// All lanes of a class, and those of them that have an available message.
struct LanesByPriority {
    LaneSlab& lanes;
    std::uint32_t& left(std::uint32_t i) const { return lanes[i].left; }
    std::uint32_t& right(std::uint32_t i) const { return lanes[i].right; }
    LaneKey key(std::uint32_t i) const { return {lanes[i].priority, lanes[i].numbered}; }
    bool less(std::uint32_t a, std::uint32_t b) const { return compare_priority(key(a), key(b)) < 0; }
    std::uint32_t weight(std::uint32_t i) const { return tree_weight(lanes[i].priority); }
};
struct ActiveLanes : LanesByPriority {
    std::uint32_t& left(std::uint32_t i) const { return lanes[i].active_left; }
    std::uint32_t& right(std::uint32_t i) const { return lanes[i].active_right; }
};
using LaneTree = OrderedTree<LanesByPriority>;
using ActiveTree = OrderedTree<ActiveLanes>;

struct ByPosition {
    StateSlab& states;
    std::uint32_t& left(std::uint32_t i) const { return states[i].link_a; }
    std::uint32_t& right(std::uint32_t i) const { return states[i].link_b; }
    bool less(std::uint32_t a, std::uint32_t b) const { return states[a].position < states[b].position; }
    std::uint32_t weight(std::uint32_t i) const { return tree_weight(states[i].position); }
};
using PositionTree = OrderedTree<ByPosition>;

// The newest message of all.
inline void lane_append(Lane& lane, StateSlab& states, std::uint32_t handle) {
    MessageState& state = states[handle];
    state.set_stage(Stage::fresh);
    state.link_a = lane.fresh_tail;
    state.link_b = kNone;
    (lane.fresh_tail == kNone ? lane.fresh_head : states[lane.fresh_tail].link_b) = handle;
    lane.fresh_tail = handle;
}

inline void lane_insert(Lane& lane, StateSlab& states, std::uint32_t handle) {
    MessageState& state = states[handle];
    if (lane.fresh_head == kNone || states[lane.fresh_tail].position < state.position) {
        lane_append(lane, states, handle);
    } else if (state.position < states[lane.fresh_head].position) {
        state.set_stage(Stage::fresh);
        state.link_a = kNone;
        state.link_b = lane.fresh_head;
        states[lane.fresh_head].link_a = handle;
        lane.fresh_head = handle;
    } else {
        state.set_stage(Stage::returned);
        PositionTree::insert({states}, lane.returned, handle);
    }
}

inline void lane_erase(Lane& lane, StateSlab& states, std::uint32_t handle) {
    MessageState& state = states[handle];
    if (state.stage() == Stage::returned) {
        PositionTree::erase({states}, lane.returned, handle);
        return;
    }
    (state.link_a == kNone ? lane.fresh_head : states[state.link_a].link_b) = state.link_b;
    if (state.link_b == kNone) {
        lane.fresh_tail = state.link_a;
        return;
    }
    states[state.link_b].link_a = state.link_a;
    states.prefetch(state.link_b);  // probably the next one to go
}

// The oldest one, or kNone.
inline std::uint32_t lane_first(const Lane& lane, StateSlab& states) {
    if (lane.returned == kNone) return lane.fresh_head;
    const std::uint32_t returned = PositionTree::first({states}, lane.returned);
    if (lane.fresh_head == kNone) return returned;
    return states[returned].position < states[lane.fresh_head].position ? returned : lane.fresh_head;
}

// In order, until `visit` says false.
template <class Visit>
bool lane_for_each(const Lane& lane, StateSlab& states, Visit&& visit) {
    std::uint32_t fresh = lane.fresh_head;
    const auto merge = [&](std::uint32_t returned) {
        for (; fresh != kNone && states[fresh].position < states[returned].position;
             fresh = states[fresh].link_b)
            if (!visit(fresh)) return false;
        return visit(returned);
    };
    if (!PositionTree::for_each({states}, lane.returned, merge)) return false;
    for (; fresh != kNone; fresh = states[fresh].link_b)
        if (!visit(fresh)) return false;
    return true;
}

}  // namespace pinnace
