// SPDX-License-Identifier: Apache-2.0
// Machine: returns (D2, X2-X4, L11) and the one way out of a queue (X7); moves into other queues (A2).
#include <algorithm>

#include "core/steps.h"

namespace pinnace {

// Takes a message out of whatever its stage has it in.
void Machine::detach(Queue& queue, Handle handle) {
    MessageState& state = states[handle];
    switch (state.stage()) {
        case Stage::handing:
        case Stage::leased:
        case Stage::outstanding:
            unlease(queue, states[handle]);
            return;
        case Stage::fresh:
        case Stage::returned:
            take_available(queue, handle);
            break;
        case Stage::barrier:
            PositionTree::erase({states}, queue.barriers, handle);
            mark_all(queue);
            break;
        default:
            break;
    }
    if (state.timed) wheel.erase(states, handle);
}

// The reasons that apply to a message that is not leased (any more).
std::uint8_t Machine::spent(const Queue& queue, const MessageState& state) const {
    unsigned reasons = 0;
    if (now >= expiry_of(state)) reasons |= kTimeLimit;
    const QueueConfig& config = queue.config;
    if (config.max_cancels != 0 && cancels_of(state) >= config.max_cancels) reasons |= kMaxCancels;
    if (config.max_deliveries != 0 && state.deliveries >= config.max_deliveries) reasons |= kMaxDeliveries;
    return static_cast<std::uint8_t>(reasons);
}

void Machine::give_back(Queue& queue, Handle handle, bool cancelled) {
    MessageState& state = states[handle];
    unlease(queue, states[handle]);
    state.untaken = 0;
    if (cancelled && queue.config.max_cancels != 0) ++extra_of(state).cancels;
    state.set_stage(Stage::entering);  // nowhere, for the moment
    if (cancelled && queue.limits) record_counts(queue, state);
    if (queue.filters_change) evaluate_again(queue, handle);
    if (queue.fifo) return give_back_grouped(queue, handle);
    if (state.purged) return leave(queue, handle, 0);
    const std::uint8_t reasons = spent(queue, state);
    if (reasons != 0) return leave(queue, handle, reasons);
    place(queue, handle);
}

// L11, M3: as if it had not been delivered, unless that has happened too often.
void Machine::give_back_untaken(Queue& queue, Handle handle) {
    MessageState& state = states[handle];
    if (state.untaken >= kUntakenMax) {
        if (!queue.at_most_once) return give_back(queue, handle, false);
        return forget_outstanding(queue, handle);
    }
    const std::uint32_t untaken = state.untaken + 1;
    const bool recorded = queue.at_most_once && queue.exact;
    unlease(queue, states[handle]);
    state.untaken = untaken & 0xf;
    if (state.deliveries > 0) state.deliveries = (state.deliveries - 1) & kDeliveriesMax;
    state.holder = kNone;
    state.set_stage(Stage::entering);
    if (queue.limits) record_counts(queue, state);
    if (queue.filters_change) evaluate_again(queue, handle);
    if (queue.fifo) return give_back_grouped(queue, handle);
    if (state.purged) return leave(queue, handle, 0);
    if (recorded) record_single_hand_over(queue, state, true);
    const std::uint8_t reasons = spent(queue, state);
    if (reasons != 0) return leave(queue, handle, reasons);
    place(queue, handle);
}

// Puts an unleased message where it belongs now.
void Machine::place(Queue& queue, Handle handle) {
    MessageState& state = states[handle];
    if (queue.fifo) {
        state.set_stage(Stage::grouped);
        arm(state, handle);
        const std::uint32_t index = group_of(state);
        // A group is ready by its first message, whatever comes behind that.
        if (groups[index].head != handle && groups[index].ready_class < kStickyClass) return;
        return settle_group(queue, index);
    }
    if (state.barrier) {
        state.set_stage(Stage::barrier);
        PositionTree::insert({states}, queue.barriers, handle);
        mark_queue(queue);
    } else if (!is_due(state)) {
        state.set_stage(Stage::delayed);
    } else {
        make_available(queue, handle);
    }
    arm(state, handle);
}

// The timer of an unleased message: its expiry, or before that its due time.
void Machine::arm(MessageState& state, Handle handle) {
    const MessageExtra* extra = find_extra(state);
    if (extra == nullptr) return;
    const Time deadline = extra->due > now ? std::min(extra->due, extra->expiry) : extra->expiry;
    if (deadline != kNever) wheel.insert(states, handle, deadline);
}

void Machine::leave(Queue& queue, Handle handle, std::uint8_t reasons) {
    if (reasons == 0) return leave_processed(queue, handle, states[handle]);
    const MessageState& state = states[handle];
    const bool acts = !queue.actions.empty() && !state.purged && !recovering;
    char buffer[kGroupSizeMax];
    std::string group;
    if (acts && queue.fifo) group = GroupTable::id_of(groups[group_of(state)], group_texts, buffer);
    if (acts) render_actions(queue, state, reasons);
    const QueueId dead = find_queue(queue.config.dead_letter_queue);
    const bool moves = dead != kNone && !state.purged && !recovering;
    if (!moves || !move(queue, handle, *queues[dead], false, reasons)) {
        if (!recovering) record(RecordKind::remove, queue.journal_id, state.position, reasons);
    }
    if (acts) publish_rendered(group);
    if (!recovering) effects.expired({queue.id, state.position, reasons, body_of(state)});
    // All of it is told by now, since others of its group may leave with it.
    detach(queue, handle);
    forget(queue, handle, states[handle]);
    acts ? effects.part_ends() : effects.part_may_end();
}

// At most once: that it was handed over is durable already; this only lets a checkpoint forget it.
void Machine::forget_outstanding(Queue& queue, Handle handle) {
    MessageState& state = states[handle];
    record(RecordKind::remove, queue.journal_id, state.position, 0);
    unlease(queue, state);
    forget(queue, handle, state);
}

void Machine::record_counts(const Queue& queue, const MessageState& state) {
    RecordIndex index = 0;
    record_counts(queue, state, index);
}

// X6: deliveries in the lower half, cancels in the upper one.
void Machine::record_counts(const Queue& queue, const MessageState& state, RecordIndex& index) {
    const std::uint64_t cancels = cancels_of(state);
    index = record(RecordKind::counts, queue.journal_id, state.position, cancels << 32 | state.deliveries);
}

// The entry of a queue that the engine itself puts a message into; expressions see the body that was read.
// False: it has no group, and that is not made up for (`needs_group`).
bool Machine::plan_entry(const TopicRoute& route, std::string_view group, bool needs_group) {
    Queue& queue = *queues[route.queue];
    PlanItem& item = plan.emplace_back();
    item.queue = route.queue;
    item.route = route.route;
    item.match_class = queue.filter_count == 0 ? 0 : class_of_values(queue);
    item.entry.queue = queue.journal_id;
    if (queue.fifo) {
        item.entry.group = group;
        if (group.empty() && queue.group_key) item.entry.group = group_of_values(queue);
        if (!is_id(item.entry.group) && needs_group) return false;
        if (!is_id(item.entry.group)) item.entry.group = "_";
    }
    decide_times(queue, -1, -1, item.entry);
    decide_by_values(queue, item.entry);
    if (queue.at_most_once) give_ordinal(queue, false, item.entry);
    return true;
}

// The entries of a move; false: the one queue that it is for cannot take it (A4).
bool Machine::plan_move(Queue& to, const MessageState& old, std::string_view group, bool redrive) {
    plan.clear();
    const TopicId topic = to.publish_target;
    bool was_read = false;
    for (const TopicRoute& route : topics[topic].routes) {
        Queue& queue = *queues[route.queue];
        if (redrive && route.queue != to.id) continue;
        if (queue.evaluates && !was_read) read_queued(queue, old);
        was_read = was_read || queue.evaluates;
        // A2: the filter of the queue that it is for does not apply.
        if (route.queue != to.id && queue.filter && !evaluator.matches(*queue.filter)) continue;
        if (!plan_entry(route, group, redrive)) return false;
    }
    return true;
}

// A2: out of one queue and into others in one record; the caller takes it out. A redrive fills one queue
// only, a dead letter all over the topic that its queue publishes to.
bool Machine::move(Queue& from, Handle handle, Queue& to, bool redrive, std::uint8_t reasons) {
    const MessageState old = states[handle];
    char buffer[kGroupSizeMax];
    std::string_view group;
    if (from.fifo) group = GroupTable::id_of(groups[group_of(old)], group_texts, buffer);
    group_names.clear();
    if (!plan_move(to, old, group, redrive)) return false;
    const Position origin = body_position(old);
    const MoveHead move_head{.from = old.position,
                             .origin = origin,
                             .published = old.published,
                             .deliveries = old.deliveries,
                             .cancels = cancels_of(old),
                             .topic = topics[to.publish_target].journal_id,
                             .size = old.size,
                             .redrive = redrive};
    head.clear();
    put_move(head, move_head);
    for (const PlanItem& item : plan) put_entry(head, item.entry);
    const Position position = next_position++;
    const RecordIndex index = record(RecordKind::move, from.journal_id, position, reasons);
    head.clear();
    Incoming incoming{.position = position, .published = now, .origin = origin, .wait_for = index};
    incoming.body = {LogPosition{old.log}, old.size, nullptr};
    for (const PlanItem& item : plan) {
        incoming.route = item.route;
        incoming.match_class = item.match_class;
        enter(*queues[item.queue], item.entry, incoming);
    }
    keep_reserve();
    return true;
}

std::uint64_t Machine::gather(const Queue& queue, Slice& slice) {
    batch.clear();
    slice.done = true;
    std::uint64_t left = slice.count_max;
    queue.directory.for_each(blocks, [&](Handle handle) {
        const Position position = states[handle].position;
        if (position <= slice.after) return true;
        if (position > slice.until) return false;
        slice.done = left != 0;
        if (left == 0) return false;
        --left;
        batch.push_back(handle);
        return true;
    });
    if (!batch.empty()) slice.after = states[batch.back()].position;
    return left;
}

// A5: what is not leased goes; what is leased leaves when it would return. What lies beyond the depth goes
// first, so that it does not come in meanwhile.
std::uint64_t Machine::purge(QueueId id, Slice& slice) {
    Queue& queue = *queues[id];
    std::uint64_t count = purge_beyond(queue, slice.count_max);
    if (!queue.beyond.empty()) return settle(), count;
    Slice rest = slice;
    rest.count_max -= count;
    gather(queue, rest);
    slice.after = rest.after;
    slice.done = rest.done;
    const std::vector<Handle> found = batch;
    for (const Handle handle : found) {
        MessageState& state = states[handle];
        if (is_leased(state.stage())) {
            // It will not come back, whatever happens; so that holds from now on after a crash too.
            state.purged = 1;
            record(RecordKind::remove, queue.journal_id, state.position, 0);
        } else if (state.stage() != Stage::outstanding) {
            leave(queue, handle, 0);
            ++count;
        }
    }
    settle();
    return count;
}

// A4: dead letters go back into the one queue `to`, at its end, in order.
std::uint64_t Machine::redrive(QueueId from_id, QueueId to_id, Slice& slice) {
    Queue& from = *queues[from_id];
    gather(from, slice);
    const std::vector<Handle> found = batch;
    std::uint64_t count = 0;
    for (const Handle handle : found) {
        const Stage stage = states[handle].stage();
        if (is_leased(stage) || stage == Stage::outstanding) continue;
        if (!move(from, handle, *queues[to_id], true, 0)) continue;
        detach(from, handle);
        forget(from, handle, states[handle]);
        ++count;
    }
    settle();
    return count;
}

}  // namespace pinnace
