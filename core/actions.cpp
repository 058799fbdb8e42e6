// SPDX-License-Identifier: Apache-2.0
// Machine: actions on messages that leave unprocessed (A1-A3): their definition, and what they publish.
#include <algorithm>
#include <array>

#include "core/action.h"
#include "core/expr/calendar.h"
#include "core/expr/convert.h"
#include "core/steps.h"

namespace pinnace {

namespace {

constexpr std::size_t kTemplateSizeMax = 1u << 20;

std::string two_digits(std::int64_t value) {
    return {static_cast<char>('0' + value / 10 % 10), static_cast<char>('0' + value % 10)};
}

// As it stands between the quotes of a JSON text.
std::string escaped(std::string_view text) {
    if (text.empty()) return {};  // as a value it is NULL
    const std::string quoted = expr::json_of(expr::Value::text(text));
    return quoted.substr(1, quoted.size() - 2);
}

}  // namespace

std::vector<std::string> action_variable_names() {
    return {"AMPS_DATA", "AMPS_REASON", "AMPS_DATETIME", "AMPS_TOPIC", "AMPS_BOOKMARK"};
}

std::string reason_text(std::uint8_t reasons) {
    constexpr std::array<std::string_view, 4> kNames{"time_limit", "max_cancels", "max_deliveries",
                                                     "forced_expire"};
    std::string text;
    for (std::size_t bit = 0; bit < kNames.size(); ++bit) {
        if ((reasons >> bit & 1) == 0) continue;
        if (!text.empty()) text += ',';
        text += kNames[bit];
    }
    return text;
}

std::string timestamp_text(Time time) {
    const std::int64_t seconds = time / 1'000'000'000;
    const std::int64_t of_day = seconds % expr::kDaySeconds;
    const expr::Date date = expr::date_of(seconds / expr::kDaySeconds);
    std::string micros = std::to_string(time % 1'000'000'000 / 1'000);
    micros.insert(0, 6 - micros.size(), '0');
    return two_digits(date.year / 100) + two_digits(date.year % 100) + two_digits(date.month) +
           two_digits(date.day) + "T" + two_digits(of_day / 3'600) + two_digits(of_day / 60 % 60) +
           two_digits(of_day % 60) + "." + micros + "Z";
}

std::uint64_t action_body_size_max(const ActionConfig& action, std::uint64_t message_size_max) {
    constexpr std::uint64_t kOtherSizeMax = 8'192;  // of a queue's name, the longest of the others
    std::vector<std::string> names = action_variable_names();
    std::uint64_t most = 0;
    for (const ActionStep& step : action.steps) {
        const auto data = Template::parse(step.data, names);
        if (!data) return most;
        if (step.kind == ActionStep::Kind::publish_message) {
            most += data->text_size() + message_size_max * data->count(kAmpsData);
            for (std::uint32_t name = kAmpsData + 1; name < names.size(); ++name)
                most += data->count(name) * (name <= kAmpsBookmark ? kOtherSizeMax : kEscapedSizeMax);
        }
        for (const auto& value : step.values) names.push_back(value.first);
    }
    return most;
}

// --- Definition

std::expected<void, Refusal> Machine::define_action(const ActionConfig& config) {
    const std::size_t refused = refusals.size();
    const std::string owner = "action " + std::to_string(action_configs.size());
    Action action;
    std::vector<std::string> names = action_variable_names();
    for (std::size_t index = 0; index < config.steps.size(); ++index) {
        const ActionStep& step = config.steps[index];
        const std::string step_owner = owner + " step " + std::to_string(index);
        Action::Step& made = action.steps.emplace_back();
        made.kind = step.kind;
        if (!evaluator.known(step.message_type))
            refuse(step_owner, "MessageType",
                   "there is no message type " + step.message_type + "; define it in MessageTypes");
        if (step.data.size() > kTemplateSizeMax) refuse(step_owner, "Data", "it is longer than 1 MiB");
        auto data = Template::parse(step.data, names);
        if (!data) refuse(step_owner, "Data", data.error());
        if (data) made.data = std::move(*data);
        made.type = evaluator.type(step.message_type);
        for (const auto& [name, text] : step.values) {
            auto value = evaluator.compile(text, made.type, "Value", 0);
            if (!value) refuse(step_owner, "Value", name + ": " + value.error());
            if (value) made.values.push_back(std::move(*value));
            if (std::ranges::find(names, name) != names.end())
                refuse(step_owner, "Value", name + ": that variable is there already; give it another name");
            names.push_back(name);
        }
    }
    action.variable_count = names.size();
    actions.push_back(std::move(action));
    action_configs.push_back(config);
    if (refusals.size() != refused) return std::unexpected(refusals[refused]);
    return {};
}

// The queues that actions are on, and the topics that they publish to.
void Machine::resolve_actions() {
    for (std::uint32_t index = 0; index < actions.size(); ++index) {
        const ActionConfig& config = action_configs[index];
        const std::string owner = "action " + std::to_string(index);
        const auto pattern = is_pattern(config.topic)
                                 ? NamePattern::compile(config.topic)
                                 : std::expected<NamePattern, std::string>(std::unexpect);
        bool found = false;
        for (const auto& queue : queues) {
            if (queue->config.name != config.topic && !(pattern && pattern->matches(queue->config.name)))
                continue;
            if (queue->config.message_type != config.message_type) continue;
            queue->actions.push_back(index);
            found = true;
        }
        if (!found)
            refuse(owner, "Topic",
                   "there is no queue named " + config.topic + " of message type " + config.message_type +
                       "; define it in SOW");
        for (std::size_t step = 0; step < config.steps.size(); ++step) {
            if (config.steps[step].kind != ActionStep::Kind::publish_message) continue;
            resolve_publish(owner + " step " + std::to_string(step), config.steps[step],
                            actions[index].steps[step].to);
        }
    }
}

void Machine::resolve_publish(const std::string& owner, const ActionStep& step, ActionPublish& to) {
    to.queue = find_queue(step.topic);
    to.topic = to.queue != kNone ? queues[to.queue]->publish_target : resolve_topic(step.topic);
    if (to.topic == kNone) {
        if (to.queue == kNone)
            refuse(owner, "Topic",
                   step.topic + " is no queue, and no topic that the transaction log covers; add it there");
    } else if (topics[to.topic].message_type != step.message_type) {
        refuse(owner, "MessageType",
               "the topic " + step.topic + " is " + topics[to.topic].message_type + "; say that");
    }
}

// --- What happens

// The bodies that the queue's actions publish for this message, before it is gone.
void Machine::render_actions(const Queue& queue, const MessageState& state, std::uint8_t reasons) {
    rendered.clear();
    const Position origin = body_position(state);
    BodyRef body = body_of(state);
    if (body.data == nullptr && body.size != 0) body.data = effects.body(origin, body);
    const std::string data(reinterpret_cast<const char*>(body.data), body.data == nullptr ? 0 : body.size);
    const std::string reason = reason_text(reasons);
    const std::string datetime = timestamp_text(now);
    const std::string bookmark = std::to_string(state.position);
    for (const std::uint32_t index : queue.actions) {
        const Action& action = actions[index];
        std::vector<std::string_view> values{data, reason, datetime, queue.config.name, bookmark};
        std::vector<std::string_view> json_values = values;
        std::deque<std::string> extracted;
        for (const Action::Step& step : action.steps) {
            std::string text;
            step.data.render(evaluator.is_json(step.type) ? json_values : values, text);
            if (step.kind == ActionStep::Kind::publish_message) {
                rendered.push_back({step.to, std::move(text)});
                continue;
            }
            read_body(step.type, routes[state.route].topic, reinterpret_cast<const std::byte*>(text.data()),
                      static_cast<std::uint32_t>(text.size()));
            std::array<char, expr::kNumberTextSizeMax> buffer;
            for (const expr::Expression& value : step.values) {
                const std::string_view found = expr::text_of(evaluator.eval(value), buffer);
                extracted.emplace_back(found.substr(0, kExtractedSizeMax));
                values.push_back(extracted.back());
                extracted.push_back(escaped(extracted.back()));
                json_values.push_back(extracted.back());
            }
        }
    }
}

// Each is a message of its own in the step of the leaving; nothing refuses it (A2).
void Machine::publish_rendered(std::string_view group) {
    for (const RenderedPublish& publish : rendered) {
        const auto size = static_cast<std::uint32_t>(publish.body.size());
        const auto* data = reinterpret_cast<const std::byte*>(publish.body.data());
        plan_by_action(publish.to, group, data, size);
        head.clear();
        put_varint(head, plan.size());
        for (const PlanItem& item : plan) put_entry(head, item.entry);
        Topic& topic = topics[publish.to.topic];
        RecordHeader header;
        header.kind = static_cast<std::uint16_t>(RecordKind::message);
        header.head_size = static_cast<std::uint16_t>(head.size());
        header.subject = topic.journal_id;
        header.position = next_position++;
        header.time = now;
        const RecordIndex index = effects.record(header, head, BodyRef{kCold, size, data});
        head.clear();
        Incoming incoming{.position = header.position, .published = now, .wait_for = index};
        incoming.body = {kCold, size, nullptr};
        for (const PlanItem& item : plan) {
            incoming.route = item.route;
            incoming.match_class = item.match_class;
            enter(*queues[item.queue], item.entry, incoming);
        }
        if (!topic.subscriptions.empty())
            awaited_publishes.push_back({index, publish.to.topic, header.position, publish.body});
    }
    rendered.clear();
    keep_reserve();
}

// As plan_message, but for what may refuse it: the filter of the queue that it is for, deduplication, and
// a group that is missing.
void Machine::plan_by_action(const ActionPublish& to, std::string_view group, const std::byte* data,
                             std::uint32_t size) {
    plan.clear();
    group_names.clear();
    bool was_read = false;
    for (const TopicRoute& route : topics[to.topic].routes) {
        Queue& queue = *queues[route.queue];
        if (queue.evaluates && !was_read) read_body(queue.type, to.topic, data, size);
        was_read = was_read || queue.evaluates;
        if (route.queue != to.queue && queue.filter && !evaluator.matches(*queue.filter)) continue;
        plan_entry(route, group, false);
    }
}

// Subscribers of a topic see what actions published to it once it is durable.
void Machine::show_awaited_publishes() {
    while (!awaited_publishes.empty() && awaited_publishes.front().index <= durable_index) {
        const AwaitedPublish publish = std::move(awaited_publishes.front());
        awaited_publishes.pop_front();
        publish_to_subscribers(publish.topic, publish.position,
                               BodyRef{kCold, static_cast<std::uint32_t>(publish.body.size()),
                                       reinterpret_cast<const std::byte*>(publish.body.data())});
    }
}

}  // namespace pinnace
