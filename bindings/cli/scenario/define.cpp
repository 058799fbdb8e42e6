// SPDX-License-Identifier: Apache-2.0
#include "bindings/cli/scenario/define.h"

#include <fmt/format.h>

#include "core/config_parse.h"

namespace pinnace::scenario {
namespace {

std::unexpected<Fault> refused(const Refusal& refusal, int line) {
    const bool named = refusal.text.find(refusal.element) != std::string::npos;
    std::string text = named ? refusal.text : fmt::format("{}: {}", refusal.element, refusal.text);
    const bool unsupported = text.find("not supported yet") != std::string::npos;
    return std::unexpected(
        Fault{unsupported ? Fault::Kind::unsupported : Fault::Kind::refused, std::move(text), line});
}

Outcome<void> define_topic(Core& core, const Definition& definition) {
    TopicConfig config{definition.name, "json"};
    for (const auto& [name, value] : definition.elements) {
        if (name != "MessageType") {
            return refused({name, fmt::format("{}: a topic has no such element", name)}, definition.line);
        }
        config.message_type = value;
    }
    const auto defined = core.define_topic(config);
    if (!defined) return refused(defined.error(), definition.line);
    return {};
}

Outcome<void> define_queue(Core& core, const Definition& definition) {
    std::vector<ConfigElement> elements{{"Name", definition.name}};
    for (const auto& [name, value] : definition.elements) elements.push_back({name, value});
    const auto config = parse_queue(elements);
    if (!config) return refused(config.error(), definition.line);
    const auto defined = core.define_queue(*config);
    if (!defined) return refused(defined.error(), definition.line);
    return {};
}

Outcome<void> define_one(Core& core, const Definition& definition) {
    switch (definition.kind) {
        case DefinitionKind::topic:
            return define_topic(core, definition);
        case DefinitionKind::queue:
            return define_queue(core, definition);
        case DefinitionKind::sow:
            return unsupported("SOW topics");
        case DefinitionKind::view:
            return unsupported("views");
        case DefinitionKind::config:
            return unsupported("configuration files");
    }
    return unsupported("this definition");
}

}  // namespace

Outcome<void> define(Core& core, std::span<const Definition> definitions) {
    for (const Definition& definition : definitions) {
        if (auto defined = define_one(core, definition); !defined) {
            defined.error().line = definition.line;
            return defined;
        }
    }
    const auto finished = core.finish_definitions();
    if (!finished) return refused(finished.error(), 0);
    return {};
}

}  // namespace pinnace::scenario
