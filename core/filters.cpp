// SPDX-License-Identifier: Apache-2.0
// Machine: the filters of subscriptions, and the classes of messages that they make (D11, D12).
//
// A filter is evaluated once for each message: when the message enters, or when the filter is new; those that
// ask for leases or the time also at each return. A slot whose last subscription went is not evaluated any
// more; its classes stay as they are until no message is in them, and then the slot is used again.
#include <algorithm>

#include "core/steps.h"

namespace pinnace {

std::expected<void, RequestError> Machine::check_filter(std::string_view filter,
                                                        std::span<const QueueId> over) {
    if (filter.empty()) return {};
    const std::uint32_t type = over.empty() ? evaluator.type("json") : queues[over.front()]->type;
    if (const auto compiled = evaluator.compile(filter, type, "filter", 0); !compiled)
        return std::unexpected(RequestError{Answer::bad_filter, compiled.error()});
    return {};
}

// The class that the body which was read belongs to.
std::uint32_t Machine::class_of_values(Queue& queue) {
    slots_scratch.clear();
    for (std::uint32_t slot = 1; slot < queue.filters.size(); ++slot) {
        const FilterSlot& filter = queue.filters[slot];
        if (filter.used && evaluator.matches(*filter.expression)) slots_scratch.push_back(slot);
    }
    return class_of_slots(queue, slots_scratch);
}

std::uint32_t Machine::class_of_slots(Queue& queue, const std::vector<std::uint32_t>& slots) {
    if (slots.empty()) return 0;
    const auto at = queue.class_of_slots.find(slots);
    if (at != queue.class_of_slots.end()) return at->second;
    std::uint32_t index = 1;
    while (index < queue.classes.size() && queue.classes[index].used) ++index;
    if (index == queue.classes.size()) queue.classes.emplace_back();
    queue.classes[index] = MatchClass{};
    queue.classes[index].slots = slots;
    queue.classes[index].used = true;
    queue.class_of_slots.emplace(slots, index);
    for (const std::uint32_t slot : slots) queue.filters[slot].classes.push_back(index);
    queue.filters[0].classes.push_back(index);
    return index;
}

// A class that no message is in goes; so does its name in the slots.
void Machine::drop_class(Queue& queue, std::uint32_t index) {
    MatchClass& match = queue.classes[index];
    queue.class_of_slots.erase(match.slots);
    for (const std::uint32_t slot : match.slots) std::erase(queue.filters[slot].classes, index);
    std::erase(queue.filters[0].classes, index);
    std::erase(queue.dirty_classes, index);
    match = MatchClass{};
}

// The slot of a filter; a new one is tried on all messages that are there (D12).
std::uint32_t Machine::filter_slot(Queue& queue, std::string_view text) {
    if (text.empty()) return 0;
    for (std::uint32_t slot = 1; slot < queue.filters.size(); ++slot)
        if (queue.filters[slot].used && queue.filters[slot].text == text) return slot;
    std::uint32_t slot = 1;
    for (; slot < queue.filters.size(); ++slot) {
        FilterSlot& free = queue.filters[slot];
        if (free.used) continue;
        const bool idle = std::ranges::all_of(
            free.classes, [&](std::uint32_t index) { return queue.classes[index].refs == 0; });
        if (!idle) continue;
        while (!free.classes.empty()) drop_class(queue, free.classes.back());
        break;
    }
    if (slot == queue.filters.size()) queue.filters.emplace_back();
    FilterSlot& filter = queue.filters[slot];
    auto compiled = evaluator.compile(text, queue.type, "filter", 0);
    PINNACE_CHECK(compiled.has_value());  // check_filter was asked before
    filter.expression.emplace(std::move(*compiled));
    filter.text = text;
    filter.used = true;
    filter.changes = filter.expression->changes_by_itself();
    ++queue.filter_count;
    note_filters(queue);
    scan(queue, slot);
    return slot;
}

void Machine::note_filters(Queue& queue) {
    queue.filters_change = false;
    for (const FilterSlot& filter : queue.filters)
        queue.filters_change = queue.filters_change || (filter.used && filter.changes);
    queue.quick = queue.plain && !queue.at_most_once && queue.filter_count == 0 &&
                  queue.config.deliver_after == DeliverAfter::sequenced &&
                  queue.config.target_queue_depth == UINT64_MAX;
    queue.evaluates =
        queue.filter || queue.priority || queue.barrier || queue.group_key || queue.filter_count != 0;
}

void Machine::drop_filter_slot(Queue& queue, std::uint32_t slot) {
    FilterSlot& filter = queue.filters[slot];
    if (slot == 0 || !filter.members.empty() || filter.pulls != 0) return;
    filter.used = false;
    --queue.filter_count;
    note_filters(queue);
}

// Reads a queued message's body for an expression that comes later than the message.
void Machine::read_queued(const Queue& queue, const MessageState& state) {
    BodyRef body = body_of(state);
    if (body.data == nullptr) body.data = effects.body(body_position(state), body);
    read_body(queue.type, routes[state.route].topic, body.data, body.size);
    evaluator.facts().lease_count = static_cast<std::uint32_t>(state.deliveries);
    evaluator.facts().was_leased = state.deliveries != 0;
    evaluator.facts().last_leased_ns = state.when;
}

// A new filter over what is there: each message that it matches moves to the class that has it too.
void Machine::scan(Queue& queue, std::uint32_t slot) {
    batch.clear();
    queue.directory.for_each(blocks, [&](Handle handle) {
        batch.push_back(handle);
        return true;
    });
    for (const Handle handle : batch) {
        read_queued(queue, states[handle]);
        if (!evaluator.matches(*queue.filters[slot].expression)) continue;
        slots_scratch = queue.classes[lanes[states[handle].lane].match_class].slots;
        slots_scratch.insert(std::ranges::lower_bound(slots_scratch, slot), slot);
        reclassify(queue, handle, class_of_slots(queue, slots_scratch));
    }
}

void Machine::reclassify(Queue& queue, Handle handle, std::uint32_t match_class) {
    MessageState& state = states[handle];
    if (lanes[state.lane].match_class == match_class) return;
    const bool available = is_available(state.stage());
    if (available) take_available(queue, handle);
    change_class(queue, state, match_class);
    if (available) make_available(queue, handle);
    if (queue.fifo) refresh_group(queue, group_of(state));
}

// A message comes back: filters that see its leases are evaluated anew.
void Machine::evaluate_again(Queue& queue, Handle handle) {
    const MessageState& state = states[handle];
    read_queued(queue, state);
    std::vector<std::uint32_t> slots;
    for (const std::uint32_t slot : queue.classes[lanes[state.lane].match_class].slots)
        if (queue.filters[slot].used && !queue.filters[slot].changes) slots.push_back(slot);
    for (std::uint32_t slot = 1; slot < queue.filters.size(); ++slot) {
        const FilterSlot& filter = queue.filters[slot];
        if (filter.used && filter.changes && evaluator.matches(*filter.expression)) slots.push_back(slot);
    }
    std::ranges::sort(slots);
    reclassify(queue, handle, class_of_slots(queue, slots));
}

// L4: the set is fixed before the first one; what is leased to others is skipped under strict (L5), and on a
// fifo queue all but the caller's own (F11).
std::expected<std::uint64_t, RequestError> Machine::verbs_where(const VerbWhereRequest& request,
                                                                Slice& slice) {
    if (request.queue >= queues.size())
        return std::unexpected(RequestError{Answer::unknown_topic, "there is no such queue"});
    if (request.verb != Verb::acknowledge && request.verb != Verb::expire)
        return std::unexpected(RequestError{Answer::bad_request, "only acknowledge and expire go by filter"});
    Queue& queue = *queues[request.queue];
    auto filter = evaluator.compile(request.filter, queue.type, "filter", 0);
    if (!filter) return std::unexpected(RequestError{Answer::bad_filter, filter.error()});
    gather(queue, slice);
    std::vector<Handle> found;
    for (const Handle handle : batch) {
        const MessageState& state = states[handle];
        const bool leased = is_leased(state.stage()) || state.stage() == Stage::outstanding;
        const bool own = leased && holds(request.client, state);
        if (queue.fifo || queue.at_most_once ? !own
                                             : leased && !own && queue.config.leasing == Leasing::strict)
            continue;
        read_queued(queue, state);
        if (evaluator.matches(*filter)) found.push_back(handle);
    }
    for (const Handle handle : found) {
        if (queue.at_most_once) {
            forget_outstanding(queue, handle);
        } else {
            leave(queue, handle,
                  request.verb == Verb::expire ? std::uint8_t{kForcedExpire} : std::uint8_t{0});
        }
    }
    settle();
    return found.size();
}

}  // namespace pinnace
