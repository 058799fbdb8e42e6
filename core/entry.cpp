// SPDX-License-Identifier: Apache-2.0
// Machine: the state of a message in one queue, its class and its lane.
#include <algorithm>

#include "core/steps.h"

namespace pinnace {

MessageExtra& Machine::extra_of(MessageState& state) {
    if (state.extra == kNone || state.group_only) {
        const std::uint32_t group = state.group_only ? state.extra : kNone;
        state.extra = extras.allocate();
        state.group_only = 0;
        extras[state.extra] = {.expiry = kNever, .due = 0, .origin = 0, .cancels = 0, .group = group};
    }
    return extras[state.extra];
}

// Makes the state of a message in one queue.
Handle Machine::enter(Queue& queue, const QueueEntry& entry, const Incoming& incoming, bool fills) {
    if (!fills && queue.config.target_queue_depth != UINT64_MAX && is_beyond(queue)) {
        keep_beyond(queue, entry, incoming);
        return kNone;
    }
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
    state.lane = lane_for(queue, incoming.match_class, LaneKey{entry.priority, entry.has_priority ? 1u : 0u});
    ++lanes[state.lane].refs;
    queue.directory.append(blocks, state, handle);
    state.barrier = entry.barrier ? 1 : 0;
    if (queue.fifo) join_group(queue, handle, entry.group);
    if (incoming.wait_for != 0 && !recovering) {
        state.set_stage(Stage::entering);
        entering.push({incoming.wait_for, handle, incoming.position, 0});
    } else {
        place(queue, handle);
    }
    return handle;
}

// The lane of a class for a priority.
std::uint32_t Machine::lane_for(Queue& queue, std::uint32_t match_class, LaneKey key) {
    MatchClass& match = queue.classes[match_class];
    const bool by_priority = !queue.config.priority.empty();
    if (!by_priority && match.lane != kNone) return match.lane;
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
    ++match.refs;
    if (!by_priority && match_class == 0) lane.refs = 1;  // it stays, since it is needed again at once
    if (by_priority) {
        LaneTree::insert({lanes}, match.lanes, index);
    } else {
        match.lane = index;
    }
    return index;
}

// Nothing has this lane any more.
void Machine::release_lane(Queue& queue, std::uint32_t index) {
    const Lane& lane = lanes[index];
    MatchClass& match = queue.classes[lane.match_class];
    const bool by_priority = !queue.config.priority.empty();
    if (by_priority) {
        LaneTree::erase({lanes}, match.lanes, index);
    } else {
        match.lane = kNone;
    }
    --match.refs;
    lanes.free(index);
}

// Moves a message that is in no list to another class.
void Machine::change_class(Queue& queue, MessageState& state, std::uint32_t match_class) {
    const std::uint32_t former = state.lane;
    if (lanes[former].match_class == match_class) return;
    state.lane = lane_for(queue, match_class, LaneKey{lanes[former].priority, lanes[former].numbered});
    ++lanes[state.lane].refs;
    if (--lanes[former].refs == 0) release_lane(queue, former);
}

}  // namespace pinnace
