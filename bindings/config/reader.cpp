// SPDX-License-Identifier: Apache-2.0
#include "bindings/config/reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/name_pattern.h"

namespace pinnace::config {
namespace {

constexpr std::string_view kNotBuilt = "not built yet: accepted, without effect";

}  // namespace

void Reader::read() {
    const pugi::xml_node root = document_.root();
    if (!root) return;
    const std::string_view name = root.name();
    if (name != "Pinnace" && name != "AMPSConfig") {
        document_.error(root,
                        fmt::format("the outermost element is {}; expected Pinnace or AMPSConfig", name));
        return;
    }
    configuration_.definitions.topics_must_be_covered = true;
    read_root(root);
    check_sow();
    check_instance();
    check_definitions();
    report_not_built();
}

void Reader::read_root(pugi::xml_node root) {
    Section section(document_, Unknown::warning);
    section.one("Name", [&](pugi::xml_node e) { read_text(document_, e, configuration_.name); })
        .without_effect({"ProcessName", "ConfigIncludeCommentDefault", "SOWStatsInterval", "Group"},
                        "accepted, without effect")
        .without_effect({"Admin", "Protocols", "Modules", "Authentication", "Entitlement", "Replication",
                         "ReplicationDestination", "Extensions"},
                        kNotBuilt)
        .one("MessageTypes",
             [&](pugi::xml_node e) {
                 Section(document_, Unknown::warning)
                     .many("MessageType", [&](pugi::xml_node type) { read_message_type(type); })
                     .read(e);
             })
        .one("Transports",
             [&](pugi::xml_node e) {
                 Section(document_, Unknown::warning)
                     .many("Transport", [&](pugi::xml_node transport) { read_transport(transport); })
                     .read(e);
             })
        .one("Logging",
             [&](pugi::xml_node e) {
                 Section(document_, Unknown::warning)
                     .many("Target", [&](pugi::xml_node target) { read_log_target(target); })
                     .read(e);
             })
        .one("TransactionLog", [&](pugi::xml_node e) { read_transaction_log(e); })
        .one("SOW", [&](pugi::xml_node e) { read_sow(e); })
        .one("Actions",
             [&](pugi::xml_node e) {
                 Section(document_, Unknown::error)
                     .many("Action", [&](pugi::xml_node action) { read_action(action); })
                     .read(e);
             })
        .one("Threads", [&](pugi::xml_node e) { read_threads(e); })
        .one("Memory", [&](pugi::xml_node e) { read_memory(e); })
        .one("Limits", [&](pugi::xml_node e) { read_limits(e); })
        .one("Durability", [&](pugi::xml_node e) { read_durability(e); })
        .read(root);
}

void Reader::read_transaction_log(pugi::xml_node element) {
    EngineOptions& engine = configuration_.engine;
    Section(document_, Unknown::error)
        .one("JournalDirectory", [&](pugi::xml_node e) { read_text(document_, e, engine.data_directory); })
        .one("SegmentSize",
             [&](pugi::xml_node e) {
                 read_size(document_, e, engine.segment_size, 1u << 20, std::uint64_t{1} << 32);
             })
        .one("IoUring", [&](pugi::xml_node e) { read_switch(document_, e, engine.io_uring); })
        .many("Topic", [&](pugi::xml_node e) { read_log_topic(e); })
        .without_effect({"Archive", "Retention"}, kNotBuilt)
        .without_effect({"JournalArchiveDirectory", "PreallocatedJournalFiles", "MinJournalSize"},
                        "accepted, without effect: see SegmentSize, Archive and Retention")
        .read(element);
}

void Reader::read_log_topic(pugi::xml_node element) {
    TopicConfig topic;
    Section(document_, Unknown::error)
        .one("Name", [&](pugi::xml_node e) { read_text(document_, e, topic.name); })
        .one("MessageType", [&](pugi::xml_node e) { read_text(document_, e, topic.message_type); })
        .read(element);
    if (topic.name.empty()) {
        if (!element.child("Name")) document_.error(element, "a topic needs a Name: a topic's, or a pattern");
        return;
    }
    configuration_.definitions.topics.push_back(std::move(topic));
    topic_elements_.push_back(element);
}

namespace {

// A byte: one character, or its code as a number (as for SOH, 1).
bool read_separator(Document& document, pugi::xml_node element, char& to) {
    const std::string text = document.text(element);
    const bool digit = text.size() == 1 && text[0] >= '0' && text[0] <= '9';
    if (text.size() == 1 && !digit) {
        to = text[0];
        return true;
    }
    char* end = nullptr;
    const unsigned long code = std::strtoul(text.c_str(), &end, 0);
    if (!text.empty() && text[0] != '-' && *end == '\0' && code < 256) {
        to = static_cast<char>(code);
        return true;
    }
    document.error_at(document.text_place(element), element,
                      fmt::format("'{}': expected one character, or the number of a byte such as 1", text));
    return false;
}

}  // namespace

void Reader::read_message_type(pugi::xml_node element) {
    expr::MessageType type;
    std::string module;
    type.name.clear();
    Section(document_, Unknown::warning)
        .one("Name", [&](pugi::xml_node e) { read_text(document_, e, type.name); })
        .one("Module", [&](pugi::xml_node e) { read_text(document_, e, module); })
        .one("FieldSeparator", [&](pugi::xml_node e) { read_separator(document_, e, type.field_separator); })
        .one("ValueSeparator", [&](pugi::xml_node e) { read_separator(document_, e, type.value_separator); })
        .one("Header",
             [&](pugi::xml_node e) {
                 read_choice<std::string>(document_, e, type.header_format,
                                          {{"json", "json"}, {"struct", "struct"}});
             })
        .many("Field", [&](pugi::xml_node e) { read_text(document_, e, type.layout.emplace_back()); })
        .without_effect({"AMPSVersionCompliance"}, "accepted, without effect")
        .read(element);
    if (type.name.empty()) {
        if (!element.child("Name")) document_.error(element, "a message type needs a Name");
        return;
    }
    type.format = module.empty() ? type.name : module;
    configuration_.definitions.message_types.push_back(std::move(type));
    type_elements_.push_back(element);
}

// What only the whole file shows of the instance itself.
void Reader::check_instance() {
    const auto& queues = configuration_.definitions.queues;
    for (std::size_t index = 0; index < queues.size(); ++index) {
        if (queues[index].tag != QueueTag::group_local) continue;
        not_built("distribution: this instance alone has the queue", queue_elements_[index],
                  queues[index].name);
    }
    EngineOptions& engine = configuration_.engine;
    const std::uint64_t least = std::uint64_t{engine.message_size_max} * 4 + (1u << 20);
    if (engine.segment_size >= least) return;
    const pugi::xml_node size = document_.root().child("TransactionLog").child("SegmentSize");
    if (size)
        document_.error(size, fmt::format("a segment has room for four messages: at least {}B, or make "
                                          "Limits/MessageSizeMax smaller",
                                          least));
    engine.segment_size = least;
}

void Reader::not_built(std::string_view what, pugi::xml_node element, const std::string& name) {
    NotBuilt& kind = not_built_[std::string(what)];
    if (kind.names.empty()) kind.first = element;
    kind.names.push_back(name);
}

void Reader::report_not_built() {
    for (const auto& [what, kind] : not_built_)
        document_.warn(kind.first, fmt::format("not built yet, accepted without effect: {} ({})", what,
                                               fmt::join(kind.names, ", ")));
}

}  // namespace pinnace::config
