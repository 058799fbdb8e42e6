// SPDX-License-Identifier: Apache-2.0
// Machine: what a running engine can take over of a changed configuration: more topics and queues, and other
// limits. No message is lost or moved by it.
#include <algorithm>
#include <array>

#include "core/name_pattern.h"
#include "core/steps.h"

namespace pinnace {

std::expected<QueueId, Refusal> Machine::add_queue(const QueueConfig& config) {
    auto defined = define_queue(config);
    if (!defined) return defined;
    const std::size_t refused = refusals.size();
    if (!options.topics_must_be_covered) cover_topics(*queues[*defined]);
    check_topics(*queues[*defined]);
    PINNACE_CHECK(refusals.size() == refused);  // whoever asks has tried all of it on a core of its own
    for (TopicId topic = 0; topic < topics.size(); ++topic) {
        const auto& routes_of_topic = topics[topic].routes;
        if (std::ranges::find(routes_of_topic, *defined, &TopicRoute::queue) != routes_of_topic.end())
            continue;
        add_route(topic, *defined);
        topics[topic].quick_head.clear();
    }
    record_definitions();
    join_by_pattern(*defined);
    settle();
    return defined;
}

// D8: a subscription by a pattern over queues is to the new one too, in its place in the order. One with a
// filter that the queue cannot have stays as it was, and so does one over topics: it asked for no leases.
void Machine::join_by_pattern(QueueId added) {
    for (std::uint32_t slot = 0; slot < subscriptions.size(); ++slot) {
        const Subscription& subscription = subscriptions[slot];
        if (subscription.client == kNone || subscription.members.empty() || !is_pattern(subscription.target))
            continue;
        const auto pattern = NamePattern::compile(subscription.target);
        if (!pattern || !pattern->matches(queues[added]->config.name)) continue;
        std::vector<QueueId> over;
        for (const Membership& member : subscription.members) over.push_back(member.queue);
        over.push_back(added);
        if (!check_filter(subscription.filter, over)) continue;
        part(slot);
        join(slot, over);
    }
}

void Machine::change_limits(QueueId id, const QueueConfig& config) {
    Queue& queue = *queues[id];
    QueueConfig& to = queue.config;
    to.lease_period = config.lease_period;
    to.expiration = config.expiration;
    to.max_backlog = config.max_backlog;
    to.max_per_subscription_backlog = config.max_per_subscription_backlog;
    to.max_deliveries = config.max_deliveries;
    to.max_cancels = config.max_cancels;
    to.deferred_ack_expiration = config.deferred_ack_expiration;
    queue.limits = to.max_deliveries != 0 || to.max_cancels != 0;
    note_plain(queue);
    note_filters(queue);
    for (const std::uint32_t slot : queue.subscriptions) {
        Subscription& subscription = subscriptions[slot];
        std::vector<QueueId> over;
        for (const Membership& member : subscription.members) over.push_back(member.queue);
        subscription.limit = limit_of(subscription.max_backlog, over);
        update_room(subscription);
    }
    after_readers_changed(queue);
    mark_all(queue);
    mark_queue(queue);
    settle();
}

}  // namespace pinnace
