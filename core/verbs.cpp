// SPDX-License-Identifier: Apache-2.0
// Machine: acknowledge, cancel, expire, renew by bookmark (L3-L10, M2), and deliveries of cold bodies (D12).
#include "core/steps.h"

namespace pinnace {

Answer Machine::verb(const VerbRequest& request) {
    if (request.queue >= queues.size()) return Answer::unknown;
    Queue& queue = *queues[request.queue];
    const Handle handle = find(queue, request.position, request.handle);
    if (queue.at_most_once) return verb_at_most_once(queue, handle, request.client);
    const bool needs_lease = request.verb == Verb::cancel || request.verb == Verb::renew;
    if (handle == kNone && request.verb == Verb::acknowledge && !queue.beyond.empty())
        return defer(queue, request.position);
    if (handle == kNone) return needs_lease ? Answer::stale : Answer::unknown;
    MessageState& state = states[handle];
    const bool leased = is_leased(state.stage());
    const bool holder = leased && holds(request.client, state);
    if (needs_lease) {
        if (!holder || request.lease == 0 || request.lease != lease_id(state.lease)) return Answer::stale;
        if (request.verb == Verb::renew) return renew(queue, handle, request.period);
        give_back(queue, handle, true);
        return Answer::ok;
    }
    if (request.verb != Verb::acknowledge && request.verb != Verb::expire) return Answer::bad_request;
    if (queue.fifo && (!holder || request.lease != lease_id(state.lease))) return Answer::stale;  // F11
    if (leased && !holder && queue.config.leasing == Leasing::strict) return Answer::not_owner;
    if (request.verb == Verb::acknowledge) {
        leave_processed(queue, handle, state);
    } else {
        leave(queue, handle, kForcedExpire);
    }
    return Answer::ok;
}

// M2: whatever the verb, it frees the caller's own place, once.
Answer Machine::verb_at_most_once(Queue& queue, Handle handle, ClientId client) {
    if (handle == kNone || states[handle].stage() != Stage::outstanding || !holds(client, states[handle]))
        return Answer::unknown;
    forget_outstanding(queue, handle);
    return Answer::ok;
}

Answer Machine::renew(Queue& queue, Handle handle, Duration period) {
    MessageState& state = states[handle];
    if (period < 0 || period >= kNever - now) return Answer::range;
    if (period != 0 && (find_extra(state) != nullptr || period != queue.config.lease_period))
        extra_of(state).due = period;
    if (period == 0) period = period_of(queue, state);
    if (state.cold || state.stage() == Stage::handing) return Answer::ok;  // it has not begun yet
    if (state.timed) wheel.erase(states, handle);
    if (period != kNever) wheel.insert(states, handle, now + period);
    return Answer::ok;
}

// The lease's latest period.
Duration Machine::period_of(const Queue& queue, const MessageState& state) const {
    const MessageExtra* extra = find_extra(state);
    return extra != nullptr && extra->due != 0 ? extra->due : queue.config.lease_period;
}

Handle Machine::find_lease(QueueId queue, Position position, LeaseId lease, Handle hint) const {
    if (queue >= queues.size() || lease == 0) return kNone;
    const Handle handle = find(*queues[queue], position, hint);
    if (handle == kNone || lease_id(states[handle].lease) != lease) return kNone;
    const Stage stage = states[handle].stage();
    return stage == Stage::leased || stage == Stage::outstanding ? handle : kNone;
}

std::optional<Time> Machine::visible(const Delivery& delivery, LogPosition log) {
    if (delivery.lease == 0) {
        const bool there = delivery.subscription < subscriptions.size() &&
                           subscriptions[delivery.subscription].client == delivery.client;
        return there ? std::optional(kNever) : std::nullopt;
    }
    const Handle handle = find_lease(delivery.queue, delivery.position, delivery.lease, delivery.handle);
    if (handle == kNone) return std::nullopt;
    MessageState& state = states[handle];
    state.log = log.bits;
    if (!state.cold) return state.timed ? state.when : kNever;  // read once more for the same holder
    state.cold = 0;
    const Queue& queue = queue_of(state);
    const Duration period = queue.at_most_once ? kNever : period_of(queue, state);
    if (period == kNever) return kNever;
    wheel.insert(states, handle, now + period);
    return state.when;
}

void Machine::unreadable(const Delivery& delivery) {
    const Handle handle = find_lease(delivery.queue, delivery.position, delivery.lease, delivery.handle);
    if (handle == kNone) return;
    Queue& queue = queue_of(states[handle]);
    if (queue.at_most_once) {
        forget_outstanding(queue, handle);
    } else {
        leave(queue, handle, 0);
    }
    settle();
}

std::optional<Delivery> Machine::current_delivery(const VerbRequest& request) const {
    const Handle handle = find_lease(request.queue, request.position, request.lease, request.handle);
    if (handle == kNone || !holds(request.client, states[handle])) return std::nullopt;
    const MessageState& state = states[handle];
    Delivery delivery = delivery_of(state, handle, body_of(state));
    delivery.deadline = state.timed ? state.when : kNever;
    return delivery;
}

}  // namespace pinnace
