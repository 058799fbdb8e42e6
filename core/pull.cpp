// SPDX-License-Identifier: Apache-2.0
// Machine: pulls (PL1): up to N messages at once for a client that has no standing subscription.
#include <algorithm>

#include "core/steps.h"

namespace pinnace {

// The subscription that holds what is pulled: the one named, or one of the client's own for this queue and
// filter, which takes nothing by itself and is nobody's current subscription (B2, B3).
std::expected<std::uint32_t, RequestError> Machine::puller(const PullRequest& request, QueueId queue) {
    if (request.subscription != kNone) {
        const bool own = request.subscription < subscriptions.size() &&
                         subscriptions[request.subscription].client == request.client;
        if (own) return request.subscription;
        return std::unexpected(
            RequestError{Answer::bad_request, "there is no such subscription of this client"});
    }
    for (const std::uint32_t slot : clients[request.client].subscriptions) {
        const Subscription& subscription = subscriptions[slot];
        if (subscription.pulls && subscription.pull_queue == queue && subscription.filter == request.filter)
            return slot;
    }
    const QueueId over[] = {queue};
    if (auto good = check_filter(request.filter, over); !good) return std::unexpected(good.error());
    const std::uint32_t slot = new_subscription(request.client);
    if (slot == kNone) return std::unexpected(RequestError{Answer::bad_request, "too many subscriptions"});
    Subscription& subscription = subscriptions[slot];
    subscription.pulls = true;
    subscription.pull_queue = queue;
    subscription.filter = request.filter;
    if (!request.filter.empty()) {
        const std::uint32_t filter = filter_slot(*queues[queue], request.filter);
        ++queues[queue]->filters[filter].pulls;
        subscription.pull_filter = filter;
    }
    return slot;
}

std::expected<Pulled, RequestError> Machine::pull(const PullRequest& request) {
    const QueueId id = find_queue(request.queue);
    if (id == kNone)
        return std::unexpected(
            RequestError{Answer::unknown_topic, "there is no queue named " + std::string(request.queue)});
    const auto slot = puller(request, id);
    if (!slot) return std::unexpected(slot.error());
    Queue& queue = *queues[id];
    if (queue.at_most_once) make_exact(queue);
    std::uint32_t filter = filter_of(subscriptions[*slot], id);
    if (filter == kNone) filter = subscriptions[*slot].pull_filter;
    std::uint64_t most = request.count_max;
    const std::uint64_t per_subscription = queue.config.max_per_subscription_backlog;
    const std::uint64_t held = subscriptions[*slot].outstanding;
    most = std::min(most, per_subscription > held ? per_subscription - held : 0);
    Pulled result{*slot, 0};
    const auto may = [&] {
        return result.count < most && queue.leased < queue.config.max_backlog &&
               clients[request.client].has_ring_room();
    };
    if (queue.fifo && may()) {
        result.count = pull_groups(queue, *slot, filter, static_cast<std::uint32_t>(most));
    }
    while (!queue.fifo && may()) {
        const Handle handle = next_to_pull(queue, filter);
        if (handle == kNone) break;
        lease(queue, handle, *slot, true);
        ++result.count;
    }
    if (queue.at_most_once && !queue.beyond.empty()) mark_queue(queue);  // they have left
    settle();
    return result;
}

// The first available message that the filter matches, of all classes.
Handle Machine::next_to_pull(Queue& queue, std::uint32_t filter) {
    Handle best = kNone;
    LaneKey best_key{};
    const Handle barrier = PositionTree::first({states}, queue.barriers);
    for (const std::uint32_t index : queue.filters[filter].classes) {
        const MatchClass& match = queue.classes[index];
        const std::uint32_t lane =
            queue.config.priority.empty() ? match.lane : ActiveTree::first({{lanes}}, match.active);
        const Handle handle = lane == kNone ? kNone : lane_first(lanes[lane], states);
        if (handle == kNone) continue;
        if (barrier != kNone && states[barrier].position < states[handle].position) continue;
        const LaneKey key{lanes[lane].priority, lanes[lane].numbered};
        const int order = best == kNone ? -1 : compare_priority(key, best_key);
        if (order > 0 || (order == 0 && states[best].position < states[handle].position)) continue;
        best = handle;
        best_key = key;
    }
    return best;
}

std::uint32_t Machine::pull_groups(Queue& queue, std::uint32_t slot, std::uint32_t filter,
                                   std::uint32_t most) {
    std::uint32_t count = 0;
    while (count < most && queue.leased < queue.config.max_backlog) {
        std::uint32_t best = kNone;
        for (const std::uint32_t index : queue.filters[filter].classes) {
            const std::uint32_t group = queue.classes[index].ready.first(groups);
            if (group == kNone) continue;
            if (best == kNone || GroupsByReadiness{groups}.less(group, best)) best = group;
        }
        if (best == kNone) break;
        const std::uint32_t given = give_batch(queue, best, slot, filter, most - count, true);
        if (given == 0) break;
        count += given;
    }
    return count;
}

}  // namespace pinnace
