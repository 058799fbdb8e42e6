// SPDX-License-Identifier: Apache-2.0
// What a topic and a queue are defined by (section Q), as plain values with the defaults of Q1. Texts of
// elements are turned into these by core/config_parse.h, so that the command line, scenarios and XML files
// share one reader.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/types.h"

namespace pinnace {

// The tag that the queue was defined by (Q): Queue and QueueDefinition, LocalQueue, GroupLocalQueue.
enum class QueueTag : std::uint8_t { queue, local, group_local };
enum class Semantics : std::uint8_t { at_least_once, at_most_once };
enum class Leasing : std::uint8_t { sublet, strict };
enum class Fairness : std::uint8_t { proportional, round_robin, fast };
enum class DeliverAfter : std::uint8_t { sequenced, persisted };

struct TopicConfig {
    std::string name;
    std::string message_type = "json";
};

struct QueueConfig {
    std::string name;
    std::string message_type = "json";
    std::vector<std::string> underlying_topics;  // names or patterns (T10); empty: the queue's own name
    std::string default_publish_target;          // empty: the underlying topic
    Semantics semantics = Semantics::at_least_once;
    Leasing leasing = Leasing::sublet;
    Fairness fairness = Fairness::proportional;
    DeliverAfter deliver_after = DeliverAfter::sequenced;
    Duration lease_period = kNever;
    Duration expiration = kNever;
    Duration delay = 0;
    Duration deferred_ack_expiration = Duration{86'400} * 1'000'000'000;
    Duration dedup_window = 0;  // 0: no deduplication
    std::uint64_t max_backlog = UINT64_MAX;
    std::uint64_t max_per_subscription_backlog = UINT64_MAX;  // UINT64_MAX: not set (D4)
    std::uint64_t target_queue_depth = UINT64_MAX;
    std::uint32_t max_deliveries = 0;  // 0: no limit
    std::uint32_t max_cancels = 0;
    bool fifo = false;
    bool sticky = false;
    bool content_based_dedup = false;
    std::string filter;  // texts of expressions; empty: none
    std::string priority;
    std::string barrier_expression;
    std::string group_key;
    std::string dead_letter_queue;
    std::string recovery_point = "epoch";
    // Of distributed queues, and of queues whose state may be paged out: kept, without effect so far.
    QueueTag tag = QueueTag::queue;
    std::string initial_owner;
    std::string group_local_queue_domain;
    bool file_backed_metadata = false;
};

// A SOW topic and a view as they were written (V2, V4).
struct SowTopicConfig {
    std::string name;
    std::string message_type = "json";
    std::string file_name;
    std::vector<std::string> keys;
    Duration expiration = kNever;
};

struct ViewConfig {
    std::string name;
    std::string message_type = "json";
    std::vector<std::string> underlying_topics;
    std::vector<std::string> projection;  // "EXPRESSION AS /name" each
    std::vector<std::string> grouping;
};

// What is done when a message leaves one of the queues for a reason of X1 (A1), step by step.
struct ActionStep {
    enum class Kind : std::uint8_t { extract_values, publish_message };
    Kind kind = Kind::publish_message;
    std::string topic;  // publish: a queue's name or a topic
    std::string message_type = "json";
    std::string data;                                         // a template: {{NAME}} is a variable
    std::vector<std::pair<std::string, std::string>> values;  // extract: NAME and expression
};

struct ActionConfig {
    std::string topic;  // a queue's name, or a pattern over queues' names
    std::string message_type = "json";
    std::vector<ActionStep> steps;
};

// Why a definition was refused: what is wrong, in which element, and how to mend it.
struct Refusal {
    std::string element;     // the configuration element at fault
    std::string text;        // whole sentence, names the queue and the topic
    std::string owner = {};  // the queue or topic that has the element
};

}  // namespace pinnace
