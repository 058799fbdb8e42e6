// SPDX-License-Identifier: Apache-2.0
// Machine: topics, queues, and what a configuration may not say (section Q).
#include <algorithm>

#include "core/name_pattern.h"
#include "core/steps.h"

namespace pinnace {

std::unexpected<Refusal> Machine::refuse(std::string_view owner, std::string_view element,
                                         std::string_view text) {
    std::string whole = std::string(element) + ": " + std::string(text);
    refusals.push_back({std::string(element), std::move(whole), std::string(owner)});
    return std::unexpected(refusals.back());
}

std::unexpected<Refusal> Machine::refuse_queue(const QueueConfig& config, std::string_view element,
                                               std::string_view text) {
    return refuse(config.name, element, "queue " + config.name + ": " + std::string(text));
}

std::expected<void, Refusal> Machine::define_message_type(const expr::MessageType& type) {
    if (auto defined = evaluator.define(type); !defined)
        return refuse(type.name, "MessageType", "type " + type.name + ": " + defined.error());
    return {};
}

std::expected<TopicId, Refusal> Machine::define_topic(const TopicConfig& config) {
    if (config.name.empty() || config.name.size() > kNameSizeMax)
        return refuse(config.name, "Name", "a topic needs a name of 1 to 4096 bytes");
    if (!evaluator.known(config.message_type))
        return refuse(config.name, "MessageType",
                      "topic " + config.name + ": there is no message type " + config.message_type +
                          "; define it in MessageTypes");
    if (!is_pattern(config.name)) {
        const TopicId known = find_topic(config.name);
        if (known == kNone) return add_topic(config.name, config.message_type);
        if (topics[known].message_type != config.message_type)
            return refuse(config.name, "MessageType",
                          "topic " + config.name + " is defined as " + topics[known].message_type +
                              " and as " + config.message_type);
        return known;
    }
    auto pattern = NamePattern::compile(config.name);
    if (!pattern) return refuse(config.name, "Name", "the pattern " + config.name + ": " + pattern.error());
    covered.emplace_back(std::move(*pattern), config.message_type);
    return kNone;
}

std::expected<QueueId, Refusal> Machine::define_queue(const QueueConfig& config) {
    const std::string& name = config.name;
    const std::size_t refused = refusals.size();
    if (name.empty() || name.size() > kNameSizeMax)
        return refuse(name, "Name", "a queue needs a name of 1 to 4096 bytes");
    if (find_queue(name) != kNone)
        return refuse(name, "Name", "there are two queues named " + name + "; give one another name");
    auto queue = std::make_unique<Queue>();
    queue->config = config;
    if (queue->config.underlying_topics.empty()) queue->config.underlying_topics.push_back(name);
    queue->at_most_once = config.semantics == Semantics::at_most_once;
    queue->fifo = config.fifo;
    queue->limits = config.max_deliveries != 0 || config.max_cancels != 0;
    queue->exact = !config.priority.empty() || config.delay != 0;
    if (config.max_deliveries > kDeliveriesMax) refuse_queue(config, "MaxDeliveries", "at most 16777215");
    if (!evaluator.known(config.message_type))
        refuse_queue(config, "MessageType",
                     "there is no message type " + config.message_type + "; define it in MessageTypes");
    if (queue->at_most_once) queue->config.fairness = Fairness::round_robin;
    for (const std::string& topic : queue->config.underlying_topics) {
        if (!is_pattern(topic)) continue;
        auto pattern = NamePattern::compile(topic);
        if (pattern) {
            queue->patterns.push_back(std::move(*pattern));
        } else {
            refuse_queue(config, "UnderlyingTopic", "the pattern " + topic + ": " + pattern.error());
        }
    }
    compile_expressions(*queue);
    queue->filters.emplace_back().used = true;
    queue->everybody = &queue->filters[0].members;
    queue->in_turn = config.fairness == Fairness::round_robin;
    queue->classes.emplace_back().used = true;
    queue->filters[0].classes.push_back(0);
    queue->id = static_cast<QueueId>(queues.size());
    queue_ids.emplace(name, queue->id);
    queues.push_back(std::move(queue));
    if (refusals.size() != refused) return std::unexpected(refusals[refused]);
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
void Machine::compile_expressions(Queue& queue) {
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
        if (compiled) {
            element.to.emplace(std::move(*compiled));
        } else {
            refuse_queue(config, element.name, compiled.error());
        }
    }
    note_plain(queue);
    note_filters(queue);
}

void Machine::note_plain(Queue& queue) {
    const QueueConfig& config = queue.config;
    queue.plain = !queue.filter && !queue.priority && !queue.barrier && !queue.group_key && !queue.fifo &&
                  config.dedup_window == 0 && config.delay == 0 && config.expiration == kNever;
}

// F6: the dead-letter queue is there, and fifo where it must be.
void Machine::check_dead_letters(const Queue& queue) {
    const QueueConfig& config = queue.config;
    if (config.dead_letter_queue.empty()) return;
    const std::string& name = config.dead_letter_queue;
    const QueueId dead = find_queue(name);
    if (dead == kNone) {
        refuse_queue(config, "DeadLetterQueue", "there is no queue named " + name + "; define it in SOW");
    } else if (queue.fifo && !queues[dead]->fifo) {
        refuse_queue(config, "DeadLetterQueue", name + " must be fifo too (Type=fifo), as this queue is");
    } else if (!queue.fifo && queues[dead]->fifo && queues[dead]->config.group_key.empty()) {
        refuse_queue(config, "DeadLetterQueue",
                     name + " is fifo and needs a GroupKey, since this queue is not fifo");
    }
}

// A3: what leaves a queue does not come back to it. A dead letter enters every queue over the topic; from
// each of them it may go on.
void Machine::check_cycles(const Queue& queue) {
    std::vector<QueueId> reached;
    const auto reach_topic = [&](TopicId topic) {
        if (topic == kNone) return;
        for (const TopicRoute& route : topics[topic].routes)
            if (std::ranges::find(reached, route.queue) == reached.end()) reached.push_back(route.queue);
    };
    const auto reach = [&](QueueId from) {
        const QueueId to = find_queue(queues[from]->config.dead_letter_queue);
        if (to != kNone) reach_topic(queues[to]->publish_target);
        for (const std::uint32_t action : queues[from]->actions)
            for (const Action::Step& step : actions[action].steps) reach_topic(step.to.topic);
    };
    reach(queue.id);
    for (std::size_t index = 0; index < reached.size(); ++index) {
        if (reached[index] == queue.id) {
            const std::string& dead = queue.config.dead_letter_queue;
            refuse_queue(queue.config, dead.empty() ? "Actions" : "DeadLetterQueue",
                         "what leaves it unprocessed comes back to it through " +
                             (dead.empty() ? std::string("an action") : dead) + "; break the cycle");
            return;
        }
        reach(reached[index]);
    }
}

// T3, and one message type for all topics of a queue.
void Machine::check_topics(Queue& queue) {
    const QueueConfig& config = queue.config;
    for (const std::string& name : config.underlying_topics) {
        if (is_pattern(name)) continue;
        const TopicId topic = resolve_topic(name);
        if (topic == kNone) {
            refuse_queue(
                config, "UnderlyingTopic",
                "the topic " + name + " is not covered by the transaction log; add it to TransactionLog");
        } else if (topics[topic].message_type != config.message_type) {
            refuse_queue(config, "MessageType",
                         "it is " + config.message_type + " and its topic " + name + " is " +
                             topics[topic].message_type + "; a queue and its topics have one type");
        }
    }
    for (const Topic& topic : topics) {
        const bool matched = std::ranges::any_of(
            queue.patterns, [&](const NamePattern& pattern) { return pattern.matches(topic.name); });
        if (matched && topic.message_type != config.message_type)
            refuse_queue(config, "MessageType",
                         "it is " + config.message_type + " and its topic " + topic.name + " is " +
                             topic.message_type + "; a queue and its topics have one type");
    }
    // A plain topic was looked at above.
    const bool plain = config.default_publish_target.empty();
    const std::string& target = plain ? config.underlying_topics.front() : config.default_publish_target;
    queue.publish_target = resolve_topic(target);
    if (queue.publish_target == kNone && (!plain || is_pattern(target)))
        refuse_queue(
            config, "DefaultPublishTarget",
            "the topic " + target + " is not covered by the transaction log; add it to TransactionLog");
}

std::expected<void, Refusal> Machine::finish_definitions() {
    const std::size_t refused = refusals.size();
    if (!options.topics_must_be_covered)
        for (const auto& queue : queues) cover_topics(*queue);
    for (const auto& queue : queues) check_topics(*queue);
    // Routes follow the order of definition of the queues, in each topic.
    for (TopicId topic = 0; topic < topics.size(); ++topic)
        for (const auto& queue : queues) add_route(topic, queue->id);
    resolve_actions();
    for (const auto& queue : queues) check_dead_letters(*queue);
    for (const auto& queue : queues) check_cycles(*queue);
    defining = false;
    if (refusals.size() != refused) return std::unexpected(refusals[refused]);
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
