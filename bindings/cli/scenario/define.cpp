// SPDX-License-Identifier: Apache-2.0
#include "bindings/cli/scenario/define.h"

#include <fmt/format.h>

#include <algorithm>

#include "bindings/config/configuration.h"
#include "core/config_parse.h"

namespace pinnace::scenario {
namespace {

std::unexpected<Fault> refused(std::string text, int line) {
    const bool unsupported = text.find("not supported yet") != std::string::npos;
    return std::unexpected(
        Fault{unsupported ? Fault::Kind::unsupported : Fault::Kind::refused, std::move(text), line});
}

Outcome<void> read_topic(Definitions& to, const Definition& definition) {
    TopicConfig config{definition.name, "json"};
    for (const auto& [name, value] : definition.elements) {
        if (name != "MessageType")
            return refused(fmt::format("{}: a topic has no such element", name), definition.line);
        config.message_type = value;
    }
    to.topics.push_back(std::move(config));
    return {};
}

Outcome<void> read_queue(Definitions& to, const Definition& definition) {
    std::vector<ConfigElement> elements{{"Name", definition.name}};
    for (const auto& [name, value] : definition.elements) elements.push_back({name, value});
    auto config = parse_queue(elements);
    if (!config) return refused(config.error().text, definition.line);
    to.queues.push_back(std::move(*config));
    return {};
}

// All errors of the file at once, each with its line in the block.
Outcome<void> read_configuration(Definitions& to, const Definition& definition) {
    config::Loaded loaded = config::parse(definition.text);
    if (loaded.has_errors()) {
        std::string text = loaded.text("config", false);
        while (text.ends_with('\n')) text.pop_back();
        return refused(std::move(text), definition.line);
    }
    to = std::move(loaded.configuration.definitions);
    return {};
}

Outcome<void> read_one(Definitions& to, const Definition& definition) {
    switch (definition.kind) {
        case DefinitionKind::topic:
            return read_topic(to, definition);
        case DefinitionKind::queue:
            return read_queue(to, definition);
        case DefinitionKind::sow:
            return unsupported("SOW topics");
        case DefinitionKind::view:
            return unsupported("views");
        case DefinitionKind::config:
            return read_configuration(to, definition);
    }
    return unsupported("this definition");
}

}  // namespace

Outcome<Definitions> read_definitions(std::span<const Definition> definitions) {
    Definitions read;
    for (const Definition& definition : definitions) {
        if (definition.kind == DefinitionKind::config && definitions.size() != 1)
            return refused("config: a configuration stands in place of all other definitions",
                           definition.line);
        if (auto done = read_one(read, definition); !done) {
            done.error().line = definition.line;
            return std::unexpected(std::move(done.error()));
        }
    }
    return read;
}

Outcome<void> define(Core& core, const Definitions& definitions, std::span<const Definition> lines) {
    const auto defined = define_all(core, definitions);
    if (defined) return {};
    const auto owner = std::ranges::find(lines, defined.error().owner, &Definition::name);
    return refused(defined.error().text, owner == lines.end() ? 0 : owner->line);
}

}  // namespace pinnace::scenario
