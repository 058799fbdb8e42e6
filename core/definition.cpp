// SPDX-License-Identifier: Apache-2.0
// Machine: topics, queues, and what a configuration may not say (section Q).
#include <algorithm>

#include "core/name_pattern.h"
#include "core/steps.h"

namespace pinnace {

namespace {

std::unexpected<Refusal> refuse(std::string element, std::string text) {
    return std::unexpected(Refusal{std::move(element), std::move(text)});
}

}  // namespace

std::expected<TopicId, Refusal> Machine::define_topic(const TopicConfig& config) {
    if (config.name.empty() || config.name.size() > kNameSizeMax)
        return refuse("Name", "Name: a topic needs a name of 1 to 4096 bytes");
    if (!is_pattern(config.name)) {
        const TopicId known = find_topic(config.name);
        if (known == kNone) return add_topic(config.name, config.message_type);
        if (topics[known].message_type != config.message_type)
            return refuse("MessageType", "MessageType: topic " + config.name + " is defined as " +
                                             topics[known].message_type + " and as " + config.message_type);
        return known;
    }
    auto pattern = NamePattern::compile(config.name);
    if (!pattern) return refuse("Name", "Name: the pattern " + config.name + ": " + pattern.error());
    covered.emplace_back(std::move(*pattern), config.message_type);
    return kNone;
}

std::expected<QueueId, Refusal> Machine::define_queue(const QueueConfig& config) {
    const std::string& name = config.name;
    if (name.empty() || name.size() > kNameSizeMax)
        return refuse("Name", "Name: a queue needs a name of 1 to 4096 bytes");
    if (find_queue(name) != kNone) return refuse("Name", "Name: there are two queues named " + name);
    auto queue = std::make_unique<Queue>();
    queue->config = config;
    if (queue->config.underlying_topics.empty()) queue->config.underlying_topics.push_back(name);
    queue->at_most_once = config.semantics == Semantics::at_most_once;
    queue->fifo = config.fifo;
    queue->limits = config.max_deliveries != 0 || config.max_cancels != 0;
    queue->exact = !config.priority.empty() || config.delay != 0;
    if (config.max_deliveries > kDeliveriesMax)
        return refuse("MaxDeliveries", "MaxDeliveries: queue " + name + ": at most 16777215");
    if (queue->at_most_once) queue->config.fairness = Fairness::round_robin;
    for (const std::string& topic : queue->config.underlying_topics) {
        if (!is_pattern(topic)) continue;
        auto pattern = NamePattern::compile(topic);
        if (!pattern)
            return refuse("UnderlyingTopic", "UnderlyingTopic: queue " + name + ": the pattern " + topic +
                                                 ": " + pattern.error());
        queue->patterns.push_back(std::move(*pattern));
    }
    if (auto good = compile_expressions(*queue); !good) return std::unexpected(good.error());
    queue->filters.emplace_back().used = true;
    queue->everybody = &queue->filters[0].members;
    queue->in_turn = config.fairness == Fairness::round_robin;
    queue->classes.emplace_back().used = true;
    queue->filters[0].classes.push_back(0);
    queue->id = static_cast<QueueId>(queues.size());
    queue_ids.emplace(name, queue->id);
    queues.push_back(std::move(queue));
    return queues.back()->id;
}

// Without a transaction log of its own in the configuration, a queue covers the topics that it is over.
void Machine::cover_topics(const Queue& queue) {
    for (const std::string& name : queue.config.underlying_topics) {
        if (!is_pattern(name)) {
            if (resolve_topic(name) == kNone) add_topic(name, queue.config.message_type);
        } else if (auto pattern = NamePattern::compile(name); pattern) {
            covered.emplace_back(std::move(*pattern), queue.config.message_type);
        }
    }
}

// Q2: each expression of the queue, by its element.
std::expected<void, Refusal> Machine::compile_expressions(Queue& queue) {
    const QueueConfig& config = queue.config;
    queue.type = evaluator.type(config.message_type);
    struct Element {
        const char* name;
        const std::string& text;
        std::optional<expr::Expression>& to;
    };
    const Element elements[] = {{"Filter", config.filter, queue.filter},
                                {"Priority", config.priority, queue.priority},
                                {"BarrierExpression", config.barrier_expression, queue.barrier},
                                {"GroupKey", config.group_key, queue.group_key}};
    for (const Element& element : elements) {
        if (element.text.empty()) continue;
        auto compiled = evaluator.compile(element.text, queue.type, element.name, expr::kChangingFunctions);
        if (!compiled)
            return refuse(element.name,
                          std::string(element.name) + ": queue " + config.name + ": " + compiled.error());
        element.to.emplace(std::move(*compiled));
    }
    note_filters(queue);
    queue.plain = !queue.evaluates && !queue.fifo && config.dedup_window == 0 && config.delay == 0 &&
                  config.expiration == kNever;
    note_filters(queue);
    return {};
}

// A3, F6: dead-letter queues are there, make no cycle, and are fifo where they must be.
std::expected<void, Refusal> Machine::check_dead_letters(const Queue& queue) const {
    const QueueConfig& config = queue.config;
    if (config.dead_letter_queue.empty()) return {};
    const std::string start = "DeadLetterQueue: queue " + config.name + ": ";
    const QueueId dead = find_queue(config.dead_letter_queue);
    if (dead == kNone)
        return refuse("DeadLetterQueue", start + "there is no queue named " + config.dead_letter_queue);
    if (queue.fifo && !queues[dead]->fifo)
        return refuse("DeadLetterQueue",
                      start + config.dead_letter_queue + " must be fifo too (Type=fifo), as this queue is");
    if (!queue.fifo && queues[dead]->fifo && queues[dead]->config.group_key.empty())
        return refuse("DeadLetterQueue", start + config.dead_letter_queue +
                                             " is fifo and needs a GroupKey, since this queue is not fifo");
    // A dead letter enters every queue over the topic; from each of them it may go on.
    std::vector<QueueId> reached;
    const auto reach = [&](QueueId from) {
        const QueueId to = find_queue(queues[from]->config.dead_letter_queue);
        if (to == kNone) return;
        for (const TopicRoute& route : topics[queues[to]->publish_target].routes)
            if (std::ranges::find(reached, route.queue) == reached.end()) reached.push_back(route.queue);
    };
    reach(queue.id);
    for (std::size_t index = 0; index < reached.size(); ++index) {
        if (reached[index] == queue.id)
            return refuse("DeadLetterQueue", start + "its dead letters come back to it through " +
                                                 config.dead_letter_queue + "; break the cycle");
        reach(reached[index]);
    }
    return {};
}

std::expected<void, Refusal> Machine::finish_definitions() {
    if (!options.topics_must_be_covered)
        for (const auto& queue : queues) cover_topics(*queue);
    for (const auto& queue : queues) {
        const QueueConfig& config = queue->config;
        for (const std::string& name : config.underlying_topics) {
            if (is_pattern(name)) continue;
            const TopicId topic = resolve_topic(name);
            if (topic == kNone)
                return refuse("UnderlyingTopic", "UnderlyingTopic: queue " + config.name + ": the topic " +
                                                     name +
                                                     " is not covered by the transaction log; add it there");
            if (topics[topic].message_type != config.message_type)
                return refuse("MessageType", "MessageType: queue " + config.name + " is " +
                                                 config.message_type + " and its topic " + name + " is " +
                                                 topics[topic].message_type);
        }
        for (const Topic& topic : topics) {
            const bool matched = std::ranges::any_of(
                queue->patterns, [&](const NamePattern& pattern) { return pattern.matches(topic.name); });
            if (matched && topic.message_type != config.message_type)
                return refuse("MessageType", "MessageType: queue " + config.name + " is " +
                                                 config.message_type + " and its topic " + topic.name +
                                                 " is " + topic.message_type);
        }
        const std::string& target = config.default_publish_target.empty() ? config.underlying_topics.front()
                                                                          : config.default_publish_target;
        queue->publish_target = resolve_topic(target);
        if (queue->publish_target == kNone)
            return refuse("DefaultPublishTarget", "DefaultPublishTarget: queue " + config.name +
                                                      ": the topic " + target +
                                                      " is not covered by the transaction log");
    }
    // Routes follow the order of definition of the queues, in each topic.
    for (TopicId topic = 0; topic < topics.size(); ++topic)
        for (const auto& queue : queues) add_route(topic, queue->id);
    for (const auto& queue : queues)
        if (auto good = check_dead_letters(*queue); !good) return good;
    defining = false;
    return {};
}

// If the queue is over the topic.
void Machine::add_route(TopicId topic, QueueId id) {
    Queue& queue = *queues[id];
    const std::string& name = topics[topic].name;
    const bool named =
        std::ranges::find(queue.config.underlying_topics, name) != queue.config.underlying_topics.end();
    const bool matched = std::ranges::any_of(
        queue.patterns, [&](const NamePattern& pattern) { return pattern.matches(name); });
    if (!named && !matched) return;
    PINNACE_CHECK(routes.size() < kRouteCountMax);
    topics[topic].routes.push_back({id, static_cast<std::uint32_t>(routes.size())});
    routes.push_back({topic, id});
}

TopicId Machine::add_topic(std::string_view name, std::string_view message_type) {
    const auto id = static_cast<TopicId>(topics.size());
    Topic& topic = topics.emplace_back();
    topic.name = name;
    topic.message_type = message_type;
    topic_ids.emplace(topic.name, id);
    if (!defining)
        for (const auto& queue : queues) add_route(id, queue->id);
    if (!defining && !recovering) {
        topic_of_journal.push_back(kNone);
        record_topic(topics[id], static_cast<std::uint32_t>(topic_of_journal.size() - 1));
    }
    return id;
}

void Machine::record_topic(Topic& topic, std::uint32_t journal_id) {
    topic.journal_id = journal_id;
    topic_of_journal[journal_id] = static_cast<TopicId>(&topic - topics.data());
    head.clear();
    put_topic_definition(head, {topic.name, topic.message_type});
    record(RecordKind::define_topic, journal_id, 0, 0);
    head.clear();
}

TopicId Machine::find_topic(std::string_view name) const {
    const auto at = topic_ids.find(name);
    return at == topic_ids.end() ? kNone : at->second;
}

TopicId Machine::resolve_topic(std::string_view name) {
    const TopicId known = find_topic(name);
    if (known != kNone || is_pattern(name)) return known;
    for (const auto& [pattern, message_type] : covered)
        if (pattern.matches(name)) return add_topic(name, message_type);
    return kNone;
}

QueueId Machine::find_queue(std::string_view name) const {
    const auto at = queue_ids.find(name);
    return at == queue_ids.end() ? kNone : at->second;
}

}  // namespace pinnace
