// SPDX-License-Identifier: Apache-2.0
// The effective configuration as a file. What is not set and has no default (a limit that is not there) is
// left out; everything else is written, so that nothing has to be looked up.
#include <fmt/format.h>

#include <pugixml.hpp>
#include <sstream>

#include "bindings/config/configuration.h"

namespace pinnace::config {
namespace {

// `${` in a value is written so that it is read back as it is.
std::string quoted(std::string_view text) {
    std::string out;
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text.substr(at, 2) == "${") out += '$';
        out += text[at];
    }
    return out;
}

void put(pugi::xml_node parent, const char* name, const std::string& text) {
    parent.append_child(name).append_child(pugi::node_pcdata).set_value(quoted(text).c_str());
}

void put_if(pugi::xml_node parent, const char* name, const std::string& text) {
    if (!text.empty()) put(parent, name, text);
}

// The largest unit that says it exactly.
std::string in_units(std::uint64_t value,
                     std::initializer_list<std::pair<std::uint64_t, const char*>> units) {
    for (const auto& [size, name] : units)
        if (value % size == 0) return fmt::format("{}{}", value / size, name);
    return {};
}

std::string duration(Duration value) {
    if (value == kNever) return "infinite";
    constexpr std::uint64_t kSecond = 1'000'000'000;
    if (value == 0) return "0s";
    return in_units(static_cast<std::uint64_t>(value), {{86'400 * kSecond, "d"},
                                                        {3'600 * kSecond, "h"},
                                                        {60 * kSecond, "m"},
                                                        {kSecond, "s"},
                                                        {1'000'000, "ms"},
                                                        {1'000, "us"},
                                                        {1, "ns"}});
}

std::string size(std::uint64_t value) {
    if (value == 0) return "0B";
    return in_units(value, {{1u << 30, "GiB"}, {1u << 20, "MiB"}, {1u << 10, "KiB"}, {1, "B"}});
}

std::string number(std::uint64_t value) { return fmt::format("{}", value); }
std::string enabled(bool value) { return value ? "enabled" : "disabled"; }

const char* tag_of(const QueueConfig& queue) {
    return queue.tag == QueueTag::queue   ? "Queue"
           : queue.tag == QueueTag::local ? "LocalQueue"
                                          : "GroupLocalQueue";
}

void put_queue_times(pugi::xml_node at, const QueueConfig& queue) {
    put(at, "LeasePeriod", duration(queue.lease_period));
    put(at, "Expiration", duration(queue.expiration));
    put(at, "Delay", duration(queue.delay));
    put(at, "DeferredAckExpiration", duration(queue.deferred_ack_expiration));
    put(at, "DedupWindow", duration(queue.dedup_window));
}

void put_queue_limits(pugi::xml_node at, const QueueConfig& queue) {
    put(at, "MaxBacklog", queue.max_backlog == UINT64_MAX ? "infinite" : number(queue.max_backlog));
    if (queue.max_per_subscription_backlog != UINT64_MAX)
        put(at, "MaxPerSubscriptionBacklog", number(queue.max_per_subscription_backlog));
    if (queue.target_queue_depth != UINT64_MAX) put(at, "TargetQueueDepth", number(queue.target_queue_depth));
    if (queue.semantics == Semantics::at_most_once) return;
    put(at, "MaxDeliveries", number(queue.max_deliveries));
    put(at, "MaxCancels", number(queue.max_cancels));
}

void put_queue(pugi::xml_node sow, const QueueConfig& queue) {
    pugi::xml_node at = sow.append_child(tag_of(queue));
    put(at, "Name", queue.name);
    put(at, "MessageType", queue.message_type);
    if (queue.underlying_topics.empty()) put(at, "UnderlyingTopic", queue.name);
    for (const std::string& topic : queue.underlying_topics) put(at, "UnderlyingTopic", topic);
    const std::string& first = queue.underlying_topics.empty() ? queue.name : queue.underlying_topics.front();
    put(at, "DefaultPublishTarget",
        queue.default_publish_target.empty() ? first : queue.default_publish_target);
    put(at, "Type", queue.fifo ? "fifo" : "standard");
    if (queue.fifo) put(at, "GroupDelivery", queue.sticky ? "sticky" : "exclusive");
    put_if(at, "GroupKey", queue.group_key);
    put(at, "Semantics", queue.semantics == Semantics::at_least_once ? "at-least-once" : "at-most-once");
    put(at, "Leasing", queue.leasing == Leasing::sublet ? "sublet" : "strict");
    put(at, "FairnessModel",
        queue.fairness == Fairness::proportional  ? "proportional"
        : queue.fairness == Fairness::round_robin ? "round-robin"
                                                  : "fast");
    put(at, "DeliverAfter", queue.deliver_after == DeliverAfter::sequenced ? "sequenced" : "persisted");
    put_queue_times(at, queue);
    put(at, "ContentBasedDedup", queue.content_based_dedup ? "true" : "false");
    put_queue_limits(at, queue);
    put_if(at, "Filter", queue.filter);
    put_if(at, "Priority", queue.priority);
    put_if(at, "BarrierExpression", queue.barrier_expression);
    put_if(at, "DeadLetterQueue", queue.dead_letter_queue);
    put(at, "RecoveryPoint", queue.recovery_point);
    if (queue.file_backed_metadata) put(at, "FileBackedMetadata", "enabled");
    put_if(at, "InitialOwner", queue.initial_owner);
    put_if(at, "GroupLocalQueueDomain", queue.group_local_queue_domain);
}

void put_fields(pugi::xml_node at, const char* name, const std::vector<std::string>& fields) {
    if (fields.empty()) return;
    pugi::xml_node list = at.append_child(name);
    for (const std::string& field : fields) put(list, "Field", field);
}

void put_sow(pugi::xml_node root, const Definitions& definitions) {
    pugi::xml_node sow = root.append_child("SOW");
    for (const SowTopicConfig& topic : definitions.sow_topics) {
        pugi::xml_node at = sow.append_child("Topic");
        put(at, "Name", topic.name);
        put(at, "MessageType", topic.message_type);
        put_if(at, "FileName", topic.file_name);
        for (const std::string& key : topic.keys) put(at, "Key", key);
        put(at, "Expiration", duration(topic.expiration));
    }
    for (const QueueConfig& queue : definitions.queues) put_queue(sow, queue);
    for (const ViewConfig& view : definitions.views) {
        pugi::xml_node at = sow.append_child("View");
        put(at, "Name", view.name);
        put(at, "MessageType", view.message_type);
        for (const std::string& topic : view.underlying_topics) put(at, "UnderlyingTopic", topic);
        put_fields(at, "Projection", view.projection);
        put_fields(at, "Grouping", view.grouping);
    }
}

void put_action(pugi::xml_node actions, const ActionConfig& action) {
    pugi::xml_node at = actions.append_child("Action");
    pugi::xml_node on = at.append_child("On");
    put(on, "Module", "amps-action-on-sow-expire-message");
    pugi::xml_node on_options = on.append_child("Options");
    put(on_options, "Topic", action.topic);
    put(on_options, "MessageType", action.message_type);
    for (const ActionStep& step : action.steps) {
        const bool publishes = step.kind == ActionStep::Kind::publish_message;
        pugi::xml_node to_do = at.append_child("Do");
        put(to_do, "Module", publishes ? "amps-action-do-publish-message" : "amps-action-do-extract-values");
        pugi::xml_node options = to_do.append_child("Options");
        if (publishes) put(options, "Topic", step.topic);
        put(options, "MessageType", step.message_type);
        put(options, "Data", step.data);
        for (const auto& [name, expression] : step.values) put(options, "Value", name + "=" + expression);
    }
}

void put_message_types(pugi::xml_node root, const Definitions& definitions) {
    if (definitions.message_types.empty()) return;
    pugi::xml_node types = root.append_child("MessageTypes");
    for (const expr::MessageType& type : definitions.message_types) {
        pugi::xml_node at = types.append_child("MessageType");
        put(at, "Name", type.name);
        put(at, "Module", type.format);
        if (type.format == "fix" || type.format == "nvfix") {
            put(at, "FieldSeparator", number(static_cast<unsigned char>(type.field_separator)));
            put(at, "ValueSeparator", number(static_cast<unsigned char>(type.value_separator)));
        }
        if (type.format == "composite") put(at, "Header", type.header_format);
        for (const std::string& field : type.layout) put(at, "Field", field);
    }
}

void put_process(pugi::xml_node root, const Configuration& configuration) {
    const EngineOptions& engine = configuration.engine;
    if (!engine.socket_path.empty()) {
        pugi::xml_node at = root.append_child("Transports").append_child("Transport");
        put(at, "Name", "shm");
        put(at, "Type", "shm");
        put(at, "SocketPath", engine.socket_path);
    }
    if (configuration.log_targets.empty()) return;
    pugi::xml_node logging = root.append_child("Logging");
    for (const LogTarget& target : configuration.log_targets) {
        pugi::xml_node at = logging.append_child("Target");
        put(at, "Protocol",
            target.kind == LogTarget::Kind::file              ? "file"
            : target.kind == LogTarget::Kind::standard_output ? "stdout"
                                                              : "stderr");
        put(at, "Level", target.level);
        put_if(at, "FileName", target.file_name);
    }
}

void put_engine(pugi::xml_node root, const EngineOptions& engine) {
    const auto core = [](const std::optional<unsigned>& cpu) { return cpu ? number(*cpu) : "any"; };
    pugi::xml_node threads = root.append_child("Threads");
    put(threads, "Wait",
        engine.wait == WaitMode::automatic ? "auto"
        : engine.wait == WaitMode::spin    ? "spin"
        : engine.wait == WaitMode::yield   ? "yield"
                                           : "block");
    put(threads, "DispatcherCore", core(engine.dispatcher_cpu));
    put(threads, "JournalCore", core(engine.journal_cpu));
    put(threads, "Pin", enabled(engine.pin));
    pugi::xml_node memory = root.append_child("Memory");
    put(memory, "LogSize", size(engine.log_small_size));
    put(memory, "LargeLogSize", size(engine.log_large_size));
    put(memory, "ReadBufferSize", size(engine.log_reread_size));
    put(memory, "ExpectedMessages", number(engine.message_count_hint));
    pugi::xml_node limits = root.append_child("Limits");
    put(limits, "MessageSizeMax", size(engine.message_size_max));
    put(limits, "RingEntries", number(engine.ring_entry_count));
    put(limits, "SessionsPerUser", number(engine.session_count_max_per_user));
    put(limits, "MaxDedupIds", number(engine.dedup_count_max));
    put(limits, "RejoinGrace", duration(engine.rejoin_grace));
    put(root.append_child("Durability"), "Policy", "group");
}

}  // namespace

std::string write(const Configuration& configuration) {
    const Definitions& definitions = configuration.definitions;
    pugi::xml_document document;
    pugi::xml_node root = document.append_child("Pinnace");
    put_if(root, "Name", configuration.name);
    put_message_types(root, definitions);
    put_process(root, configuration);
    put_engine(root, configuration.engine);
    pugi::xml_node log = root.append_child("TransactionLog");
    put_if(log, "JournalDirectory", configuration.engine.data_directory);
    put(log, "SegmentSize", size(configuration.engine.segment_size));
    put(log, "IoUring", enabled(configuration.engine.io_uring));
    for (const TopicConfig& topic : definitions.topics) {
        pugi::xml_node at = log.append_child("Topic");
        put(at, "Name", topic.name);
        put(at, "MessageType", topic.message_type);
    }
    put_sow(root, definitions);
    if (!definitions.actions.empty()) {
        pugi::xml_node actions = root.append_child("Actions");
        for (const ActionConfig& action : definitions.actions) put_action(actions, action);
    }
    std::ostringstream out;
    document.save(out, "    ", pugi::format_indent | pugi::format_no_declaration);
    return out.str();
}

}  // namespace pinnace::config
