// SPDX-License-Identifier: Apache-2.0
// A scenario file as plain values: its definitions, the definitions that must be refused, and its commands.
// The form is described in the README of this folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "bindings/cli/scenario/token.h"
#include "core/core.h"

namespace pinnace::scenario {

enum class DefinitionKind : std::uint8_t { queue, topic, sow, view, config };

struct Definition {
    DefinitionKind kind = DefinitionKind::queue;
    std::string name;
    std::vector<std::pair<std::string, std::string>> elements;  // as written, in order
    std::string text;                                           // config: the whole file
    int line = 0;
};

// A definition that must be refused, with a message that contains each word.
struct Refused {
    Definition definition;
    std::vector<std::string> words;
};

// One message of a publish. What is not given stays empty.
struct NewMessage {
    std::string body;
    std::string name;  // `as`; empty: none
    std::optional<Duration> expiration;
    std::optional<Duration> delay;
    std::optional<std::string> group;
    std::optional<std::string> dedup;
};

struct Publish {
    std::string topic;
    std::vector<NewMessage> messages;
    std::string from;  // empty: not numbered
    std::uint64_t number = 0;
};

struct DeltaPublish {
    std::string topic;
    NewMessage message;
};

struct Delete {
    std::string topic;
    std::string where;
};

struct Subscribe {
    std::string name;
    std::string target;
    std::string client;  // never empty
    std::string user;
    std::string filter;
    std::string bookmark;  // empty: none; else EPOCH, NOW, a timestamp or a message's name
    std::uint64_t max_backlog = 1;
    bool manual = false;  // its application takes only when told
    bool tail = false;    // to the topic, even if a queue has its name
};

struct Replace {
    std::string name;
    std::optional<std::string> target;
    std::optional<std::string> filter;
    std::optional<std::uint64_t> max_backlog;
};

struct Unsubscribe {
    std::string name;
};

struct EndClient {
    std::string client;
    bool kill = false;  // without a word
};

struct Take {
    std::string name;
    std::uint64_t count = UINT64_MAX;
};

struct Expect {
    std::string name;
    std::vector<Token> items;
};

struct Verbs {
    Verb verb = Verb::acknowledge;
    std::string name;
    std::vector<std::string> messages;
    Duration period = 0;  // renew: 0: the latest one
};

struct AcknowledgeWhere {
    std::string name;
    std::string queue;
    std::string where;
};

struct Advance {
    Duration by = 0;
};

struct Restart {
    bool crash = false;
};

struct Query {
    std::string target;
    std::optional<std::string> where;
};

struct Rows {
    std::string view;
    std::optional<std::string> where;
};

struct Count {
    std::string queue;
    bool leased_only = false;
};

struct ExpiredSince {
    std::string queue;
};

struct Receive {
    std::string name;
    std::string queue;
    std::uint64_t count_max = 1;
};

struct Redrive {
    std::string from;
    std::string to;
};

struct Purge {
    std::string queue;
};

using Command = std::variant<Publish, DeltaPublish, Delete, Subscribe, Replace, Unsubscribe, EndClient, Take,
                             Expect, Verbs, AcknowledgeWhere, Advance, Restart, Query, Rows, Count,
                             ExpiredSince, Receive, Redrive, Purge>;

// The tokens behind `=>`.
using Wanted = std::vector<Token>;

struct Step {
    int line = 0;
    Command command;
    std::optional<Wanted> wanted;  // nothing: it must succeed, that is all
};

struct Scenario {
    std::vector<Definition> definitions;
    std::vector<Refused> refusals;
    std::vector<Step> steps;
};

}  // namespace pinnace::scenario
