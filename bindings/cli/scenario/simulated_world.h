// SPDX-License-Identifier: Apache-2.0
// SimulatedWorld: the core alone, a fake clock, and a journal in memory.
//
// 1. After each command everything is flushed and reported durable, until nothing more happens.
// 2. After a restart or crash all bodies are cold: they come back through the journal's reader (D12).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "bindings/cli/scenario/memory_journal.h"
#include "bindings/cli/scenario/world.h"
#include "core/core.h"

namespace pinnace::scenario {

class SimulatedWorld final : public ScenarioWorld, private Effects {
 public:
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
    // A delivery with the body that came along, or was found later.
    struct Delivered {
        Delivery delivery;
        std::vector<std::byte> body;
        bool cold = false;
        bool pulled = false;  // asked for by `receive`
    };
    struct Subscription {
        std::string client;
        std::string target;
        SubscriptionId id = kNone;  // kNone: it has ended
        bool manual = false;
        std::vector<Delivered> ring;  // not taken yet
    };

    // Effects
    RecordIndex record(const RecordHeader& header, std::span<const std::byte> head,
                       const BodyRef& body) override;
    bool deliver(const Delivery& delivery) override;
    void expired(const Expired& event) override;
    void subscription_ended(SubscriptionId subscription, std::string_view why) override;
    const std::byte* body(Position position, const BodyRef& body) override;

    Outcome<void> begin_life(bool clean);
    Outcome<void> settle();
    void warm_up(std::size_t place);
    Outcome<void> hand_over();
    void forget_clients();
    void note(const RecordHeader& header, std::span<const std::byte> head);

    LogPosition keep_body(std::span<const std::byte> body);
    std::span<const std::byte> body_of(const BodyRef& body) const;  // empty: it is cold
    std::vector<std::byte> body_of(const QueuedMessage& message) const;
    MessageId id_of(Position position) const;
    Received received(const Delivered& delivered) const;

    std::uint32_t uid(const std::string& user);
    ClientId client(const std::string& name, const std::string& user = {});
    ClientId client_of(const std::string& subscription);
    Outcome<Subscription*> live_subscription(std::string_view name);
    Outcome<QueueId> queue(std::string_view name) const;
    Outcome<QueueId> queue_for_verb(const std::string& name, MessageId id) const;
    std::vector<Untaken> untaken_of(const Subscription& subscription) const;
    std::vector<Untaken> untaken_of(std::string_view client) const;
    std::vector<PublishMessage> messages_of(const Publish& command);

    std::vector<Definition> definitions_;
    MemoryJournal journal_;
    std::unique_ptr<Core> core_;
    std::uint32_t epoch_ = 0;
    Time now_ = 0;
    RecordIndex appended_ = 0;  // records of this life
    RecordIndex durable_ = 0;   // of these, told to the core

    std::unordered_map<std::uint64_t, std::vector<std::byte>> bodies_;  // the delivery log
    std::uint64_t log_end_ = 0;
    std::map<Position, Position> origin_of_;            // of moved messages
    std::map<std::uint32_t, std::string> queue_names_;  // by the ids of records
    std::map<std::pair<std::string, MessageId>, Position> moved_to_;
    std::map<MessageId, QueueId> last_queue_of_;  // that delivered it
    std::map<std::string, ClientId, std::less<>> clients_;
    std::map<std::string, Subscription, std::less<>> subscriptions_;
    std::map<std::string, std::uint32_t, std::less<>> uids_;
    std::vector<Delivered> incoming_;  // of the command under way
    std::vector<Received> pulled_;     // by the `receive` under way
    std::vector<std::byte> scanned_;   // the body that the core looks at
    std::vector<Arrival> arrivals_;
    std::map<QueueId, std::vector<Expired>> expired_;
};

}  // namespace pinnace::scenario
