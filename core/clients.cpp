// SPDX-License-Identifier: Apache-2.0
// Machine: clients and subscriptions: coming, changing, ending (D4, D8, L2, L11, M3, R1, R2, T4).
#include <algorithm>

#include "core/name_pattern.h"
#include "core/steps.h"

namespace pinnace {

namespace {

constexpr std::uint64_t kLimitMax = 1u << 26;  // RoomTree's arithmetic is exact up to here

}  // namespace

ClientId Machine::open_client(std::uint32_t uid) {
    ClientId id = static_cast<ClientId>(clients.size());
    if (free_clients.empty()) {
        clients.emplace_back();
    } else {
        id = free_clients.back();
        free_clients.pop_back();
    }
    clients[id] = Client{.uid = uid, .open = true, .subscriptions = {}};
    return id;
}

void Machine::end_client(ClientId id, std::span<const Untaken> untaken) {
    Client& client = clients[id];
    const std::vector<std::uint32_t> slots = client.subscriptions;
    break_leases(slots, untaken);
    for (const std::uint32_t slot : slots) free_subscription(slot);
    client.open = false;
    free_clients.push_back(id);
    settle();
}

void Machine::set_ring_free(ClientId id, std::uint32_t entry_count) {
    Client& client = clients[id];
    client.ring_free = entry_count;
    if (client.ring_room == client.has_ring_room()) return;
    update_ring_room(client);
    for (const std::uint32_t slot : client.subscriptions)
        for (const Membership& member : subscriptions[slot].members)
            if (queues[member.queue]->barriers != kNone) mark_queue(*queues[member.queue]);
    settle();
}

std::expected<Subscribed, RequestError> Machine::subscribe(const SubscribeRequest& request) {
    std::vector<QueueId> over;
    std::vector<TopicId> over_topics;
    if (auto found = find_targets(request.target, over, over_topics); !found)
        return std::unexpected(found.error());
    if (auto good = check_filter(request.filter, over); !good) return std::unexpected(good.error());
    const std::uint32_t slot = new_subscription(request.client);
    if (slot == kNone) return std::unexpected(RequestError{Answer::bad_request, "too many subscriptions"});
    Subscription& subscription = subscriptions[slot];
    subscription.target = request.target;
    subscription.filter = request.filter;
    subscription.max_backlog = request.max_backlog;
    subscription.topics = over_topics;
    join(slot, over);
    const Subscribed result{slot, subscription.limit};
    settle();
    return result;
}

// kNone: there are too many.
std::uint32_t Machine::new_subscription(ClientId client) {
    std::uint32_t slot = static_cast<std::uint32_t>(subscriptions.size());
    if (free_subscriptions.empty()) {
        if (slot > kSlotMask) return kNone;
        subscriptions.emplace_back().holder_id = slot;
    } else {
        slot = free_subscriptions.back();
        free_subscriptions.pop_back();
        const std::uint32_t holder_id = subscriptions[slot].holder_id + (kSlotMask + 1);
        subscriptions[slot] = Subscription{};
        subscriptions[slot].holder_id = holder_id;
    }
    subscriptions[slot].client = client;
    subscriptions[slot].order = next_order++;
    clients[client].subscriptions.push_back(slot);
    return slot;
}

// R1: it keeps its place in the order, its leases and its outstanding count.
std::expected<Subscribed, RequestError> Machine::replace(const ReplaceRequest& request) {
    if (request.subscription >= subscriptions.size() || subscriptions[request.subscription].client == kNone)
        return std::unexpected(RequestError{Answer::bad_request, "there is no such subscription"});
    const std::uint32_t slot = request.subscription;
    const std::string target(request.target ? *request.target : subscriptions[slot].target);
    const std::string filter(request.filter ? *request.filter : subscriptions[slot].filter);
    std::vector<QueueId> over;
    std::vector<TopicId> over_topics;
    if (auto found = find_targets(target, over, over_topics); !found) return std::unexpected(found.error());
    if (auto good = check_filter(filter, over); !good) return std::unexpected(good.error());
    part(slot);
    Subscription& subscription = subscriptions[slot];
    subscription.target = target;
    subscription.filter = filter;
    subscription.topics = over_topics;
    if (request.max_backlog) subscription.max_backlog = *request.max_backlog;
    join(slot, over);
    const Subscribed result{slot, subscription.limit};
    settle();
    return result;
}

void Machine::unsubscribe(SubscriptionId id, std::span<const Untaken> untaken) {
    if (id >= subscriptions.size() || subscriptions[id].client == kNone) return;
    const std::uint32_t slots[] = {id};
    break_leases(slots, untaken);
    std::erase(clients[subscriptions[id].client].subscriptions, id);
    free_subscription(id);
    settle();
}

// L2: all leases at once, in order: queue by queue, by position.
void Machine::break_leases(std::span<const std::uint32_t> slots, std::span<const Untaken> untaken) {
    std::vector<Handle> untaken_handles;
    for (const Untaken& entry : untaken) {
        const Handle handle = find_lease(entry.queue, entry.position, entry.lease, entry.handle);
        if (handle != kNone) untaken_handles.push_back(handle);
    }
    std::ranges::sort(untaken_handles);
    std::vector<Handle> handles;
    for (const std::uint32_t slot : slots) {
        const Subscription& subscription = subscriptions[slot];
        for (Handle at = subscription.leases_head; at != kNone; at = states[at].link_b) handles.push_back(at);
        for (std::uint32_t group = subscription.groups_head; group != kNone; group = groups[group].held_next)
            for (Handle at = groups[group].head;
                 at != kNone && states[at].position <= groups[group].leased_until; at = states[at].link_b)
                if (is_leased(states[at].stage())) handles.push_back(at);
    }
    std::ranges::sort(handles, [&](Handle a, Handle b) {
        const QueueId queue_a = routes[states[a].route].queue;
        const QueueId queue_b = routes[states[b].route].queue;
        return queue_a != queue_b ? queue_a < queue_b : states[a].position < states[b].position;
    });
    breaking = true;
    for (const Handle handle : handles) {
        Queue& queue = queue_of(states[handle]);
        const bool handed = states[handle].stage() != Stage::handing && !states[handle].cold;
        if (!handed || std::ranges::binary_search(untaken_handles, handle)) {
            give_back_untaken(queue, handle);
        } else if (queue.at_most_once) {
            forget_outstanding(queue, handle);
        } else {
            give_back(queue, handle, false);
        }
        effects.part_may_end();
    }
    breaking = false;
}

void Machine::free_subscription(std::uint32_t slot) {
    part(slot);
    Subscription& subscription = subscriptions[slot];
    if (subscription.pull_filter != 0) {
        Queue& queue = *queues[subscription.pull_queue];
        --queue.filters[subscription.pull_filter].pulls;
        drop_filter_slot(queue, subscription.pull_filter);
    }
    subscription.client = kNone;
    free_subscriptions.push_back(slot);
}

// A queue's name; a pattern over queues, or if none matches over topics; or a topic (T4, D8, T10).
std::expected<void, RequestError> Machine::find_targets(std::string_view target, std::vector<QueueId>& over,
                                                        std::vector<TopicId>& over_topics) {
    if (const QueueId queue = find_queue(target); queue != kNone) {
        over.push_back(queue);
        return {};
    }
    if (is_pattern(target)) {
        const auto pattern = NamePattern::compile(target);
        if (!pattern)
            return std::unexpected(RequestError{
                Answer::bad_request, "the pattern " + std::string(target) + ": " + pattern.error()});
        for (const auto& queue : queues)
            if (pattern->matches(queue->config.name)) over.push_back(queue->id);
        for (TopicId topic = 0; over.empty() && topic < topics.size(); ++topic)
            if (pattern->matches(topics[topic].name)) over_topics.push_back(topic);
    } else if (const TopicId topic = resolve_topic(target); topic != kNone) {
        over_topics.push_back(topic);
    }
    if (over.empty() && over_topics.empty())
        return std::unexpected(
            RequestError{Answer::unknown_topic, "there is no queue or topic named " + std::string(target)});
    return {};
}

// D4.
std::uint64_t Machine::limit_of(std::uint64_t max_backlog, std::span<const QueueId> over) const {
    std::uint64_t limit = std::min({max_backlog, std::uint64_t{options.ring_entry_count}, kLimitMax});
    for (const QueueId id : over) limit = std::min(limit, queues[id]->config.max_per_subscription_backlog);
    return limit;
}

void Machine::join(std::uint32_t slot, std::span<const QueueId> over) {
    Subscription& subscription = subscriptions[slot];
    const auto earlier = [&](std::uint32_t other, std::uint64_t order) {
        return subscriptions[other].order < order;
    };
    subscription.limit = limit_of(subscription.max_backlog, over);
    subscription.room = false;
    subscription.weighted = false;
    subscription.topic_filter.reset();
    if (over.empty() && !subscription.filter.empty()) {
        const std::uint32_t type = evaluator.type(topics[subscription.topics.front()].message_type);
        if (auto compiled = evaluator.compile(subscription.filter, type, "filter", 0); compiled)
            subscription.topic_filter.emplace(std::move(*compiled));
    }
    for (const QueueId id : over) {
        Queue& queue = *queues[id];
        const std::uint32_t filter = filter_slot(queue, subscription.filter);
        if (queue.at_most_once && filter != 0) make_exact(queue);  // M1: not in order any more
        queue.filters[filter].members.insert(slot, subscription.order);
        const bool weighted = queue.config.fairness == Fairness::proportional;
        subscription.members.push_back({id, filter, &queue.filters[filter], 0, weighted});
        subscription.weighted = subscription.weighted || weighted;
        renew_places(queue, filter);
        auto& list = queue.subscriptions;
        list.insert(std::ranges::lower_bound(list, subscription.order, std::ranges::less{},
                                             [&](std::uint32_t other) { return subscriptions[other].order; }),
                    slot);
        mark_queue(queue);  // B3: a barrier may have waited for it
    }
    for (const TopicId topic : subscription.topics) {
        auto& list = topics[topic].subscriptions;
        auto at = list.begin();
        while (at != list.end() && earlier(*at, subscription.order)) ++at;
        list.insert(at, slot);
    }
    update_room(subscription);
    for (const QueueId id : over) after_readers_changed(*queues[id]);
}

// Takes a subscription out of its queues and topics; its leases stay.
void Machine::part(std::uint32_t slot) {
    Subscription& subscription = subscriptions[slot];
    for (const Membership& member : subscription.members) {
        Queue& queue = *queues[member.queue];
        queue.filters[member.filter].members.erase(member.place);
        renew_places(queue, member.filter);
        std::erase(queue.subscriptions, slot);
    }
    const std::vector<Membership> former = std::move(subscription.members);
    subscription.members.clear();
    for (const Membership& member : former) {
        drop_filter_slot(*queues[member.queue], member.filter);
        after_readers_changed(*queues[member.queue]);
    }
    for (const TopicId topic : subscription.topics) std::erase(topics[topic].subscriptions, slot);
    subscription.topics.clear();
    subscription.room = false;
}

// Each member knows its place in the tournament.
void Machine::renew_places(Queue& queue, std::uint32_t filter) {
    const auto& members = queue.filters[filter].members.members();
    for (std::uint32_t place = 0; place < members.size(); ++place)
        for (Membership& member : subscriptions[members[place].slot].members)
            if (member.queue == queue.id && member.filter == filter) member.place = place;
}

}  // namespace pinnace
