// SPDX-License-Identifier: Apache-2.0
// Machine: TargetQueueDepth (TD1): what lies beyond it, and acknowledgments that wait for it (L8).
//
// Beyond the depth a message is not deliverable, in no query, and found by no filter; it comes in, in order,
// as others leave. Its decisions are kept in a list of the queue; the body is not.
#include <algorithm>

#include "core/steps.h"

namespace pinnace {

namespace {

constexpr std::size_t kDeferredCountMax = 65'536;  // of one queue

}  // namespace

bool Machine::is_beyond(const Queue& queue) const {
    return !queue.beyond.empty() || queue.depth() >= queue.config.target_queue_depth;
}

void Machine::keep_beyond(Queue& queue, const QueueEntry& entry, const Incoming& incoming) {
    Beyond& item = queue.beyond.emplace_back();
    item.entry = entry;
    item.group = entry.group;
    item.position = incoming.position;
    item.published = incoming.published;
    item.log = incoming.body.log.bits;
    item.size = incoming.body.size;
    item.route = incoming.route;
    item.origin = incoming.origin;
}

// The one at a position, null if it is not beyond.
Beyond* Machine::find_beyond(Queue& queue, Position position) {
    const auto at = std::ranges::lower_bound(queue.beyond, position, {}, &Beyond::position);
    return at == queue.beyond.end() || at->position != position || at->removed ? nullptr : &*at;
}

// As long as there is place, the next ones come in; in recovery too, so that records find them as they were.
void Machine::fill(Queue& queue) {
    while (!queue.beyond.empty() && queue.depth() < queue.config.target_queue_depth) {
        const Beyond item = std::move(queue.beyond.front());
        queue.beyond.pop_front();
        if (item.removed) continue;
        const auto deferred = queue.deferred.find(item.position);
        const bool acknowledged =
            deferred != queue.deferred.end() && now - deferred->second < queue.config.deferred_ack_expiration;
        if (deferred != queue.deferred.end()) queue.deferred.erase(deferred);
        if (acknowledged) {
            if (!recovering) record(RecordKind::remove, queue.journal_id, item.position, 0);
            continue;
        }
        Incoming incoming{.position = item.position, .published = item.published, .origin = item.origin};
        incoming.body = {LogPosition{item.log}, item.size, nullptr};
        incoming.route = item.route;
        QueueEntry entry = item.entry;
        entry.group = item.group;
        if (queue.filter_count != 0) {
            BodyRef body = incoming.body;
            body.data = effects.body(item.origin != 0 ? item.origin : item.position, body);
            read_body(queue.type, routes[item.route].topic, body.data, body.size);
            incoming.match_class = class_of_values(queue);
        }
        const Handle handle = enter(queue, entry, incoming, true);
        if (item.handed_over) states[handle].handed_over = 1;
        if (item.counts != 0) set_counts(states[handle], item.counts);
        // While records are applied, one that says so follows.
        if (!recovering && expiry_of(states[handle]) <= now) leave(queue, handle, kTimeLimit);
    }
}

// L8: kept until the message would enter, or DeferredAckExpiration is over; the same again starts anew.
Answer Machine::defer(Queue& queue, Position position) {
    if (find_beyond(queue, position) == nullptr) return Answer::unknown;
    if (queue.deferred.size() >= kDeferredCountMax && !queue.deferred.contains(position))
        return Answer::unknown;
    queue.deferred[position] = now;
    record(RecordKind::defer, queue.journal_id, position, 0);
    return Answer::deferred;
}

std::uint64_t Machine::purge_beyond(Queue& queue, std::uint64_t count_max) {
    std::uint64_t count = 0;
    while (!queue.beyond.empty() && count < count_max) {
        if (!queue.beyond.front().removed) {
            record(RecordKind::remove, queue.journal_id, queue.beyond.front().position, 0);
            ++count;
        }
        queue.beyond.pop_front();
    }
    if (queue.beyond.empty()) queue.deferred.clear();
    return count;
}

}  // namespace pinnace
