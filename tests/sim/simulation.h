// SPDX-License-Identifier: Apache-2.0
// Simulation: the real pump and core over fake clients, a fake clock and a fake journal that loses what was
// not synced. One seed is one run of several lives; each ends with a crash at any write, or in order.
//
// What is checked, while it runs and at the end:
//  1. Conservation: what was told to be durable is delivered again until it is acknowledged, or leaves for a
//     reason; nothing else takes it away. At most once: never twice, over any number of lives.
//  2. What was acknowledged, and told so, never comes back.
//  3. No more is leased than the limits of queue and subscription allow.
//  4. In a group, a message is first delivered only when all before it were.
//  5. A position names one message for ever, also in lives that were lost.
//  6. Recovery is exact: the same records give the same durable digest, with the recovery's own records too.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/model/random.h"
#include "tests/support/fake_ports.h"
#include "tests/support/folded.h"

namespace pinnace::testing {

class Simulation {
 public:
    explicit Simulation(std::uint64_t seed) : random_(seed) {}

    // What went wrong first; empty: nothing.
    std::string run(int life_count, int step_count);
    // Of everything that clients saw.
    std::uint64_t digest() const { return digest_; }

 private:
    using Key = std::pair<QueueId, Position>;
    struct Acked {
        std::uint64_t entry = 0;  // number of the entry in the ring
        Key key;
    };
    struct Published {
        std::uint64_t end = 0;  // in the submit ring
        std::string body;
    };
    struct Client {
        FakePort port;
        std::uint32_t session = kNone;
        std::size_t seen = 0;  // of port.deliveries
        std::vector<SubscriptionId> subscriptions;
        std::vector<Delivery> held;
        std::vector<Acked> acked;
        std::vector<Published> published;
        std::uint64_t entry_count = 0;
        bool ending = false;
    };

    void begin_life(bool clean);
    void end_life(bool clean);
    void step();
    void turns();
    void publish(Client& client);
    void verb(Client& client);
    void subscribe(Client& client);
    void serve_reads();
    void look(Client& client);
    void look_at_delivery(Client& client, const Delivery& delivery);
    void settle_told(Client& client);
    void check_limits();
    void check_recovery(bool clean);
    void drain();
    void note(std::uint64_t value) { digest_ = (digest_ ^ value) * 0x100000001b3u + (digest_ >> 47); }
    void fail(const std::string& text) {
        if (failure_.empty()) failure_ = text;
    }
    std::string body_at(const Delivery& delivery);
    static std::string apply(Core& core, const std::vector<FakeLog::Stored>& records);
    static std::string apply_folded(Core& core, const std::vector<FakeLog::Stored>& records);

    model::Random random_;
    std::uint64_t digest_ = 0xcbf29ce484222325u;
    std::string failure_;
    Time now_ = 1'000'000'000;
    std::uint32_t epoch_ = 0;
    int next_body_ = 1;
    std::vector<FakeLog::Stored> journal_;  // what survived
    std::unique_ptr<FakeLog> log_;
    std::unique_ptr<FakeOutside> outside_;
    std::unique_ptr<FakePump> pump_;
    std::deque<std::unique_ptr<Client>> clients_;
    std::size_t event_count_ = 0;
    std::map<Position, std::string> bodies_;                           // by the positions that anybody saw
    std::map<QueueId, std::map<std::string, Position>> group_newest_;  // first deliveries of this life
    std::set<Key> gone_;                                               // acknowledged, and told so
    std::set<std::string> tried_;          // somebody acknowledged it, told so or not
    std::map<std::string, QueueId> must_;  // told to be durable: the queue that it went to
    std::set<std::string> taken_once_;     // at most once
    std::set<Key> delivered_in_life_;
    std::map<std::string, int> delivered_;  // of the drain at the end
};

}  // namespace pinnace::testing
