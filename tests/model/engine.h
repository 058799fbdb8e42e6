// SPDX-License-Identifier: Apache-2.0
// Engine: the core as the model's counterpart: the same commands in, the same outcomes out. Records are kept
// as they come and applied again after a restart or crash; each command settles before it answers, as in a
// scenario: everything becomes durable, and cold bodies are read.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/core.h"
#include "tests/model/reference/plan.h"

namespace pinnace::model {

class Engine final : private Effects {
 public:
    // Refused definitions are a mistake of the generator: the text of the refusal.
    std::string start(const Sequence& setup);
    // The command is effective (Model::effective).
    Outcome run(const Command& command);
    std::uint64_t durable_digest() const { return core_->durable_digest(); }

 private:
    struct Stored {
        RecordHeader header;
        std::vector<std::byte> head;
        std::vector<std::byte> body;
    };
    struct Tag {
        QueueId queue = kNone;
        Position position = 0;
        LeaseId lease = 0;
        Handle handle = kNone;
    };
    struct Subscriber {
        int client = 0;
        std::string target;
        SubscriptionId id = kNone;  // kNone: it has ended
        bool manual = false;
        std::vector<Tag> ring;
        std::map<int, Tag> newest;
    };
    struct Waiting {
        Delivery delivery;
        bool cold = false;
    };

    // Effects
    RecordIndex record(const RecordHeader& header, std::span<const std::byte> head,
                       const BodyRef& body) override;
    bool deliver(const Delivery& delivery) override;
    void expired(const Expired& event) override;
    void subscription_ended(SubscriptionId, std::string_view) override {}
    const std::byte* body(Position position, const BodyRef& body) override;

    std::string begin_life(bool clean);
    std::string make_core(std::unique_ptr<Core>& core);
    std::string apply_records();
    void settle();
    void hand_over();
    void publish(const Command& command);
    void subscribe(const Command& command);
    void replace(const Command& command);
    void end_subscriber(Subscriber& subscriber);
    void end_client(int client);
    void verbs(const Command& command);
    void acknowledge_where(const Command& command);
    void advance(Duration by);
    void restart();
    void query(const Command& command);
    void receive(const Command& command);
    ClientId client(int name);
    Tag tag_of(const Subscriber& by, int name) const;
    std::vector<Untaken> untaken(const std::vector<Tag>& ring) const;
    int name_of(Position position) const;

    Sequence setup_;
    std::unique_ptr<Core> core_;
    std::uint32_t epoch_ = 0;
    Time now_ = kStart;
    std::vector<Stored> records_;
    std::vector<Stored> removals_;  // of the batch under way
    RecordIndex appended_ = 0;      // in this life
    RecordIndex durable_ = 0;
    std::map<std::uint64_t, int> name_of_body_;  // by place in the log, of this life
    std::uint64_t log_end_ = 0;
    std::map<Position, int> names_;                 // of stored and moved messages
    std::map<int, Position> positions_;             // as first stored
    std::map<Position, Position> records_of_body_;  // moved messages: where the body's record is
    std::map<Position, std::size_t> record_at_;     // of message records
    std::map<std::uint32_t, std::string> queue_names_;
    std::map<std::pair<std::string, int>, Position> moved_;
    std::map<int, QueueId> last_queue_;
    std::map<int, ClientId> clients_;
    std::map<int, Subscriber> subscribers_;
    std::map<SubscriptionId, int> by_id_;
    std::vector<Waiting> incoming_;
    Pulled pulled_;  // by the pull under way, and not handed over yet
    Outcome* outcome_ = nullptr;
    std::vector<Left> early_;  // events of a start
};

}  // namespace pinnace::model
