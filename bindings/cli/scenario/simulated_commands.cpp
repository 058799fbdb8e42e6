// SPDX-License-Identifier: Apache-2.0
// SimulatedWorld: publishes, verbs and questions.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "bindings/cli/scenario/reasons.h"
#include "bindings/cli/scenario/simulated_world.h"
#include "core/query_filter.h"

namespace pinnace::scenario {
std::vector<PublishMessage> SimulatedWorld::messages_of(const Publish& command) {
    std::vector<PublishMessage> messages;
    const QueueId to_queue = core_->find_queue(command.topic);
    const TopicId topic =
        to_queue == kNone ? core_->resolve_topic(command.topic) : core_->publish_target(to_queue);
    for (const NewMessage& from : command.messages) {
        const LogPosition log = keep_body(std::as_bytes(std::span(from.body)));
        const auto* data = reinterpret_cast<const std::byte*>(from.body.data());
        PublishMessage message;
        message.topic = topic;
        message.body = {log, static_cast<std::uint32_t>(from.body.size()), data};
        message.expiration = from.expiration.value_or(-1);
        message.delay = from.delay.value_or(-1);
        if (from.group) message.group = *from.group;
        if (from.dedup) message.dedup = *from.dedup;
        messages.push_back(message);
    }
    return messages;
}

Outcome<std::vector<Published>> SimulatedWorld::publish(const Publish& command) {
    const std::vector<PublishMessage> messages = messages_of(command);
    PublishRequest request;
    request.messages = messages;
    // As the client library: only a queue that deduplicates need know that it was named.
    if (core_->deduplicates(core_->find_queue(command.topic))) request.to_queue = command.topic;
    if (!command.from.empty()) {
        request.publisher = core_->publisher(uid({}), command.from);
        request.number = command.number;
        request.previous = kNoPrevious;
    }
    std::vector<PublishResult> results(messages.size());
    core_->publish(request, results);
    if (auto settled = settle(); !settled) return std::unexpected(settled.error());
    std::vector<Published> published;
    for (const PublishResult& result : results) {
        if (result.answer != Answer::ok && result.answer != Answer::duplicate) {
            return refused(std::string(to_text(result.answer)));
        }
        published.push_back({result.answer == Answer::duplicate, id_of(result.position)});
    }
    return published;
}

Outcome<QueueId> SimulatedWorld::queue(std::string_view name) const {
    const QueueId id = core_->find_queue(name);
    if (id == kNone) return refused(fmt::format("unknown_topic: no queue is named `{}`", name));
    return id;
}

// The queue of a verb whose subscription never had the message: the one that it subscribed to or, if that
// is a pattern, the one that delivered the message to somebody.
Outcome<QueueId> SimulatedWorld::queue_for_verb(const std::string& name, MessageId id) const {
    const auto subscription = subscriptions_.find(name);
    if (subscription == subscriptions_.end())
        return refused(fmt::format("no subscription is named `{}`", name));
    const QueueId by_name = core_->find_queue(subscription->second.target);
    if (by_name != kNone) return by_name;
    const auto last = last_queue_of_.find(id);
    if (last != last_queue_of_.end()) return last->second;
    return refused(fmt::format("`{}` has subscribed to several queues: which one is meant?", name));
}

Outcome<std::vector<Answer>> SimulatedWorld::verbs(const Verbs& command,
                                                   std::span<const VerbTarget> targets) {
    const ClientId caller = client_of(command.name);
    std::vector<VerbRequest> requests;
    for (const VerbTarget& target : targets) {
        VerbRequest request;
        request.verb = command.verb;
        request.client = caller;
        request.period = command.period;
        if (target.tag) {
            request.queue = target.tag->queue;
            request.position = target.tag->position;
            request.lease = target.tag->lease;
            request.handle = target.tag->handle;
        } else {
            const auto queue = queue_for_verb(command.name, target.id);
            if (!queue) return std::unexpected(queue.error());
            const auto moved = moved_to_.find({std::string(core_->queue_name(*queue)), target.id});
            request.queue = *queue;
            request.position = moved == moved_to_.end() ? target.id : moved->second;
        }
        requests.push_back(request);
    }
    std::vector<Answer> answers(requests.size());
    core_->verbs(requests, answers);
    if (auto settled = settle(); !settled) return std::unexpected(settled.error());
    return answers;
}

Outcome<std::vector<Received>> SimulatedWorld::query(const Query& command) {
    const auto id = queue(command.target);
    if (!id) return std::unexpected(id.error());
    auto filter = std::optional<std::expected<QueryFilter, std::string>>();
    if (command.where) filter.emplace(QueryFilter::compile(*core_, *id, *command.where));
    if (filter && !*filter) return refused(fmt::format("bad_filter: {}", filter->error()));
    std::vector<Received> messages;
    core_->query(*id, [&](const QueuedMessage& message) {
        const auto body = body_of(message);
        const auto size = static_cast<std::uint32_t>(body.size());
        if (filter && !(*filter)->matches(*core_, message.topic, body.data(), size)) return true;
        messages.push_back({.id = id_of(message.position),
                            .count = 0,
                            .body = {reinterpret_cast<const char*>(body.data()), body.size()},
                            .is_row = false,
                            .tag = {*id, message.position, 0, kNone}});
        return true;
    });
    return messages;
}

Outcome<QueueStatus> SimulatedWorld::status(std::string_view name) {
    const auto id = queue(name);
    if (!id) return std::unexpected(id.error());
    return core_->status(*id);
}

Outcome<std::vector<ExpiredMessage>> SimulatedWorld::expired(std::string_view name) {
    const auto id = queue(name);
    if (!id) return std::unexpected(id.error());
    std::vector<ExpiredMessage> messages;
    for (const Expired& event : std::exchange(expired_[*id], {})) {
        messages.push_back({id_of(event.position), reasons_in_words(event.reasons)});
    }
    return messages;
}

Outcome<std::uint64_t> SimulatedWorld::acknowledge_where(const AcknowledgeWhere& command) {
    const auto id = queue(command.queue);
    if (!id) return std::unexpected(id.error());
    const auto count = core_->verbs_where({Verb::acknowledge, client_of(command.name), *id, command.where});
    if (!count) return refused(count.error());
    if (auto settled = settle(); !settled) return std::unexpected(settled.error());
    return *count;
}

// A consumer without a subscription gets an entry too, so that its verbs find queue and client.
Outcome<std::vector<Received>> SimulatedWorld::receive(const Receive& command) {
    auto& consumer = subscriptions_.try_emplace(command.name).first->second;
    if (consumer.id == kNone) {
        consumer.client = command.name;
        consumer.target = command.queue;
    }
    const auto count_max = static_cast<std::uint32_t>(std::min<std::uint64_t>(command.count_max, UINT32_MAX));
    const auto pulled =
        core_->pull({client(consumer.client), consumer.id, command.queue, count_max, std::string_view()});
    if (!pulled) return refused(pulled.error());
    std::uint32_t count = pulled->count;
    for (Delivered& delivered : incoming_) {
        if (count == 0 || delivered.delivery.subscription != pulled->subscription) continue;
        delivered.pulled = true;
        --count;
    }
    if (auto settled = settle(); !settled) return std::unexpected(settled.error());
    return std::exchange(pulled_, {});
}

Outcome<std::uint64_t> SimulatedWorld::redrive(const Redrive& command) {
    const auto from = queue(command.from);
    const auto to = queue(command.to);
    if (!from || !to) return std::unexpected(from ? to.error() : from.error());
    const std::uint64_t count = core_->redrive(*from, *to);
    if (auto settled = settle(); !settled) return std::unexpected(settled.error());
    return count;
}

Outcome<std::uint64_t> SimulatedWorld::purge(std::string_view name) {
    const auto id = queue(name);
    if (!id) return std::unexpected(id.error());
    const std::uint64_t count = core_->purge(*id);
    if (auto settled = settle(); !settled) return std::unexpected(settled.error());
    return count;
}

// --- What the core does not do yet

Outcome<Published> SimulatedWorld::publish_delta(const DeltaPublish&) {
    return unsupported("delta publishes");
}
Outcome<std::uint64_t> SimulatedWorld::erase(const Delete&) { return unsupported("deletes by filter"); }
Outcome<std::vector<std::string>> SimulatedWorld::rows(const Rows&) { return unsupported("views"); }

}  // namespace pinnace::scenario
