// SPDX-License-Identifier: Apache-2.0
// Machine: applying records, the start and the stop (S1, rules 10 and 12).
#include <algorithm>
#include <tuple>

#include "core/hand_over.h"
#include "core/steps.h"

namespace pinnace {

namespace {

constexpr std::uint32_t kJournalIdMax = 1u << 24;  // more definitions than this are damage

using Applied = std::expected<void, std::string>;

Applied damage(const RecordHeader& header, std::string_view what) {
    return std::unexpected("record of kind " + std::to_string(header.kind) + " at position " +
                           std::to_string(header.position) + ": " + std::string(what));
}

void set_id(std::vector<std::uint32_t>& ids, std::uint32_t journal_id, std::uint32_t id) {
    if (journal_id >= ids.size()) ids.resize(journal_id + std::size_t{1}, kNone);
    ids[journal_id] = id;
}

std::uint32_t get_id(const std::vector<std::uint32_t>& ids, std::uint32_t journal_id) {
    return journal_id < ids.size() ? ids[journal_id] : kNone;
}

}  // namespace

std::expected<void, std::string> Machine::apply(const RecordView& view) {
    const RecordHeader& header = view.header;
    if (header.time < 0 || header.time == kNever) return damage(header, "its time is out of range");
    now = std::max(now, header.time);
    switch (static_cast<RecordKind>(header.kind)) {
        case RecordKind::message:
        case RecordKind::kept:
            return apply_message(view);
        case RecordKind::move:
            return apply_move(view);
        case RecordKind::remove:
        case RecordKind::remove_runs:
        case RecordKind::counts:
        case RecordKind::hand_over:
        case RecordKind::defer:
        case RecordKind::purge:
            return apply_to_queue(view);
        case RecordKind::define_topic:
        case RecordKind::define_queue:
        case RecordKind::define_publisher:
            return apply_definition(view);
        case RecordKind::reserve:
            reserved = std::max(reserved, header.position);
            return {};
        case RecordKind::resume:
            if (header.subject != kNone) return apply_to_queue(view);
            [[fallthrough]];
        case RecordKind::stop:
            next_position = std::max(next_position, header.position);
            return {};
        case RecordKind::session:
            return {};
        case RecordKind::accepted:
            if (!publishers.known(header.subject)) return damage(header, "its publisher is not defined");
            publishers.accepted(header.subject, header.number);
            return {};
        default:
            return damage(header, "its kind is not known; was it written by a newer version?");
    }
}

std::expected<void, std::string> Machine::apply_definition(const RecordView& view) {
    const RecordHeader& header = view.header;
    const std::uint32_t id = header.subject;
    if (id >= kJournalIdMax) return damage(header, "its id is out of range");
    if (header.kind == static_cast<std::uint16_t>(RecordKind::define_topic)) {
        const auto definition = read_topic_definition(view.head);
        if (!definition) return damage(header, "its head is malformed");
        TopicId topic = resolve_topic(definition->name);
        if (topic == kNone) topic = add_topic(definition->name, definition->message_type);
        set_id(topic_of_journal, id, topic);
        topics[topic].journal_id = id;
    } else if (header.kind == static_cast<std::uint16_t>(RecordKind::define_queue)) {
        const auto definition = read_queue_definition(view.head);
        if (!definition) return damage(header, "its head is malformed");
        const QueueId queue = find_queue(definition->name);
        set_id(queue_of_journal, id, queue);
        if (queue != kNone) queues[queue]->journal_id = id;
    } else {
        const auto name = read_publisher_name(view.head);
        if (!name || header.number > UINT32_MAX) return damage(header, "its head is malformed");
        const auto uid = static_cast<std::uint32_t>(header.number);
        if (!publishers.add(id, uid, *name) && publishers.find(uid, *name) != id)
            return damage(header, "its publisher is known by another id");
    }
    return {};
}

// The route of a message in a queue that its record names, whatever the configuration says now (S5).
std::uint32_t Machine::route_for(TopicId topic, QueueId queue) {
    for (const TopicRoute& route : topics[topic].routes)
        if (route.queue == queue) return route.route;
    for (std::uint32_t index = 0; index < routes.size(); ++index)
        if (routes[index].topic == topic && routes[index].queue == queue) return index;
    PINNACE_CHECK(routes.size() < kRouteCountMax);
    routes.push_back({topic, queue});
    return static_cast<std::uint32_t>(routes.size() - 1);
}

std::expected<void, std::string> Machine::apply_message(const RecordView& view) {
    const RecordHeader& header = view.header;
    const TopicId topic = get_id(topic_of_journal, header.subject);
    if (topic == kNone) return damage(header, "its topic is not defined");
    HeadReader in(view.head);
    Incoming incoming{.position = header.position, .published = header.time, .body = view.body};
    incoming.body.data = nullptr;
    if (header.kind == static_cast<std::uint16_t>(RecordKind::kept)) {
        if (header.number > UINT32_MAX) return damage(header, "its size is out of range");
        incoming.body.size = static_cast<std::uint32_t>(header.number);
    }
    entries.clear();
    const std::uint64_t count = in.varint();
    for (std::uint64_t index = 0; index < count && !in.failed(); ++index)
        read_entry(in, entries.emplace_back());
    if (!in.complete()) return damage(header, "its head is malformed");
    if (auto entered = apply_entries(header, topic, incoming); !entered) return entered;
    if (header.publisher != kNone) {
        if (!publishers.known(header.publisher)) return damage(header, "its publisher is not defined");
        publishers.accepted(header.publisher, header.number);
    }
    return {};
}

// The entries were all read before, so that a malformed head has no effect.
std::expected<void, std::string> Machine::apply_entries(const RecordHeader& header, TopicId topic,
                                                        Incoming incoming) {
    if (header.position < next_position) return damage(header, "its position was given out before");
    next_position = header.position + 1;
    for (const QueueEntry& entry : entries) {
        const QueueId id = get_id(queue_of_journal, entry.queue);
        if (id == kNone) continue;
        Queue& queue = *queues[id];
        queue.entered = std::max(queue.entered, entry.ordinal);
        if (entry.has_dedup && queue.config.dedup_window != 0) {
            queue.dedup.expire(header.time, queue.config.dedup_window);
            if (queue.dedup.find(entry.dedup) == nullptr)
                queue.dedup.add(entry.dedup, header.position, header.time);
        }
        if (queue.fifo && entry.group.empty()) return damage(header, "it has no group");
        if (entry.handed_over || entry.duplicate) continue;
        incoming.route = route_for(topic, id);
        enter(queue, entry, incoming);
    }
    return {};
}

std::expected<void, std::string> Machine::apply_move(const RecordView& view) {
    const RecordHeader& header = view.header;
    HeadReader in(view.head);
    MoveHead move_head;
    read_move(in, move_head);
    entries.clear();
    while (!in.at_end() && !in.failed()) read_entry(in, entries.emplace_back());
    if (in.failed()) return damage(header, "its head is malformed");
    const TopicId topic = get_id(topic_of_journal, move_head.topic);
    if (topic == kNone) return damage(header, "its topic is not defined");
    Incoming incoming{.position = header.position, .published = header.time, .origin = move_head.origin};
    incoming.body.size = move_head.size;
    const QueueId from = get_id(queue_of_journal, header.subject);
    const Handle handle = from == kNone ? kNone : find(*queues[from], move_head.from, kNone);
    if (handle != kNone) {
        incoming.body.log = LogPosition{states[handle].log};
        detach(*queues[from], handle);
        forget(*queues[from], handle, states[handle]);
        fill(*queues[from]);
    } else if (Beyond* beyond = from == kNone ? nullptr : find_beyond(*queues[from], move_head.from)) {
        beyond->removed = true;
    }
    return apply_entries(header, topic, incoming);
}

std::expected<void, std::string> Machine::apply_to_queue(const RecordView& view) {
    const RecordHeader& header = view.header;
    if (header.subject >= queue_of_journal.size()) return damage(header, "its queue is not defined");
    const QueueId id = queue_of_journal[header.subject];
    if (id == kNone) return {};  // a queue that is not configured any more
    Queue& queue = *queues[id];
    const auto remove = [&](Position position) {
        const Handle handle = find(queue, position, kNone);
        if (handle != kNone) {
            detach(queue, handle);
            forget(queue, handle, states[handle]);
            fill(queue);
        } else if (Beyond* beyond = find_beyond(queue, position)) {
            beyond->removed = true;
        }
    };
    switch (static_cast<RecordKind>(header.kind)) {
        case RecordKind::remove:
            remove(header.position);
            return {};
        case RecordKind::remove_runs: {
            bool in_range = true;
            const bool good =
                decode_runs(view.head, header.position, [&](Position first, std::uint64_t count) {
                    in_range = in_range && first + count <= next_position;
                    for (std::uint64_t i = 0; in_range && i < count; ++i) remove(first + i);
                });
            return good && in_range ? Applied{} : damage(header, "its head is malformed");
        }
        case RecordKind::counts: {
            const Handle handle = find(queue, header.position, kNone);
            if (handle != kNone) {
                set_counts(states[handle], header.number);
            } else if (Beyond* beyond = find_beyond(queue, header.position)) {
                beyond->counts = header.number;
            }
            return {};
        }
        case RecordKind::defer:
            queue.deferred[header.position] = header.time;
            return {};
        case RecordKind::purge:
            return apply_purge(queue, header.position);
        case RecordKind::resume:
            queue.entered = std::max(queue.entered, header.number);
            return {};
        default:
            return apply_hand_over(queue, view);
    }
}

// As in a counts record: deliveries in the lower half, cancels in the upper one.
void Machine::set_counts(MessageState& state, std::uint64_t counts) {
    state.deliveries = std::min(counts & UINT32_MAX, kDeliveriesMax) & kDeliveriesMax;
    if (const std::uint64_t cancels = counts >> 32; cancels != 0)
        extra_of(state).cancels = static_cast<std::uint32_t>(cancels);
}

std::expected<void, std::string> Machine::apply_hand_over(Queue& queue, const RecordView& view) {
    const RecordHeader& header = view.header;
    if (header.number == 0) {
        const Handle handle = find(queue, header.position, kNone);
        const bool handed_over = (header.flags & kHandOverBack) == 0;
        if (handle != kNone) {
            states[handle].handed_over = handed_over ? 1 : 0;
            if (!handed_over) queue.kept.push_back(header.position);
        } else if (Beyond* beyond = find_beyond(queue, header.position)) {
            beyond->handed_over = handed_over;
        }
        return {};
    }
    if ((header.flags & kHandOverMore) == 0) queue.kept.clear();
    queue.reserved = header.number;
    if (view.head.empty()) return {};
    bool in_range = true;
    const bool good = decode_runs(view.head, header.position, [&](Position first, std::uint64_t count) {
        in_range = in_range && first + count <= next_position;
        for (std::uint64_t i = 0; in_range && i < count; ++i) queue.kept.push_back(first + i);
    });
    return good && in_range ? Applied{} : damage(header, "its head is malformed");
}

std::expected<void, std::string> Machine::apply_purge(Queue& queue, Position up_to) {
    batch.clear();
    queue.directory.for_each(blocks, [&](Handle handle) {
        if (states[handle].position > up_to) return false;
        batch.push_back(handle);
        return true;
    });
    for (const Handle handle : batch) {
        detach(queue, handle);
        forget(queue, handle, states[handle]);
    }
    fill(queue);
    return {};
}

void Machine::recovered(Time at, bool clean) {
    recovering = false;
    if (!clean) next_position = std::max(next_position, reserved);
    reserved = 0;
    record_definitions();
    keep_reserve();
    for (const auto& queue : queues)
        if (queue->at_most_once) settle_recovered_hand_over(*queue, clean);
    for (const auto& queue : queues)
        if (!queue->beyond.empty()) mark_queue(*queue);
    leave_overdue(at, clean);
    for (const auto& queue : queues)
        if (queue->fifo) order_groups(*queue);
    settle();
}

// A lease that was open when the former life ended counts as a delivery (X6). They are broken at the start's
// instant, and what fell due meanwhile falls due then.
void Machine::leave_overdue(Time at, bool clean) {
    now = std::max(now, at);
    due.clear();
    for (const auto& queue : queues) {
        if (!queue->limits) continue;
        queue->directory.for_each(blocks, [&](Handle handle) {
            MessageState& state = states[handle];
            state.recovered = clean ? 0 : 1;
            if ((spent(*queue, state) & ~unsigned{kTimeLimit}) == 0) return true;
            if (state.timed) wheel.erase(states, handle);
            due.push_back(handle);
            return true;
        });
    }
    while (wheel.next() <= now) wheel.take_due(states, now, due);
    const auto key = [&](Handle handle) {
        const MessageState& state = states[handle];
        return std::tuple(spent(queue_of(state), state) == 0, routes[state.route].queue, state.position);
    };
    std::ranges::sort(due, [&](Handle a, Handle b) { return key(a) < key(b); });
    due_positions.clear();
    for (const Handle handle : due) due_positions.push_back(states[handle].position);
    for (std::size_t index = 0; index < due.size(); ++index) {
        const Handle handle = due[index];
        const MessageState& state = states[handle];
        if (state.position != due_positions[index] || state.timed) continue;
        Queue& queue = queue_of(state);
        const std::uint8_t reasons = spent(queue, state);
        if (reasons != 0) {
            leave(queue, handle, reasons);
        } else {
            fall_due(handle);
        }
    }
    advance(at);
}

// F2: after a restart groups are served by the position of their first messages. All of them are taken out
// first, so that each one is the newest when it comes in again.
void Machine::order_groups(Queue& queue) {
    const auto for_each_group = [&](auto&& visit) {
        queue.directory.for_each(blocks, [&](Handle handle) {
            const std::uint32_t group = group_of(states[handle]);
            if (groups[group].head == handle) visit(group);
            return true;
        });
    };
    for_each_group([&](std::uint32_t group) { remove_ready(queue, group); });
    for_each_group([&](std::uint32_t group) { refresh_group(queue, group); });
}

// Definitions that are new get the next free ids, in order of definition.
void Machine::record_definitions() {
    for (Topic& topic : topics) {
        if (topic.journal_id != kNone) continue;
        topic_of_journal.push_back(kNone);
        record_topic(topic, static_cast<std::uint32_t>(topic_of_journal.size() - 1));
    }
    for (const auto& queue : queues) {
        if (queue->journal_id != kNone) continue;
        queue->journal_id = static_cast<std::uint32_t>(queue_of_journal.size());
        queue_of_journal.push_back(queue->id);
        head.clear();
        put_queue_definition(head, {.name = queue->config.name,
                                    .recovery_point = queue->config.recovery_point,
                                    .at_most_once = queue->at_most_once,
                                    .fifo = queue->fifo});
        record(RecordKind::define_queue, queue->journal_id, 0, 0);
        head.clear();
    }
}

void Machine::stop() {
    for (const auto& queue : queues)
        if (queue->at_most_once && !queue->exact) record_exact_hand_over(*queue);
    record(RecordKind::stop, 0, next_position, 0);
}

PublisherId Machine::publisher(std::uint32_t uid, std::string_view name) {
    PublisherId id = publishers.find(uid, name);
    if (id != kNone) return id;
    id = publishers.next_id();
    publishers.add(id, uid, name);
    head.clear();
    put_publisher_name(head, name);
    record(RecordKind::define_publisher, id, 0, uid);
    head.clear();
    return id;
}

}  // namespace pinnace
