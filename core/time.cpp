// SPDX-License-Identifier: Apache-2.0
// Machine: what falls due (D9), and what waited for durable records (rules 11 and 12, M1).
#include <algorithm>
#include <tuple>

#include "core/steps.h"

namespace pinnace {

// Each instant by itself, in order of time; at one instant lease ends, then expirations, then delays, each
// queue by queue and by position; then the deliveries.
void Machine::advance(Time to) {
    while (wheel.next() <= to) {
        due.clear();
        const Time at = wheel.next();
        wheel.take_due(states, to, due);
        if (due.empty()) continue;
        now = std::max(now, at);
        sort_due();
        std::size_t kept = 0;
        for (std::size_t index = 0; index < due.size(); ++index) {
            const MessageState& state = states[due[index]];
            if (state.position != due_positions[index] || state.timed) continue;
            if (is_leased(state.stage())) {
                fall_due(due[index]);
            } else {
                due[kept++] = due[index];
            }
        }
        due.resize(kept);
        while (wheel.next() <= now) wheel.take_due(states, now, due);
        if (!due.empty()) sort_due();
        for (std::size_t index = 0; index < due.size(); ++index) {
            const MessageState& state = states[due[index]];
            if (state.position == due_positions[index] && !state.timed) fall_due(due[index]);
        }
        settle();
    }
    wheel.take_due(states, to, due);  // nothing is due; the wheel's time moves on
    now = std::max(now, to);
}

// In the order of D9. What one does may end the leases of others of its group, or make them leave, and the
// handle may be another message's by then: so their positions are kept.
void Machine::sort_due() {
    const auto key = [&](Handle handle) {
        const MessageState& state = states[handle];
        const int kind = is_leased(state.stage()) ? 0 : expiry_of(state) <= now ? 1 : 2;
        return std::tuple(kind, routes[state.route].queue, state.position);
    };
    std::ranges::sort(due, [&](Handle a, Handle b) { return key(a) < key(b); });
    due_positions.clear();
    for (const Handle handle : due) due_positions.push_back(states[handle].position);
}

void Machine::fall_due(Handle handle) {
    MessageState& state = states[handle];
    Queue& queue = queue_of(state);
    if (is_leased(state.stage())) {
        give_back(queue, handle, false);
    } else if (expiry_of(state) <= now) {
        leave(queue, handle, spent(queue, state));
    } else if (state.stage() == Stage::delayed) {
        place(queue, handle);
    } else if (state.stage() == Stage::grouped) {
        arm(state, handle);
        refresh_group(queue, group_of(state));
    } else {
        arm(state, handle);
        mark_queue(queue);  // a barrier is due
    }
}

void Machine::durable(RecordIndex index) {
    if (index <= durable_index) return;
    durable_index = index;
    if (reserve_record != 0 && reserve_record <= index) {
        reserved_durable = reserved;
        reserve_record = 0;
    }
    for (const auto& queue : queues) {
        if (queue->reserve_record == 0 || queue->reserve_record > index) continue;
        queue->reserved_durable = queue->reserved;
        queue->reserve_record = 0;
        mark_queue(*queue);
    }
    while (!entering.empty() && entering.front().index <= index) {
        const AwaitedRecord waiting = entering.front();
        entering.pop();
        MessageState& state = states[waiting.handle];
        if (state.position != waiting.position || state.stage() != Stage::entering) continue;
        if (state.timed) wheel.erase(states, waiting.handle);
        place(queue_of(state), waiting.handle);
    }
    show_awaited_publishes();
    while (!handing.empty() && handing.front().index <= index) {
        const AwaitedRecord waiting = handing.front();
        handing.pop();
        MessageState& state = states[waiting.handle];
        if (state.position != waiting.position || state.stage() != Stage::handing) continue;
        if (state.lease != waiting.lease) continue;
        Subscription& subscription = *holder_of(state);
        --clients[subscription.client].ring_reserved;
        --subscription.handing;
        hand(queue_of(state), waiting.handle, state, body_of(state));
    }
    settle();
}

}  // namespace pinnace
