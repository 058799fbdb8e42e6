// SPDX-License-Identifier: Apache-2.0
#include "core/config_parse.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "core/name_pattern.h"

namespace pinnace {

namespace {

using Parsed = std::expected<void, std::string>;  // the error is what was expected
template <class T>
using Names = std::initializer_list<std::pair<std::string_view, T>>;

struct Fields {
    QueueConfig config;
    bool named = false;
    bool fairness_given = false;
    bool leasing_given = false;
    bool window_given = false;
    bool initial_owner_given = false;
    std::vector<Refusal> wrong;
};

void refuse(Fields& fields, std::string_view element, std::string_view what) {
    std::string text = std::string(element) + ": queue " + fields.config.name + ": " + std::string(what);
    fields.wrong.push_back({std::string(element), std::move(text), fields.config.name});
}

template <class T>
Parsed choose(T& to, std::string_view value, Names<T> names) {
    std::string expected;
    for (const auto& [name, meaning] : names) {
        if (value == name) {
            to = meaning;
            return {};
        }
        expected += (expected.empty() ? "" : " or ") + std::string(name);
    }
    return std::unexpected("expected " + expected);
}

constexpr std::string_view kInfinite = "infinite";

Parsed duration(Duration& to, std::string_view value, bool zero_is_allowed) {
    const auto parsed = parse_duration(value);
    if (!parsed) return std::unexpected("expected a duration such as 500ms, 30s or 1d that fits the clock");
    if (*parsed == 0 && !zero_is_allowed) return std::unexpected("expected a duration above 0");
    to = *parsed;
    return {};
}

Parsed count(std::uint64_t& to, std::string_view value, std::uint64_t least) {
    const auto parsed = parse_count(value);
    if (!parsed || *parsed < least)
        return std::unexpected("expected a whole number of at least " + std::to_string(least));
    to = *parsed;
    return {};
}

Parsed count32(std::uint32_t& to, std::string_view value) {
    std::uint64_t wide = 0;
    if (auto parsed = count(wide, value, 0); !parsed) return parsed;
    if (wide > UINT32_MAX) return std::unexpected("expected a whole number of at most 4294967295");
    to = static_cast<std::uint32_t>(wide);
    return {};
}

Parsed text(std::string& to, std::string_view value) {
    if (value.empty()) return std::unexpected("expected a value");
    to = value;
    return {};
}

Parsed read_topic(Fields& fields, std::string_view value) {
    if (value.empty()) return std::unexpected("expected a topic's name or a pattern");
    fields.config.underlying_topics.emplace_back(value);
    return {};
}

Parsed read_name(Fields& fields, std::string_view value) {
    if (fields.named && fields.config.name != value) return std::unexpected("the queue has two names");
    fields.named = true;
    return text(fields.config.name, value);
}

Parsed read_limits(Fields& fields, std::string_view name, std::string_view value) {
    QueueConfig& config = fields.config;
    if (name == "MaxBacklog" && value == kInfinite) return config.max_backlog = UINT64_MAX, Parsed();
    if (name == "MaxBacklog") return count(config.max_backlog, value, 1);
    if (name == "MaxPerSubscriptionBacklog") return count(config.max_per_subscription_backlog, value, 1);
    if (name == "TargetQueueDepth") return count(config.target_queue_depth, value, 1000);
    if (name == "MaxDeliveries") return count32(config.max_deliveries, value);
    return count32(config.max_cancels, value);
}

Parsed read_times(Fields& fields, std::string_view name, std::string_view value) {
    QueueConfig& config = fields.config;
    if (value == kInfinite && (name == "LeasePeriod" || name == "Expiration")) {
        (name == "Expiration" ? config.expiration : config.lease_period) = kNever;
        return {};
    }
    if (name == "LeasePeriod") return duration(config.lease_period, value, false);
    if (name == "Expiration") {
        auto parsed = duration(config.expiration, value, true);
        if (parsed && config.expiration == 0) config.expiration = kNever;
        return parsed;
    }
    if (name == "Delay") return duration(config.delay, value, true);
    if (name == "DeferredAckExpiration") return duration(config.deferred_ack_expiration, value, true);
    fields.window_given = true;
    return duration(config.dedup_window, value, true);
}

Parsed read_choices(Fields& fields, std::string_view name, std::string_view value) {
    QueueConfig& config = fields.config;
    if (name == "Semantics")
        return choose<Semantics>(
            config.semantics, value,
            {{"at-least-once", Semantics::at_least_once}, {"at-most-once", Semantics::at_most_once}});
    if (name == "Leasing") {
        fields.leasing_given = true;
        return choose<Leasing>(config.leasing, value,
                               {{"sublet", Leasing::sublet}, {"strict", Leasing::strict}});
    }
    if (name == "FairnessModel") {
        fields.fairness_given = true;
        return choose<Fairness>(config.fairness, value,
                                {{"proportional", Fairness::proportional},
                                 {"round-robin", Fairness::round_robin},
                                 {"fast", Fairness::fast}});
    }
    if (name == "DeliverAfter")
        return choose<DeliverAfter>(
            config.deliver_after, value,
            {{"sequenced", DeliverAfter::sequenced}, {"persisted", DeliverAfter::persisted}});
    if (name == "Type") return choose<bool>(config.fifo, value, {{"fifo", true}, {"standard", false}});
    if (name == "GroupDelivery")
        return choose<bool>(config.sticky, value, {{"exclusive", false}, {"sticky", true}});
    if (name == "ContentBasedDedup")
        return choose<bool>(config.content_based_dedup, value, {{"true", true}, {"false", false}});
    return choose<bool>(config.file_backed_metadata, value, {{"enabled", true}});  // FileBackedMetadata
}

Parsed read_texts(Fields& fields, std::string_view name, std::string_view value) {
    QueueConfig& config = fields.config;
    if (name == "MessageType") return text(config.message_type, value);
    if (name == "DefaultPublishTarget") return text(config.default_publish_target, value);
    if (name == "Filter") return text(config.filter, value);
    if (name == "Priority") return text(config.priority, value);
    if (name == "BarrierExpression") return text(config.barrier_expression, value);
    if (name == "GroupKey") return text(config.group_key, value);
    if (name == "DeadLetterQueue") return text(config.dead_letter_queue, value);
    return text(config.recovery_point, value);
}

constexpr std::array<std::string_view, 31> kElementNames{"Name",          "Topic",
                                                         "MessageType",   "UnderlyingTopic",
                                                         "LeasePeriod",   "DefaultPublishTarget",
                                                         "Semantics",     "MaxBacklog",
                                                         "Expiration",    "MaxPerSubscriptionBacklog",
                                                         "Filter",        "TargetQueueDepth",
                                                         "RecoveryPoint", "FairnessModel",
                                                         "Leasing",       "MaxDeliveries",
                                                         "MaxCancels",    "Priority",
                                                         "InitialOwner",  "BarrierExpression",
                                                         "Type",          "DeferredAckExpiration",
                                                         "GroupKey",      "FileBackedMetadata",
                                                         "GroupDelivery", "GroupLocalQueueDomain",
                                                         "DedupWindow",   "ContentBasedDedup",
                                                         "Delay",         "DeadLetterQueue",
                                                         "DeliverAfter"};

bool one_of(std::string_view name, std::initializer_list<std::string_view> names) {
    return std::ranges::find(names, name) != names.end();
}

// False: not an element of a queue.
bool read_element(Fields& fields, const ConfigElement& element, QueueTag tag, Parsed& parsed) {
    const std::string& name = element.name;
    if (name == "Name" || name == "Topic") {
        parsed = read_name(fields, element.value);
    } else if (name == "UnderlyingTopic") {
        parsed = read_topic(fields, element.value);
    } else if (one_of(name, {"MaxBacklog", "MaxPerSubscriptionBacklog", "TargetQueueDepth", "MaxDeliveries",
                             "MaxCancels"})) {
        parsed = read_limits(fields, name, element.value);
    } else if (one_of(name, {"LeasePeriod", "Expiration", "Delay", "DeferredAckExpiration", "DedupWindow"})) {
        parsed = read_times(fields, name, element.value);
    } else if (one_of(name, {"Semantics", "Leasing", "FairnessModel", "DeliverAfter", "Type", "GroupDelivery",
                             "ContentBasedDedup", "FileBackedMetadata"})) {
        parsed = read_choices(fields, name, element.value);
    } else if (one_of(name, {"MessageType", "DefaultPublishTarget", "Filter", "Priority", "BarrierExpression",
                             "GroupKey", "DeadLetterQueue", "RecoveryPoint"})) {
        parsed = read_texts(fields, name, element.value);
    } else if (name == "InitialOwner" || name == "GroupLocalQueueDomain") {
        if (name == "InitialOwner") fields.initial_owner_given = true;
        parsed = text(
            name == "InitialOwner" ? fields.config.initial_owner : fields.config.group_local_queue_domain,
            element.value);
        if (tag != QueueTag::group_local) parsed = std::unexpected("it belongs to a GroupLocalQueue only");
    } else {
        return false;
    }
    return true;
}

// The combinations of Q2.
void check_combinations(Fields& fields, QueueTag tag) {
    const QueueConfig& config = fields.config;
    const bool depth = config.target_queue_depth != UINT64_MAX;
    const auto never_both = [&](const char* one, const char* other) {
        refuse(fields, one, "it cannot go with " + std::string(other) + "; leave one of them out");
    };
    if (depth && !config.priority.empty()) never_both("TargetQueueDepth", "Priority");
    if (depth && !config.barrier_expression.empty()) never_both("TargetQueueDepth", "BarrierExpression");
    if (!config.priority.empty() && !config.barrier_expression.empty())
        never_both("Priority", "BarrierExpression");
    if (config.semantics == Semantics::at_most_once) {
        if (config.max_deliveries != 0)
            refuse(fields, "MaxDeliveries", "an at-most-once queue delivers once; leave it out");
        if (config.max_cancels != 0)
            refuse(fields, "MaxCancels", "an at-most-once queue has no cancels; leave it out");
        if (fields.fairness_given && config.fairness != Fairness::round_robin)
            refuse(fields, "FairnessModel",
                   "an at-most-once queue goes round-robin; say that or leave it out");
    }
    if (tag == QueueTag::group_local && !fields.initial_owner_given)
        refuse(fields, "InitialOwner",
               "a GroupLocalQueue needs it; name the instance that owns new messages");
}

void check_fifo(Fields& fields) {
    const QueueConfig& config = fields.config;
    if (!config.fifo) {
        if (!config.group_key.empty())
            refuse(fields, "GroupKey", "it needs Type=fifo; add that or leave it out");
        if (config.sticky) refuse(fields, "GroupDelivery", "it needs Type=fifo; add that or leave it out");
        return;
    }
    if (config.semantics == Semantics::at_most_once)
        refuse(fields, "Type", "fifo needs Semantics at-least-once");
    if (!config.priority.empty()) refuse(fields, "Type", "fifo cannot go with Priority; leave that out");
    if (!config.barrier_expression.empty())
        refuse(fields, "Type", "fifo cannot go with BarrierExpression; leave that out");
    if (fields.leasing_given && config.leasing != Leasing::strict)
        refuse(fields, "Leasing", "a fifo queue is always strict; say that or leave it out");
}

void check_target(Fields& fields) {
    const QueueConfig& config = fields.config;
    const std::string& target = config.default_publish_target;
    bool matched = target.empty();
    bool has_pattern = false;
    bool compiled = true;
    std::string plain = config.underlying_topics.empty() ? config.name : std::string();
    for (const std::string& topic : config.underlying_topics) {
        if (!is_pattern(topic)) {
            plain = topic;
            matched = matched || topic == target;
            continue;
        }
        has_pattern = true;
        const auto pattern = NamePattern::compile(topic);
        if (!pattern) refuse(fields, "UnderlyingTopic", "the pattern " + topic + ": " + pattern.error());
        compiled = compiled && pattern.has_value();
        matched = matched || (pattern && pattern->matches(target));
    }
    if (has_pattern && target.empty()) {
        refuse(fields, "DefaultPublishTarget",
               "a pattern as UnderlyingTopic needs it; name one of the topics that the pattern matches");
    } else if (is_pattern(target)) {
        refuse(fields, "DefaultPublishTarget", "it cannot be a pattern; name one topic");
    } else if (compiled && !matched && target != plain) {
        refuse(fields, "DefaultPublishTarget",
               target + " is not one of the queue's topics; name one that UnderlyingTopic " +
                   (has_pattern ? "matches" : "names"));
    }
}

}  // namespace

QueueConfig parse_queue(std::span<const ConfigElement> elements, QueueTag tag, std::vector<Refusal>& wrong) {
    Fields fields;
    fields.config.tag = tag;
    for (const ConfigElement& element : elements)
        if (element.name == "Name" || element.name == "Topic") fields.config.name = element.value;
    std::vector<std::string_view> seen;
    for (const ConfigElement& element : elements) {
        Parsed parsed;
        if (element.name != "UnderlyingTopic" && std::ranges::find(seen, element.name) != seen.end()) {
            refuse(fields, element.name, "it is given twice; leave one of them out");
        } else if (!read_element(fields, element, tag, parsed)) {
            refuse(fields, element.name,
                   "there is no such element" + suggestion(element.name, kElementNames));
        } else if (!parsed) {
            refuse(fields, element.name, "'" + element.value + "': " + parsed.error());
        }
        seen.push_back(element.name);
    }
    QueueConfig& config = fields.config;
    if (config.name.empty()) refuse(fields, "Name", "a queue needs a name");
    if (is_pattern(config.name))
        refuse(fields, "Name", "a queue's name has none of the characters ^ $ * + ? | ( ) [ ] { } \\");
    if (config.semantics == Semantics::at_most_once && !fields.fairness_given)
        config.fairness = Fairness::round_robin;
    check_combinations(fields, tag);
    check_fifo(fields);
    check_target(fields);
    if (config.fifo) config.leasing = Leasing::strict;
    if (config.fifo && !fields.window_given) config.dedup_window = Duration{300} * 1'000'000'000;
    wrong.insert(wrong.end(), fields.wrong.begin(), fields.wrong.end());
    return std::move(config);
}

std::expected<QueueConfig, Refusal> parse_queue(std::span<const ConfigElement> elements, QueueTag tag) {
    std::vector<Refusal> wrong;
    QueueConfig config = parse_queue(elements, tag, wrong);
    if (!wrong.empty()) return std::unexpected(std::move(wrong.front()));
    return config;
}

// The number of characters to change, add or leave out (Levenshtein), not caring for case.
std::string suggestion(std::string_view name, std::span<const std::string_view> known) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
    if (name.size() > 64) return {};
    std::string_view best;
    std::size_t least = name.size() / 3 + 2;
    for (const std::string_view other : known) {
        std::vector<std::size_t> row(other.size() + 1);
        for (std::size_t at = 0; at < row.size(); ++at) row[at] = at;
        for (std::size_t i = 0; i < name.size(); ++i) {
            std::size_t diagonal = std::exchange(row[0], i + 1);
            for (std::size_t k = 0; k < other.size(); ++k) {
                const std::size_t change = diagonal + (lower(name[i]) == lower(other[k]) ? 0 : 1);
                diagonal = std::exchange(row[k + 1], std::min({change, row[k] + 1, row[k + 1] + 1}));
            }
        }
        if (row.back() < least) {
            least = row.back();
            best = other;
        }
    }
    return best.empty() ? std::string() : "; did you mean " + std::string(best) + "?";
}

