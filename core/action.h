// SPDX-License-Identifier: Apache-2.0
// Action: what is done when a message leaves a queue unprocessed (A1), as it was defined. Messages that
// actions publish are ordinary ones with a body of their own, recorded in the same step as the leaving (A2).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/config.h"
#include "core/expr/expression.h"
#include "core/template.h"
#include "core/types.h"

namespace pinnace {

struct ActionPublish {
    TopicId topic = kNone;
    QueueId queue = kNone;  // the queue that the publish is for, if it names one (T6)
};

struct Action {
    struct Step {
        ActionStep::Kind kind = ActionStep::Kind::publish_message;
        Template data;
        ActionPublish to;
        std::uint32_t type = 0;                // of the data
        std::vector<expr::Expression> values;  // extract: what becomes the next variables
    };
    std::vector<Step> steps;
    std::size_t variable_count = 0;
};

// The variables that every action has, by their places; extracted ones follow.
enum ActionVariable : std::uint8_t { kAmpsData, kAmpsReason, kAmpsDatetime, kAmpsTopic, kAmpsBookmark };
std::vector<std::string> action_variable_names();

// An extracted value's text is cut at this size, so that the size of what is published has a bound.
// Escaped for JSON, a byte becomes six characters at most.
inline constexpr std::size_t kExtractedSizeMax = 65'536;
inline constexpr std::size_t kEscapedSizeMax = 6 * kExtractedSizeMax;

// The bodies that the action publishes for one message are not larger together, if those of messages are
// at most `message_size_max`.
std::uint64_t action_body_size_max(const ActionConfig& action, std::uint64_t message_size_max);

// The reasons of X1 as text, joined by commas in their order.
std::string reason_text(std::uint8_t reasons);

// A time as bookmarks have it: 20261130T150000.000000Z.
std::string timestamp_text(Time time);

// A publish that subscribers of its topic see once its record is durable (rule 11, T4).
struct AwaitedPublish {
    RecordIndex index = 0;
    TopicId topic = kNone;
    Position position = 0;
    std::string body;
};

}  // namespace pinnace
