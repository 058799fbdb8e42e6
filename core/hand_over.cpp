// SPDX-License-Identifier: Apache-2.0
// Machine: at-most-once queues (M1): what may have been handed over is never handed over again.
//
// Two ways. In order: a record reserves ordinals ahead, as much as the subscriptions have room; a delivery
// needs a durable reservation, and after a crash all that was reserved counts as handed over. Exact (filters,
// Priority, Delay): each hand-over has its own record, durable before the delivery.
// A record with number 0 speaks of one message; kBack takes that back. Others replace the reservation; the
// positions in the head stay although their ordinals are below it; kMore adds to those of the record before.
#include <algorithm>

#include "core/hand_over.h"
#include "core/steps.h"

namespace pinnace {

namespace {

constexpr std::size_t kKeptCountMax = 4096;  // of one record, so that its head stays small

}  // namespace

void Machine::give_ordinal(Queue& queue, bool resend, QueueEntry& entry) {
    if (entry.due != 0) make_exact(queue);
    if (resend && queue.resend_next <= queue.resend_reserved) {
        entry.ordinal = queue.resend_next++;
        entry.handed_over = true;
    } else {
        entry.ordinal = ++queue.entered;
    }
}

bool Machine::may_hand_over(Queue& queue, const MessageState& state) {
    if (queue.exact) return true;
    // All that entered before it are gone, or came back: it is the next to be handed over.
    if (!state.handed_over) queue.handed = std::max<std::uint64_t>(queue.handed, state.lease - 1);
    return (state.handed_over ? queue.handed : state.lease) <= queue.reserved_durable;
}

// Reserves ahead, in one record; again when half of it is used.
void Machine::keep_hand_over(Queue& queue) {
    if (queue.exact || queue.room_total == 0 || queue.reserve_record != 0) return;
    if (queue.reserved_durable != 0 && queue.reserved >= queue.handed + (queue.room_total + 1) / 2) return;
    queue.reserved = queue.handed + queue.room_total;
    queue.reserve_record = record(RecordKind::hand_over, queue.journal_id, 0, queue.reserved);
}

// The exact number, and those that came back untaken: for an orderly stop, and for a queue that nobody reads,
// since nothing of it may get lost. Whoever reads next reserves anew.
void Machine::record_exact_hand_over(Queue& queue) {
    if (queue.handed == 0 && queue.reserved == 0) return;
    // A record with 0 would speak of one message: if none was handed over, the first one is kept.
    queue.handed = std::max<std::uint64_t>(queue.handed, 1);
    queue.entered = std::max(queue.entered, queue.handed);
    std::vector<Position> kept;
    queue.directory.for_each(blocks, [&](Handle handle) {
        const MessageState& state = states[handle];
        const bool below = state.handed_over || state.lease <= queue.handed;
        if (below && state.stage() != Stage::outstanding && state.stage() != Stage::handing)
            kept.push_back(state.position);
        return true;
    });
    std::uint16_t flags = 0;
    std::span<const Position> rest(kept);
    do {
        const auto part = rest.first(std::min(rest.size(), kKeptCountMax));
        rest = rest.subspan(part.size());
        head.clear();
        encode_runs(part, head);
        record(RecordKind::hand_over, queue.journal_id, part.empty() ? 0 : part.front(), queue.handed, flags);
        flags = kHandOverMore;
    } while (!rest.empty());
    head.clear();
    queue.reserved = queue.handed;
    queue.reserved_durable = 0;
    queue.reserve_record = 0;
}

RecordIndex Machine::record_single_hand_over(const Queue& queue, const MessageState& state, bool back) {
    return record(RecordKind::hand_over, queue.journal_id, state.position, 0,
                  back ? std::uint16_t{kHandOverBack} : std::uint16_t{0});
}

// From now on each hand-over has its own record.
void Machine::make_exact(Queue& queue) {
    if (queue.exact) return;
    queue.exact = true;
    if (!recovering) record_exact_hand_over(queue);
}

void Machine::after_readers_changed(Queue& queue) {
    queue.room_total = 0;
    for (const std::uint32_t slot : queue.subscriptions)
        queue.room_total += std::min<std::uint64_t>(subscriptions[slot].limit, UINT32_MAX);
    if (!queue.at_most_once) return;
    if (queue.room_total == 0 && !queue.exact) record_exact_hand_over(queue);
    mark_queue(queue);
}

// What counts as handed over leaves: that follows from the records that are there, its own are for
// checkpoints.
void Machine::settle_recovered_hand_over(Queue& queue, bool clean) {
    std::ranges::sort(queue.kept);
    // Again, since others come in from beyond the depth.
    recovering = true;
    due_positions.clear();
    do {
        batch.clear();
        queue.directory.for_each(blocks, [&](Handle handle) {
            const MessageState& state = states[handle];
            const bool below = state.lease <= queue.reserved;
            const bool kept = std::ranges::binary_search(queue.kept, state.position);
            if (state.handed_over || (below && !kept)) batch.push_back(handle);
            return true;
        });
        for (const Handle handle : batch) {
            due_positions.push_back(states[handle].position);
            detach(queue, handle);
            forget(queue, handle, states[handle]);
        }
        fill(queue);
    } while (!batch.empty());
    recovering = false;
    for (const Position position : due_positions) record(RecordKind::remove, queue.journal_id, position, 0);
    queue.directory.for_each(blocks, [&](Handle handle) {
        if (states[handle].lease <= queue.reserved) states[handle].handed_over = 1;
        return true;
    });
    queue.resend_next = queue.entered + 1;
    queue.resend_reserved = clean ? 0 : queue.reserved;
    queue.entered = std::max(queue.entered, queue.reserved);
    queue.handed = queue.reserved;
    queue.kept.clear();
    record_exact_hand_over(queue);
}

}  // namespace pinnace