std::expected<QueueConfig, Refusal> parse_queue_line(std::string_view line) {
    std::vector<std::string> words;
    char quote = 0;
    bool open = false;
    for (std::size_t index = 0; index < line.size(); ++index) {
        const char c = line[index];
        if (quote != 0) {
            if (c == quote) {
                quote = 0;
            } else if (quote == '"' && c == '\\' && index + 1 < line.size() &&
                       (line[index + 1] == '"' || line[index + 1] == '\\')) {
                words.back() += line[++index];
            } else {
                words.back() += c;
            }
        } else if (c == ' ' || c == '\t') {
            open = false;
        } else {
            if (!open) words.emplace_back();
            open = true;
            if (c == '\'' || c == '"') {
                quote = c;
            } else {
                words.back() += c;
            }
        }
    }
    if (quote != 0) return std::unexpected(Refusal{"Name", "Name: a quote is not closed"});
    std::vector<ConfigElement> elements;
    for (const std::string& word : words) {
        const std::size_t equals = word.find('=');
        if (elements.empty()) {
            elements.push_back({"Name", word});
        } else if (equals == std::string::npos) {
            return std::unexpected(Refusal{word, word + ": expected Element=value"});
        } else {
            elements.push_back({word.substr(0, equals), word.substr(equals + 1)});
        }
    }
    return parse_queue(elements);
}

