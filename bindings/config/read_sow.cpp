// SPDX-License-Identifier: Apache-2.0
// Reader: SOW, its queues, SOW topics and views.
#include <fmt/format.h>

#include <algorithm>

#include "bindings/config/reader.h"
#include "core/config_parse.h"
#include "core/name_pattern.h"

namespace pinnace::config {

void Reader::read_sow(pugi::xml_node element) {
    Section section(document_, Unknown::error);
    section.many("Topic", [&](pugi::xml_node e) { read_sow_topic(e); });
    for (const char* name : {"Queue", "QueueDefinition"})
        section.many(name, [&](pugi::xml_node e) { read_queue(e, QueueTag::queue); });
    section.many("LocalQueue", [&](pugi::xml_node e) { read_queue(e, QueueTag::local); })
        .many("GroupLocalQueue", [&](pugi::xml_node e) { read_queue(e, QueueTag::group_local); })
        .many("View", [&](pugi::xml_node e) { read_view(e); })
        .read(element);
}

// A queue that has errors is kept by its name, so that what names it is not an error too.
void Reader::read_queue(pugi::xml_node element, QueueTag tag) {
    std::vector<ConfigElement> elements;
    for (const pugi::xml_node child : element.children()) {
        if (child.type() == pugi::node_element) elements.push_back({child.name(), document_.text(child)});
    }
    // Texts and attributes that do not belong there; the names are the core's affair.
    Section texts(document_, Unknown::error);
    for (const ConfigElement& child : elements) texts.many(child.name, [](pugi::xml_node) {});
    texts.read(element);
    const std::size_t unnamed = queue_elements_.size();
    queue_elements_.push_back(element);
    queue_faults_.emplace_back();
    std::vector<Refusal> wrong;
    QueueConfig queue = parse_queue(elements, tag, wrong);
    for (const Refusal& refusal : wrong) report(refusal, element);
    for (const Refusal& refusal : wrong) queue_faults_[unnamed].push_back(refusal.element);
    if (queue.recovery_point != "epoch")
        not_built("RecoveryPoint", element.child("RecoveryPoint"), queue.name);
    if (queue.file_backed_metadata)
        not_built("FileBackedMetadata", element.child("FileBackedMetadata"), queue.name);
    if (!wrong.empty()) {
        QueueConfig named;
        named.name = queue.name;
        named.message_type = queue.message_type;
        named.fifo = queue.fifo;
        named.group_key = queue.group_key;
        named.dead_letter_queue = queue.dead_letter_queue;
        for (const std::string& topic : queue.underlying_topics)
            if (!is_pattern(topic)) named.underlying_topics.push_back(topic);
        named.filter = queue.filter;
        named.priority = queue.priority;
        named.barrier_expression = queue.barrier_expression;
        queue = std::move(named);
    }
    configuration_.definitions.queues.push_back(std::move(queue));
}

void Reader::read_sow_topic(pugi::xml_node element) {
    SowTopicConfig topic;
    const auto name = [&](pugi::xml_node e) { read_text(document_, e, topic.name); };
    Section(document_, Unknown::error)
        .one("Name", name)
        .one("Topic", name)
        .one("MessageType", [&](pugi::xml_node e) { read_text(document_, e, topic.message_type); })
        .one("FileName", [&](pugi::xml_node e) { read_text(document_, e, topic.file_name); })
        .many("Key", [&](pugi::xml_node e) { read_text(document_, e, topic.keys.emplace_back()); })
        .one("Expiration",
             [&](pugi::xml_node e) {
                 if (document_.text(e) == "infinite") return;
                 if (read_duration(document_, e, topic.expiration, 0) && topic.expiration == 0)
                     topic.expiration = kNever;
             })
        .without_effect({"Durability", "SlabSize", "RecordSize", "HashIndex", "Index"},
                        "accepted, without effect")
        .read(element);
    if (topic.name.empty()) {
        if (!element.child("Name") && !element.child("Topic"))
            document_.error(element, "a SOW topic needs a Name");
        return;
    }
    if (is_pattern(topic.name)) document_.error(element, "a SOW topic's name cannot be a pattern");
    if (topic.keys.empty())
        document_.error(element,
                        fmt::format("SOW topic {}: it needs a Key, such as <Key>/id</Key>", topic.name));
    not_built("SOW topics", element, topic.name);
    configuration_.definitions.sow_topics.push_back(std::move(topic));
    sow_topic_elements_.push_back(element);
}

void Reader::read_fields(pugi::xml_node element, std::vector<std::string>& to) {
    Section(document_, Unknown::error)
        .many("Field", [&](pugi::xml_node e) { read_text(document_, e, to.emplace_back()); })
        .read(element);
}

void Reader::read_view(pugi::xml_node element) {
    ViewConfig view;
    const auto name = [&](pugi::xml_node e) { read_text(document_, e, view.name); };
    Section(document_, Unknown::error)
        .one("Name", name)
        .one("Topic", name)
        .one("MessageType", [&](pugi::xml_node e) { read_text(document_, e, view.message_type); })
        .many("UnderlyingTopic",
              [&](pugi::xml_node e) { read_text(document_, e, view.underlying_topics.emplace_back()); })
        .one("Projection", [&](pugi::xml_node e) { read_fields(e, view.projection); })
        .one("Grouping", [&](pugi::xml_node e) { read_fields(e, view.grouping); })
        .read(element);
    if (view.name.empty()) {
        if (!element.child("Name") && !element.child("Topic"))
            document_.error(element, "a view needs a Name");
        return;
    }
    if (view.underlying_topics.empty() && !element.child("UnderlyingTopic"))
        document_.error(
            element,
            fmt::format("view {}: it needs an UnderlyingTopic: a queue, SOW topic or view", view.name));
    if (view.projection.empty())
        document_.error(element, fmt::format("view {}: it needs a Projection with a Field such as COUNT(/id) "
                                             "AS /count",
                                             view.name));
    not_built("views", element, view.name);
    configuration_.definitions.views.push_back(std::move(view));
    view_elements_.push_back(element);
}

// Names of views and SOW topics, and what views are over.
void Reader::check_sow() {
    const Definitions& definitions = configuration_.definitions;
    const auto is_queue = [&](const std::string& name) {
        return std::ranges::find(definitions.queues, name, &QueueConfig::name) != definitions.queues.end();
    };
    const auto is_view = [&](const std::string& name) {
        return std::ranges::find(definitions.views, name, &ViewConfig::name) != definitions.views.end();
    };
    const auto is_sow_topic = [&](const std::string& name) {
        return std::ranges::find(definitions.sow_topics, name, &SowTopicConfig::name) !=
               definitions.sow_topics.end();
    };
    for (std::size_t index = 0; index < definitions.views.size(); ++index) {
        const ViewConfig& view = definitions.views[index];
        const auto same = std::ranges::count(definitions.views, view.name, &ViewConfig::name);
        if (same > 1 || is_queue(view.name) || is_sow_topic(view.name))
            document_.error(
                view_elements_[index],
                fmt::format("view {}: something else in SOW has that name; give it another one", view.name));
        for (const std::string& topic : view.underlying_topics) {
            if (topic.empty() || is_queue(topic) || is_view(topic) || is_sow_topic(topic)) continue;
            document_.error(
                view_elements_[index].child("UnderlyingTopic"),
                fmt::format("view {}: there is no queue, SOW topic or view named {}; define it in "
                            "SOW",
                            view.name, topic));
        }
    }
    for (std::size_t index = action_elements_.size(); index-- > 0;) {
        const std::string& topic = definitions.actions[index].topic;
        if (is_queue(topic) || !is_sow_topic(topic)) continue;
        not_built("actions on SOW topics", action_elements_[index], topic);
        const auto at = static_cast<std::ptrdiff_t>(index);
        configuration_.definitions.actions.erase(configuration_.definitions.actions.begin() + at);
        action_elements_.erase(action_elements_.begin() + at);
    }
    for (std::size_t index = 0; index < definitions.sow_topics.size(); ++index) {
        const std::string& name = definitions.sow_topics[index].name;
        if (std::ranges::count(definitions.sow_topics, name, &SowTopicConfig::name) > 1)
            document_.error(sow_topic_elements_[index],
                            fmt::format("there are two SOW topics named {}; give one another name", name));
    }
}

}  // namespace pinnace::config
