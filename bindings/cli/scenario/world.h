// SPDX-License-Identifier: Apache-2.0
// ScenarioWorld: the engine as a scenario sees it. The runner knows nothing else, so that the same
// scenarios run against the core alone and against a live engine.
//
// 1. When a call returns, the engine has settled: all that can happen at this instant has happened, and
//    all of it is in the journal.
// 2. Subscriptions and clients are known by the names of the scenario. A client that is named and not
//    there yet is opened.
// 3. A message is known by its MessageId. A dead letter and a redriven message have the id of the message
//    that they came of.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bindings/cli/scenario/scenario.h"
#include "core/core.h"

namespace pinnace::scenario {

// Why a command did not do what it should.
struct Fault {
    enum class Kind : std::uint8_t {
        refused,      // the engine's answer; a scenario may want just that
        unsupported,  // this world cannot do it yet: never a pass
        broken,       // the engine has failed
    };
    Kind kind = Kind::refused;
    std::string text;
    int line = 0;  // of the definition at fault; 0: the command's own
};

template <class T>
using Outcome = std::expected<T, Fault>;

inline std::unexpected<Fault> unsupported(std::string what) {
    return std::unexpected(Fault{Fault::Kind::unsupported, std::move(what), 0});
}

inline std::unexpected<Fault> refused(std::string text) {
    return std::unexpected(Fault{Fault::Kind::refused, std::move(text), 0});
}
inline std::unexpected<Fault> refused(const RequestError& error) {
    return refused(std::string(to_text(error.answer)) + ": " + error.text);
}

// The position of the message as it was first stored; 0: none.
using MessageId = Position;

// What a verb needs of a delivery. The runner keeps it and hands it back.
struct DeliveryTag {
    QueueId queue = kNone;
    Position position = 0;
    LeaseId lease = 0;
    Handle handle = kNone;
};

// A message as a subscriber, a pull or a query gets it.
struct Received {
    MessageId id = 0;
    std::uint32_t count = 0;  // of deliveries; 0: it has none
    std::string body;
    bool is_row = false;  // of a view
    DeliveryTag tag;
};

struct Arrival {
    std::string subscription;
    Received message;
};

struct Published {
    bool duplicate = false;
    MessageId id = 0;  // 0: the first one is no longer known
};

struct ExpiredMessage {
    MessageId id = 0;
    std::string reasons;  // joined by commas (X1)
};

// A verb's target: the delivery that the subscription had, or the bare message.
struct VerbTarget {
    MessageId id = 0;
    std::optional<DeliveryTag> tag;
};

class ScenarioWorld {
 public:
    virtual ~ScenarioWorld() = default;

    // Starts the engine with these definitions. Called once, first.
    virtual Outcome<void> start(std::span<const Definition> definitions) = 0;

    virtual Outcome<std::vector<Published>> publish(const Publish& command) = 0;
    virtual Outcome<Published> publish_delta(const DeltaPublish& command) = 0;
    virtual Outcome<std::uint64_t> erase(const Delete& command) = 0;

    // `after`: the message that command.bookmark names, if it names one.
    virtual Outcome<void> subscribe(const Subscribe& command, std::optional<MessageId> after) = 0;
    virtual Outcome<void> replace(const Replace& command) = 0;
    virtual Outcome<void> unsubscribe(std::string_view subscription) = 0;
    virtual Outcome<void> end_client(const EndClient& command) = 0;
    virtual Outcome<void> take(const Take& command) = 0;
    // What has been taken since the last call, in order.
    virtual std::vector<Arrival> arrivals() = 0;

    // One command, whatever the number of targets; an answer for each.
    virtual Outcome<std::vector<Answer>> verbs(const Verbs& command, std::span<const VerbTarget> targets) = 0;
    virtual Outcome<std::uint64_t> acknowledge_where(const AcknowledgeWhere& command) = 0;
    virtual Outcome<std::vector<Received>> receive(const Receive& command) = 0;

    virtual Outcome<void> advance(Duration by) = 0;
    virtual Outcome<void> restart() = 0;
    virtual Outcome<void> crash() = 0;

    virtual Outcome<std::vector<Received>> query(const Query& command) = 0;
    virtual Outcome<std::vector<std::string>> rows(const Rows& command) = 0;
    virtual Outcome<QueueStatus> status(std::string_view queue) = 0;
    // What has left the queue for a reason of X1 since the last call for it, over restarts too.
    virtual Outcome<std::vector<ExpiredMessage>> expired(std::string_view queue) = 0;
    virtual Outcome<std::uint64_t> redrive(const Redrive& command) = 0;
    virtual Outcome<std::uint64_t> purge(std::string_view queue) = 0;
};

}  // namespace pinnace::scenario
