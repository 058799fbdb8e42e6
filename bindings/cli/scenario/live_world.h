// SPDX-License-Identifier: Apache-2.0
// LiveWorld: a real engine in a process of its own, its journal in a temporary folder, and clients that
// reach it through shared memory.
//
// 1. After each command the engine says that it has settled, and every client has taken what it takes at
// once; both again until nothing comes. Nothing sleeps or guesses.
// 2. What only the engine knows (what has left for a reason, what a dead letter came of) is read from its
//    journal's files.
// 3. A killed client is one whose connection ends without a word, its cursors as they are.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bindings/cli/scenario/journal_tail.h"
#include "bindings/cli/scenario/live_client.h"
#include "bindings/cli/scenario/live_engine.h"
#include "bindings/cli/scenario/world.h"

namespace pinnace::scenario {

class LiveWorld final : public ScenarioWorld {
 public:
    LiveWorld() = default;
    ~LiveWorld() override;

    Outcome<void> start(std::span<const Definition> definitions) override;
    Outcome<std::vector<Published>> publish(const Publish& command) override;
    Outcome<Published> publish_delta(const DeltaPublish& command) override;
    Outcome<std::uint64_t> erase(const Delete& command) override;
    Outcome<void> subscribe(const Subscribe& command, std::optional<MessageId> after) override;
    Outcome<void> replace(const Replace& command) override;
    Outcome<void> unsubscribe(std::string_view subscription) override;
    Outcome<void> end_client(const EndClient& command) override;
    Outcome<void> take(const Take& command) override;
    std::vector<Arrival> arrivals() override;
    Outcome<std::vector<Answer>> verbs(const Verbs& command, std::span<const VerbTarget> targets) override;
    Outcome<std::uint64_t> acknowledge_where(const AcknowledgeWhere& command) override;
    Outcome<std::vector<Received>> receive(const Receive& command) override;
    Outcome<void> advance(Duration by) override;
    Outcome<void> restart() override;
    Outcome<void> crash() override;
    Outcome<std::vector<Received>> query(const Query& command) override;
    Outcome<std::vector<std::string>> rows(const Rows& command) override;
    Outcome<QueueStatus> status(std::string_view queue) override;
    Outcome<std::vector<ExpiredMessage>> expired(std::string_view queue) override;
    Outcome<std::uint64_t> redrive(const Redrive& command) override;
    Outcome<std::uint64_t> purge(std::string_view queue) override;

 private:
    // Whose client a consumer is, and what it consumes: over its end and the engine's lives.
    struct Consumer {
        std::string client;
        std::string target;
    };
    struct Sender {
        Connection connection;
        Publisher publisher;
    };

    Outcome<void> begin_life();
    Outcome<void> settle();
    Outcome<bool> take_at_once();
    // Remembers who had it, under the name that the scenario knows.
    void note(LiveClient::Taken& taken);
    void forget_clients();
    std::size_t session_count() const { return clients_.size() + senders_.size() + (tool_ ? 1 : 0); }

    Outcome<LiveClient*> client(const std::string& name);
    Outcome<LiveClient*> client_of(const std::string& consumer);
    // The client that holds this subscription now.
    Outcome<LiveClient*> holder(std::string_view subscription);
    Outcome<Sender*> sender(const std::string& name);
    Outcome<Connection*> tool();
    Outcome<Lease> lease_of(const Verbs& command, const VerbTarget& target);
    bool is_queue(std::string_view name) const;

    EngineOptions options_;
    std::string directory_;
    Time now_ = 0;
    std::optional<LiveEngine> engine_;
    std::optional<JournalTail> tail_;
    std::map<std::string, LiveClient> clients_;
    std::map<std::string, Sender> senders_;  // by the publisher's name; empty: one that is not named
    std::optional<LiveClient> tool_;         // for what no client of the scenario does
    std::map<std::string, Consumer, std::less<>> consumers_;
    std::map<MessageId, std::string> last_queue_of_;  // that delivered it
    std::vector<Arrival> arrivals_;
};

}  // namespace pinnace::scenario
