// SPDX-License-Identifier: Apache-2.0
// Reader: Actions (A1). Module names count with and without their prefix.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "bindings/config/reader.h"
#include "core/config_parse.h"

namespace pinnace::config {
namespace {

constexpr std::string_view kPrefix = "amps-action-";
constexpr std::string_view kOnExpire = "on-sow-expire-message";
constexpr std::string_view kExtract = "do-extract-values";
constexpr std::string_view kPublish = "do-publish-message";

// Modules that users of such configurations know, and that are not built.
constexpr std::array<std::string_view, 26> kOtherModules{"on-schedule",
                                                         "on-startup",
                                                         "on-shutdown",
                                                         "on-signal",
                                                         "on-client-connect",
                                                         "on-client-disconnect",
                                                         "on-client-logon",
                                                         "on-client-logoff",
                                                         "on-client-offline",
                                                         "on-client-offline-message",
                                                         "on-publish-message",
                                                         "on-deliver-message",
                                                         "on-sow-delete-message",
                                                         "on-oof-message",
                                                         "on-message-condition-timeout",
                                                         "on-message-affinity",
                                                         "do-rotate-error-log",
                                                         "do-compact-sow",
                                                         "do-delete-sow",
                                                         "do-manage-journal",
                                                         "do-execute-system",
                                                         "do-shutdown",
                                                         "do-disconnect-client",
                                                         "do-echo-message",
                                                         "do-nothing",
                                                         "do-increment-counter"};

std::string_view without_prefix(std::string_view module) {
    if (module.starts_with(kPrefix)) module.remove_prefix(kPrefix.size());
    return module;
}

// What a Module element names; empty: a problem was added, or it is not built.
std::string module_name(Document& document, pugi::xml_node parent, bool& built,
                        std::initializer_list<std::string_view> known, std::string* other) {
    const pugi::xml_node element = parent.child("Module");
    std::string module;
    if (!element) {
        document.error(parent, fmt::format("it needs a Module, for example {}{}", kPrefix, *known.begin()));
        return {};
    }
    if (!read_text(document, element, module)) return {};
    const std::string name(without_prefix(module));
    if (std::ranges::find(known, name) != known.end()) return name;
    built = false;
    if (std::ranges::find(kOtherModules, name) != kOtherModules.end()) {
        *other = name;
        return {};
    }
    const std::vector<std::string_view> names(known);
    document.error_at(document.text_place(element), element,
                      fmt::format("'{}': there is no such module{}", module, suggestion(name, names)));
    return {};
}

}  // namespace

void Reader::read_action(pugi::xml_node element) {
    ActionConfig action;
    bool built = true;
    Section(document_, Unknown::error)
        .one("On", [&](pugi::xml_node e) { read_on(e, action, built); })
        .many("Do", [&](pugi::xml_node e) { read_do(e, action, built); })
        .read(element);
    if (!element.child("On"))
        document_.error(element,
                        "an action needs an On with a Module, for example amps-action-on-sow-expire-message");
    if (!element.child("Do"))
        document_.error(element,
                        "an action needs a Do with a Module, for example amps-action-do-publish-message");
    if (!built || action.topic.empty() || action.steps.empty()) return;
    configuration_.definitions.actions.push_back(std::move(action));
    action_elements_.push_back(element);
}

void Reader::read_on(pugi::xml_node element, ActionConfig& action, bool& built) {
    std::string other;
    const std::string module = module_name(document_, element, built, {kOnExpire}, &other);
    if (!other.empty()) {
        not_built("actions", element, other);
        return;
    }
    bool has_options = false;
    Section(document_, Unknown::error)
        .one("Module", [](pugi::xml_node) {})
        .one("Options",
             [&](pugi::xml_node options) {
                 has_options = true;
                 Section(document_, Unknown::error)
                     .one("Topic", [&](pugi::xml_node e) { read_text(document_, e, action.topic); })
                     .one("MessageType",
                          [&](pugi::xml_node e) { read_text(document_, e, action.message_type); })
                     .read(options);
                 if (!options.child("Topic"))
                     document_.error(options, "it needs a Topic: the queue whose messages it is about");
             })
        .read(element);
    if (!has_options && !module.empty())
        document_.error(element, "it needs Options with a Topic: the queue whose messages it is about");
}

void Reader::read_do(pugi::xml_node element, ActionConfig& action, bool& built) {
    std::string other;
    const std::string module = module_name(document_, element, built, {kPublish, kExtract}, &other);
    if (!other.empty()) not_built("actions", element, other);
    if (module.empty()) return;
    ActionStep step;
    step.kind = module == kPublish ? ActionStep::Kind::publish_message : ActionStep::Kind::extract_values;
    bool good = false;
    Section(document_, Unknown::error)
        .one("Module", [](pugi::xml_node) {})
        .one("Options", [&](pugi::xml_node options) { good = read_step_options(options, step); })
        .read(element);
    if (!element.child("Options")) document_.error(element, "it needs Options");
    if (good) action.steps.push_back(std::move(step));
    if (!good) built = false;
}

bool Reader::read_step_options(pugi::xml_node options, ActionStep& step) {
    const bool publishes = step.kind == ActionStep::Kind::publish_message;
    Section section(document_, Unknown::error);
    section.one("MessageType", [&](pugi::xml_node e) { read_text(document_, e, step.message_type); })
        .one("Data", [&](pugi::xml_node e) { read_text(document_, e, step.data); });
    if (publishes) {
        section.one("Topic", [&](pugi::xml_node e) { read_text(document_, e, step.topic); });
    } else {
        section.many("Value", [&](pugi::xml_node e) {
            std::string text;
            if (!read_text(document_, e, text)) return;
            const std::size_t equals = text.find('=');
            const std::size_t end = text.find_last_not_of(" \t\r\n", equals == 0 ? 0 : equals - 1);
            if (equals == std::string::npos || equals == 0 || end == std::string::npos) {
                document_.error_at(
                    document_.text_place(e), e,
                    fmt::format("'{}': expected NAME=EXPRESSION, such as CUSTOMER=/order/customer", text));
                return;
            }
            const std::size_t begin = std::min(text.find_first_not_of(" \t\r\n", equals + 1), text.size());
            step.values.emplace_back(text.substr(0, end + 1), text.substr(begin));
        });
    }
    section.read(options);
    bool good = true;
    for (const char* name : {"Topic", "Data"}) {
        if ((!publishes && std::string_view(name) == "Topic") || options.child(name)) continue;
        document_.error(options,
                        fmt::format("it needs {}: {}", name,
                                    std::string_view(name) == "Topic" ? "where to publish to"
                                    : publishes                       ? "the message, such as {{AMPS_DATA}}"
                                                : "the message to take from, such as {{AMPS_DATA}}"));
        good = false;
    }
    if (!publishes && !options.child("Value")) {
        document_.error(options, "it needs a Value, such as <Value>CUSTOMER=/order/customer</Value>");
        good = false;
    }
    return good && !step.data.empty() && (publishes ? !step.topic.empty() : !step.values.empty());
}

}  // namespace pinnace::config
