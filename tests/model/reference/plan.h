// SPDX-License-Identifier: Apache-2.0
// Plan: what is run against the model and the core, as plain values: definitions, commands, and outcomes.
//
// Names are numbers here: queues by order of definition, subscriptions, clients, messages and publishers by
// numbers that the generator hands out and never uses twice. So a command can be taken out of a sequence
// without changing what the others mean.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/types.h"

namespace pinnace::model {

enum class Fairness : std::uint8_t { proportional, round_robin, fast };

// One queue; the defaults of Q1. Counts: UINT64_MAX (backlogs, depth) or 0 (limits) stand for none.
struct QueueDef {
    std::string name;
    std::vector<std::string> topics;  // empty: the queue's own name
    std::string target;               // DefaultPublishTarget; empty: the topic
    bool at_most_once = false;
    bool strict = false;
    bool fifo = false;
    bool sticky = false;
    bool content_dedup = false;
    bool persisted = false;  // DeliverAfter
    Fairness fairness = Fairness::proportional;
    Duration lease_period = kNever;
    Duration expiration = kNever;
    Duration delay = 0;
    Duration dedup_window = 0;
    Duration deferred_expiration = Duration{86'400} * 1'000'000'000;
    std::uint64_t max_backlog = UINT64_MAX;
    std::uint64_t max_per_subscription = UINT64_MAX;
    std::uint64_t target_depth = UINT64_MAX;
    std::uint32_t max_deliveries = 0;
    std::uint32_t max_cancels = 0;
    std::string filter, priority, barrier, group_key;
    std::string dead_letters;
};

enum class Kind : std::uint8_t {
    publish,
    subscribe,
    replace,
    unsubscribe,
    end_client,  // flag: killed without a word
    take,
    acknowledge,
    cancel,
    expire,
    renew,
    acknowledge_where,
    advance,
    restart,
    crash,
    query,
    receive,
    redrive,
    purge,
};

struct NewMessage {
    int name = 0;
    std::string body;
    Duration expiration = -1;  // -1: not given
    Duration delay = -1;
    std::optional<std::string> group;
    std::optional<std::string> dedup;
};

// What a field means depends on the kind; the others stay as they are.
struct Command {
    Kind kind = Kind::advance;
    std::string target;                // topic or queue or pattern
    std::vector<NewMessage> messages;  // publish; `flag`: as a batch
    int publisher = 0;                 // 0: not numbered
    std::uint64_t number = 0;          // the publisher's; receive, take: how many
    int subscription = 0;              // also the consumer of a pull
    int client = 0;
    std::optional<std::string> filter;
    std::optional<std::uint64_t> max_backlog;
    std::vector<int> names;  // of messages
    Duration time = 0;       // advance; renew: 0 for the latest period
    int queue = 0;
    int other = 0;      // redrive: the queue that it goes to
    bool flag = false;  // subscribe: takes only when told
};

struct Sequence {
    std::uint64_t seed = 0;
    std::vector<std::string> topics;
    std::vector<QueueDef> queues;
    std::vector<Command> commands;
};

enum class Word : std::uint8_t { ok, stored, duplicate, unknown, not_owner, stale, deferred, range };

struct Delivered {
    int subscription = 0;
    int name = 0;
    int queue = -1;  // -1: of a topic
    std::uint64_t count = 0;
    Time deadline = kNever;
    Time published = 0;
    bool operator==(const Delivered&) const = default;
};

struct Left {
    int queue = 0;
    int name = 0;
    unsigned reasons = 0;  // bits, in the order of X1
    bool operator==(const Left&) const = default;
};

struct Numbers {
    std::uint64_t depth = 0;
    std::uint64_t leased = 0;
    bool operator==(const Numbers&) const = default;
};

// What a command did.
struct Outcome {
    std::string error;  // of the whole command; empty: it was done
    std::vector<Word> words;
    std::vector<int> firsts;           // publish: whom a message is a duplicate of; 0: not known
    std::uint64_t count = 0;           // of messages, for commands that answer with a number
    std::vector<int> listing;          // query
    std::vector<Delivered> delivered;  // grouped by subscription, in order for each
    std::vector<Left> left;            // grouped by queue, in order for each
    std::vector<Numbers> numbers;      // of each queue, afterwards
    bool operator==(const Outcome&) const = default;
};

inline constexpr Time kStart = Time{1'767'225'600} * 1'000'000'000;  // 2026-01-01T00:00:00Z
inline constexpr Duration kSecond = 1'000'000'000;
// Consumers that pull without a subscription have clients of their own, numbered from here.
inline constexpr int kPullerBase = 1'000'000;

}  // namespace pinnace::model
