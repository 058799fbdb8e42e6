// SPDX-License-Identifier: Apache-2.0
// FakeEngine: a little engine for tests of the client library: the real sockets, rings and log, and one queue
// "q" over one topic "t", with everything that a test wants to force: an end at any instant, marks that stand
// still, refusals, bodies that are gone, and lies.
//
// What is durable lies in a FakeStore, which outlives the engine. Threads: start(), stop() and die() from the
// test's; the knobs are atomic; the store is to be looked at only while no engine runs, or through look().
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "bindings/protocol/requests.h"
#include "bindings/protocol/wire.h"
#include "core/core.h"
#include "shm/engine_regions.h"
#include "shm/listener.h"
#include "shm/server_handshake.h"

namespace pinnace::client {

struct FakeMessage {
    std::uint64_t position = 0;
    std::uint64_t number = 0;
    std::uint32_t publisher = 0;
    std::string body;
    std::uint16_t count = 0;
    bool is_resent = false;
    bool is_acknowledged = false;
};

struct FakeStore {
    std::vector<FakeMessage> messages;
    std::map<std::string, std::uint32_t> publishers;
    std::map<std::uint32_t, std::uint64_t> highest;
    std::uint32_t epoch = 0;
};

class FakeEngine {
 public:
    static constexpr std::uint32_t kTopic = 7;
    static constexpr std::uint32_t kQueue = 0;

    FakeEngine(FakeStore& store, std::string socket_path) : store_(store), path_(std::move(socket_path)) {}
    ~FakeEngine() { die(); }

    void start();
    // At once, as if killed: nothing more is read, written or told.
    void die();
    // Orderly: waits until clients froze their cursors.
    void stop();
    // Runs in the engine's thread, between two turns.
    void look(const std::function<void()>& call);

    // --- Knobs
    std::atomic<bool> holds_marks{false};  // nothing becomes durable
    std::atomic<bool> reads{true};         // the rings are read
    std::atomic<bool> delivers{true};
    bool refuses_adoption = false;            // set before start()
    std::atomic<int> bodies_gone{0};          // so many bodies are told to be where they are not any more
    std::atomic<int> bodies_refused{0};       // so many questions for bodies are answered stale
    std::atomic<bool> lies{false};            // the next delivery points outside of the log
    std::set<std::uint64_t> refused_numbers;  // set before start()

    // --- What happened; read through look() or after the end
    struct Applied {
        std::uint64_t position = 0;
        std::uint8_t verb = 0;
    };
    std::vector<Applied> verbs;
    std::vector<std::uint64_t> read_numbers;
    int untaken_count = 0;
    unsigned given_at_replace = 0;  // bits: target, limit, filter
    std::string target_at_replace;

 private:
    struct Subscription {
        std::uint32_t id = 0;
        std::uint64_t limit = 0;
        std::uint64_t held = 0;
    };
    struct Session {
        std::unique_ptr<shm::ServerSession> session;
        std::vector<Subscription> subscriptions;
        std::map<std::uint64_t, std::uint32_t> leased;  // position, subscription
        std::string partial;
        std::uint32_t publisher = UINT32_MAX;
    };

    void run();
    void turn();
    void admit();
    static bool is_refused(int socket);
    void read_submissions(Session& session);
    void read_verbs(Session& session);
    void apply(Session& session, const shm::AckEntry& entry);
    static void tell(Session& session, const shm::AckEntry& entry, Answer answer);
    void deliver();
    void deliver(Session& session, Subscription& subscription, FakeMessage& message, bool again);
    void serve(Session& session);
    std::vector<std::byte> answer(Session& session, const shm::SocketMessage& request);
    void make_durable();
    FakeMessage* find(std::uint64_t position);

    FakeStore& store_;
    std::string path_;
    std::thread thread_;
    std::atomic<bool> is_dying_{false};
    std::atomic<bool> is_stopping_{false};
    std::atomic<bool> is_ready_{false};
    std::mutex call_mutex_;
    std::function<void()> call_;

    // This life's.
    std::unique_ptr<shm::EngineRegions> regions_;
    std::unique_ptr<shm::Admission> admission_;
    std::unique_ptr<shm::Listener> listener_;
    std::vector<std::unique_ptr<shm::ServerHandshake>> handshakes_;
    std::vector<std::unique_ptr<Session>> sessions_;
    std::deque<FakeMessage> messages_;  // all that are not acknowledged, and those that are not durable
    std::map<std::uint32_t, std::uint64_t> highest_;
    std::uint64_t position_ = 0;
    std::uint32_t subscription_ = 0;
};

}  // namespace pinnace::client