std::optional<std::uint64_t> parse_count(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

namespace {

// A whole number and a unit of the list.
std::optional<std::uint64_t> parse_with_unit(std::string_view text, std::uint64_t most,
                                             Names<std::uint64_t> units) {
    const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    const auto number = parse_count(text.substr(0, digits));
    if (!number) return std::nullopt;
    for (const auto& [name, factor] : units)
        if (text.substr(digits) == name)
            return *number > most / factor ? std::nullopt : std::optional(*number * factor);
    return std::nullopt;
}

}  // namespace

std::optional<Duration> parse_duration(std::string_view text) {
    if (text == "0") return 0;
    constexpr std::uint64_t kSecond = 1'000'000'000;
    const auto value = parse_with_unit(text, static_cast<std::uint64_t>(kNever) / 2,
                                       {{"ns", 1},
                                        {"us", 1000},
                                        {"ms", 1'000'000},
                                        {"s", kSecond},
                                        {"m", 60 * kSecond},
                                        {"h", 3600 * kSecond},
                                        {"d", 86'400 * kSecond}});
    if (!value) return std::nullopt;
    return static_cast<Duration>(*value);
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
    return parse_with_unit(text, UINT64_MAX / 2,
                           {{"", 1},
                            {"B", 1},
                            {"KB", 1000},
                            {"MB", 1'000'000},
                            {"GB", 1'000'000'000},
                            {"KiB", 1u << 10},
                            {"MiB", 1u << 20},
                            {"GiB", 1u << 30}});
}

}  // namespace pinnace
