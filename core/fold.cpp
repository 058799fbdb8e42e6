// SPDX-License-Identifier: Apache-2.0
#include "core/fold.h"

#include <algorithm>

#include "core/hand_over.h"

namespace pinnace {

namespace {

std::unexpected<std::string> damage(const RecordHeader& header, std::string_view what) {
    return std::unexpected("record of kind " + std::to_string(header.kind) + " at position " +
                           std::to_string(header.position) + ": " + std::string(what));
}

RecordHeader make_header(RecordKind kind, std::uint32_t subject, Position position, Time time) {
    RecordHeader header;
    header.kind = static_cast<std::uint16_t>(kind);
    header.subject = subject;
    header.position = position;
    header.time = time;
    return header;
}

}  // namespace

Fold::Owned Fold::own(const RecordView& record) {
    return {record.header, HeadBytes(record.head.begin(), record.head.end())};
}

std::expected<void, std::string> Fold::note(const RecordView& record) {
    const RecordHeader& header = record.header;
    now_ = std::max(now_, header.time);
    switch (static_cast<RecordKind>(header.kind)) {
        case RecordKind::message:
        case RecordKind::kept: {
            if (header.publisher != kNone && !note_number(header.publisher, header.number))
                return damage(header, "its publisher is not defined");
            HeadReader in(record.head);
            in.varint();
            return note_entries(header, in, 0);
        }
        case RecordKind::move: {
            HeadReader in(record.head);
            MoveHead move;
            read_move(in, move);
            remove(header.subject, move.from, 1);
            return note_entries(header, in, move.origin);
        }
        case RecordKind::define_topic:
            if (header.subject >= kIdMax) return damage(header, "its id is out of range");
            topics_[header.subject] = own(record);
            return {};
        case RecordKind::define_queue: {
            const auto definition = read_queue_definition(record.head);
            if (!definition || header.subject >= kIdMax) return damage(header, "its head is malformed");
            Queue& queue = queues_[header.subject];
            queue.definition = own(record);
            queue.dedup_window = dedup_window_(definition->name);
            return {};
        }
        case RecordKind::define_publisher:
            if (header.subject >= kIdMax) return damage(header, "its id is out of range");
            publishers_[header.subject].definition = own(record);
            return {};
        case RecordKind::accepted:
            if (!note_number(header.subject, header.number))
                return damage(header, "its publisher is not defined");
            return {};
        case RecordKind::reserve:
            reserved_ = std::max(reserved_, header.position);
            return {};
        case RecordKind::session:
            if (header.flags == 0) {
                sessions_.erase(header.number);
            } else {
                sessions_[header.number] = own(record);
            }
            return {};
        case RecordKind::stop:
            sessions_.clear();
            next_position_ = std::max(next_position_, header.position);
            return {};
        case RecordKind::resume:
            if (header.subject == kNone) {
                next_position_ = std::max(next_position_, header.position);
                return {};
            }
            [[fallthrough]];
        case RecordKind::remove:
        case RecordKind::remove_runs:
        case RecordKind::counts:
        case RecordKind::hand_over:
        case RecordKind::defer:
        case RecordKind::purge: {
            const auto queue = queues_.find(header.subject);
            if (queue == queues_.end()) return damage(header, "its queue is not defined");
            return note_in_queue(queue->second, record);
        }
        default:
            return damage(header, "its kind is not known; was it written by a newer version?");
    }
}

bool Fold::note_number(PublisherId id, std::uint64_t number) {
    const auto publisher = publishers_.find(id);
    if (publisher == publishers_.end()) return false;
    publisher->second.highest = std::max(publisher->second.highest, number);
    return true;
}

std::expected<void, std::string> Fold::note_entries(const RecordHeader& header, HeadReader& in,
                                                    Position origin) {
    if (header.position < next_position_) return damage(header, "its position was given out before");
    next_position_ = header.position + 1;
    while (!in.at_end() && !in.failed()) {
        QueueEntry entry;
        read_entry(in, entry);
        if (origin != 0) moved_.push_back({origin, header.position, entry.queue});
        if (entry.ordinal == 0) continue;
        const auto queue = queues_.find(entry.queue);
        if (queue == queues_.end()) return damage(header, "its queue is not defined");
        queue->second.entered = std::max(queue->second.entered, entry.ordinal);
    }
    if (in.failed()) return damage(header, "its head is malformed");
    return {};
}

std::expected<void, std::string> Fold::note_in_queue(Queue& queue, const RecordView& record) {
    const RecordHeader& header = record.header;
    switch (static_cast<RecordKind>(header.kind)) {
        case RecordKind::remove:
            remove(header.subject, header.position, 1);
            return {};
        case RecordKind::remove_runs: {
            const bool good = decode_runs(
                record.head, header.position,
                [&](Position first, std::uint64_t count) { remove(header.subject, first, count); });
            if (!good) return damage(header, "its head is malformed");
            return {};
        }
        case RecordKind::counts:
            queue.counts[header.position] = header.number;
            return {};
        case RecordKind::defer:
            queue.deferred[header.position] = header.time;
            return {};
        case RecordKind::purge:
            remove(header.subject, 1, header.position);
            return {};
        case RecordKind::resume:
            queue.entered = std::max(queue.entered, header.number);
            return {};
        default:
            note_hand_over(queue, record);
            return {};
    }
}

void Fold::note_hand_over(Queue& queue, const RecordView& record) {
    const RecordHeader& header = record.header;
    if (header.number == 0) {
        queue.handings[header.position] = (header.flags & kHandOverBack) == 0;
        return;
    }
    if ((header.flags & kHandOverMore) == 0) {
        queue.hand_over.clear();
        // Whoever was taken back stays because the reservation says so, or not.
        std::erase_if(queue.handings, [](const auto& handing) { return !handing.second; });
    }
    queue.hand_over.push_back(own(record));
}

void Fold::remove(std::uint32_t id, Position first, std::uint64_t count) {
    const auto found = queues_.find(id);
    if (found == queues_.end()) return;
    Queue& queue = found->second;
    queue.removed.add(first, count);
    const auto in_range = [&](Position position) { return position - first < count; };
    if (count < queue.counts.size()) {
        for (Position position = first; position < first + count; ++position) queue.counts.erase(position);
    } else {
        std::erase_if(queue.counts, [&](const auto& item) { return in_range(item.first); });
    }
    const auto erase = [&](auto& map) { map.erase(map.lower_bound(first), map.lower_bound(first + count)); };
    erase(queue.deferred);
    erase(queue.handings);
}

void Fold::begin(FoldOutput& out) {
    for (const Moved& moved : moved_) {
        const auto queue = queues_.find(moved.queue);
        if (queue != queues_.end() && !queue->second.removed.contains(moved.position))
            origins_.push_back(moved.origin);
    }
    std::ranges::sort(origins_);
    for (const auto& [id, topic] : topics_) put(topic, out);
    for (const auto& [id, queue] : queues_) put(queue.definition, out);
    for (const auto& [id, publisher] : publishers_) {
        put(publisher.definition, out);
        if (publisher.highest == 0) continue;
        RecordHeader header = make_header(RecordKind::accepted, id, 0, now_);
        header.number = publisher.highest;
        out.record(header, {});
    }
    for (const auto& [key, session] : sessions_) put(session, out);
}

// Those that are left go to `out`, their queues to live_queues_. An id that was stored counts for its window
// even when its message is gone: the entry then says that it did not enter.
bool Fold::keep_entries(const RecordHeader& header, HeadReader& in, HeadBytes& out, std::uint64_t& count) {
    const bool kept_before = header.kind == static_cast<std::uint16_t>(RecordKind::kept);
    out.clear();
    live_queues_.clear();
    count = 0;
    while (!in.at_end() && !in.failed()) {
        QueueEntry entry;
        read_entry(in, entry);
        const auto found = queues_.find(entry.queue);
        if (found == queues_.end()) continue;
        const Queue& queue = found->second;
        const bool entered = !entry.duplicate && !entry.handed_over;
        const bool live = entered && !queue.removed.contains(header.position);
        const bool has_stored_id =
            entry.has_dedup && (!entry.duplicate || kept_before) && now_ - header.time < queue.dedup_window;
        if (!live && !has_stored_id) continue;
        if (!live) entry.duplicate = true;
        if (live) live_queues_.push_back(entry.queue);
        put_entry(out, entry);
        ++count;
    }
    return !live_queues_.empty();
}

bool Fold::keep(const RecordView& record, FoldOutput& out) {
    RecordHeader header = record.header;
    const auto kind = static_cast<RecordKind>(header.kind);
    HeadReader in(record.head);
    std::uint64_t count = 0;
    bool live = false;
    bool needed = false;
    head_.clear();
    if (kind == RecordKind::message || kind == RecordKind::kept) {
        in.varint();
        live = keep_entries(header, in, entries_, count);
        needed = live || std::ranges::binary_search(origins_, header.position);
        put_varint(head_, count);
        if (kind == RecordKind::message) header.number = record.body.size;
        header.kind = static_cast<std::uint16_t>(RecordKind::kept);
        header.publisher = kNone;
    } else if (kind == RecordKind::move) {
        MoveHead move;
        read_move(in, move);
        live = keep_entries(header, in, entries_, count);
        put_move(head_, move);
    }
    if (count == 0 && !needed) return false;
    head_.insert(head_.end(), entries_.begin(), entries_.end());
    header.flags = 0;
    header.head_size = static_cast<std::uint16_t>(head_.size());
    header.payload_size = header.payload_crc = 0;
    out.record(header, head_);
    if (live) put_counts(header, out);
    return needed;
}

void Fold::put_counts(const RecordHeader& header, FoldOutput& out) const {
    for (const std::uint32_t id : live_queues_) {
        const Queue& queue = queues_.at(id);
        if (queue.counts.empty()) continue;
        const auto found = queue.counts.find(header.position);
        if (found == queue.counts.end()) continue;
        RecordHeader counts = make_header(RecordKind::counts, id, header.position, header.time);
        counts.number = found->second;
        out.record(counts, {});
    }
}

// Behind the messages, since some of this speaks of them.
void Fold::end(FoldOutput& out) const {
    RecordHeader header = make_header(RecordKind::resume, kNone, next_position_, now_);
    out.record(header, {});
    if (reserved_ != 0) out.record(make_header(RecordKind::reserve, 0, reserved_, now_), {});
    for (const auto& [id, queue] : queues_) {
        if (queue.entered != 0) {
            header = make_header(RecordKind::resume, id, 0, now_);
            header.number = queue.entered;
            out.record(header, {});
        }
        for (const Owned& reservation : queue.hand_over) put(reservation, out);
        for (const auto& [position, handed] : queue.handings) {
            header = make_header(RecordKind::hand_over, id, position, now_);
            if (!handed) header.flags = kHandOverBack;
            out.record(header, {});
        }
        for (const auto& [position, time] : queue.deferred)
            out.record(make_header(RecordKind::defer, id, position, time), {});
    }
}

}  // namespace pinnace
