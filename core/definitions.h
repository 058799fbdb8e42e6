// SPDX-License-Identifier: Apache-2.0
// Definitions: all that a core is told before its first command, as one value. The command line, scenarios
// and XML files make one each.
#pragma once

#include <expected>
#include <vector>

#include "core/config.h"
#include "core/core.h"
#include "core/expr/reader.h"

namespace pinnace {

struct Definitions {
    std::vector<expr::MessageType> message_types;
    std::vector<TopicConfig> topics;  // that the transaction log covers
    std::vector<QueueConfig> queues;
    std::vector<ActionConfig> actions;
    std::vector<SowTopicConfig> sow_topics;  // not built yet
    std::vector<ViewConfig> views;           // not built yet
    // CoreOptions::topics_must_be_covered of the core that they are for.
    bool topics_must_be_covered = false;
};

// Defines all of it, in order, and ends the definitions. Answers the first refusal; Core::refusals() has all.
inline std::expected<void, Refusal> define_all(Core& core, const Definitions& definitions) {
    for (const expr::MessageType& type : definitions.message_types) (void)core.define_message_type(type);
    for (const TopicConfig& topic : definitions.topics) (void)core.define_topic(topic);
    // A view under a queue needs no transaction-log entry.
    for (const ViewConfig& view : definitions.views) (void)core.define_topic({view.name, view.message_type});
    for (const QueueConfig& queue : definitions.queues) (void)core.define_queue(queue);
    for (const ActionConfig& action : definitions.actions) (void)core.define_action(action);
    (void)core.finish_definitions();
    if (!core.refusals().empty()) return std::unexpected(core.refusals().front());
    return {};
}

}  // namespace pinnace
