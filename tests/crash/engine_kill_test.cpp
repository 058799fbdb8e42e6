// SPDX-License-Identifier: Apache-2.0
// The engine is killed at random instants under load and started again on the same data (T8, L3, L13, C4).
//
// Two clients live through it: a publisher that opens a new connection for each life of the engine and never
// sends anything twice, so that what was reported persisted can only come from the journal; and a consumer
// that keeps its connection, which reconnects by itself and hands in its acknowledgments. The publisher goes
// on only while the consumer keeps up, so that each life is about what is under way and not about a backlog.
// Rounds: PINNACE_KILL_ROUNDS, 10 by default.
//
// The engine waits only a moment for its former clients (--rejoin-grace): the publisher's process lives on
// and its old session never comes back, so that each restart would wait for all of it.
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <unordered_set>

#include "bindings/cpp/pinnace.h"
#include "tests/support/engine_process.h"
#include "tests/support/temp_dir.h"

namespace pinnace::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class Clients {
 public:
    explicit Clients(std::string socket) : socket_(std::move(socket)) {}

    // Until told to end: publishes in lives, each with a connection of its own.
    void publish() {
        while (!ending_.load(std::memory_order_relaxed)) publish_one_life();  // relaxed: only ends the loop
    }

    // Until all that was persisted has come.
    void consume() {
        ConnectionOptions options = options_named("consumer");
        auto connection = Connection::open(options);
        if (!connection) return fail("consumer: " + connection.error().text);
        auto subscriber = Subscriber::open(*connection, "orders", {.max_backlog = 64});
        if (!subscriber) return fail("consumer: " + subscriber.error().text);
        while (!done()) {
            const auto messages = subscriber->take(64, milliseconds(5));
            if (!messages) return fail("take: " + messages.error().text);
            for (const Message& message : *messages) {
                if (!take(message, *subscriber)) return;
            }
            collect_durable(*subscriber);
        }
    }

    void end() { ending_.store(true, std::memory_order_relaxed); }  // relaxed: only ends the loop
    void may_finish() {
        finishing_.store(true, std::memory_order_relaxed);
    }  // relaxed: the mutex orders the rest
    // Until `count` more messages are persisted and as many verbs durable, or a client has failed.
    void wait_for_progress(std::uint64_t count) {
        std::unique_lock lock(mutex_);
        const std::uint64_t persisted = persisted_count_ + count;
        const std::uint64_t durable = durable_count_ + count / 4;
        progress_.wait(lock, [&] {
            return (persisted_count_ >= persisted && durable_count_ >= durable) || !failure_.empty();
        });
    }
    void give_up(std::string text) { fail(std::move(text)); }
    bool failed() {
        const std::lock_guard lock(mutex_);
        return !failure_.empty();
    }
    const std::string& failure() const { return failure_; }  // when the threads are gone
    std::size_t persisted_count() const { return persisted_count_; }
    std::size_t durable_count() const { return durable_count_; }
    std::size_t missing_count() const { return missing_.size(); }

 private:
    static constexpr std::size_t kUnderWayMax = 2000;

    ConnectionOptions options_named(const char* name) const {
        ConnectionOptions options;
        options.socket = socket_;
        options.name = name;
        options.wait = ConnectionOptions::Wait::block;
        options.submit_size = 1u << 20;
        options.delivery_count = 1024;
        options.acknowledgment_count = 1024;
        options.connect_timeout = seconds(60);
        return options;
    }

    void publish_one_life() {
        ConnectionOptions options = options_named("publisher");
        options.reconnect = false;
        options.subscribes = false;
        options.connect_timeout = milliseconds(20);
        auto connection = Connection::open(options);
        if (!connection) return;  // between two lives
        auto publisher = Publisher::open(*connection);
        if (!publisher) return;
        std::vector<std::uint64_t> sent;  // index: the publisher's number
        std::size_t told = 0;
        while (!ending_.load(std::memory_order_relaxed)) {  // relaxed: only ends the loop
            if (!wait_for_consumer(sent.size() - told)) {
                // Nothing is lost by waiting for the engine here, and its death is seen.
                const auto looked = publisher->wait_persisted({sent.size()}, milliseconds(5));
                if (!looked && looked.error().code != ErrorCode::timed_out) break;
                tell(*publisher, sent, told);
                continue;
            }
            const std::uint64_t id = ++next_id_;
            std::string body = std::to_string(id);
            body.resize(8 + id % 200, ' ');
            const auto receipt = publisher->publish("orders", std::string_view(body), milliseconds(50));
            if (receipt) sent.push_back(id);
            if (!receipt && receipt.error().code != ErrorCode::would_block &&
                receipt.error().code != ErrorCode::timed_out) {
                break;
            }
            tell(*publisher, sent, told);
        }
        tell(*publisher, sent, told);
    }

    // True when little enough is under way that another message may be sent.
    bool wait_for_consumer(std::size_t unpersisted_count) {
        if (unpersisted_count >= kUnderWayMax) return false;
        std::unique_lock lock(mutex_);
        return progress_.wait_for(lock, milliseconds(5), [&] { return missing_.size() < kUnderWayMax; });
    }

    // What the engine has reported persisted must come from now on, whatever happens to it.
    void tell(Publisher& publisher, const std::vector<std::uint64_t>& sent, std::size_t& told) {
        const std::uint64_t persisted = publisher.persisted();
        if (persisted <= told || persisted > sent.size()) return;
        const std::lock_guard lock(mutex_);
        for (; told < persisted; ++told) {
            ++persisted_count_;
            if (!delivered_.contains(sent[told])) missing_.insert(sent[told]);
        }
        progress_.notify_all();
    }

    bool take(const Message& message, Subscriber& subscriber) {
        const std::uint64_t id = std::strtoull(std::string(message.text()).c_str(), nullptr, 10);
        if (durable_.contains(id)) {
            fail("message " + std::to_string(id) +
                 " came again after its acknowledgment was reported durable");
            return false;
        }
        {
            const std::lock_guard lock(mutex_);
            delivered_.insert(id);
            missing_.erase(id);
        }
        const auto number = subscriber.ack(message);
        if (!number) {
            fail("ack: " + number.error().text);
            return false;
        }
        acknowledged_[*number] = id;
        return true;
    }

    void collect_durable(Subscriber& subscriber) {
        const std::uint64_t durable = subscriber.durable_acks();
        // What was answered otherwise is passed by the mark and is not durable.
        for (const VerbAnswer& answer : subscriber.answers()) acknowledged_.erase(answer.number);
        while (!acknowledged_.empty() && acknowledged_.begin()->first <= durable) {
            durable_.insert(acknowledged_.begin()->second);
            acknowledged_.erase(acknowledged_.begin());
        }
        const std::lock_guard lock(mutex_);
        durable_count_ = durable_.size();
        progress_.notify_all();
    }

    bool done() {
        if (!finishing_.load(std::memory_order_relaxed)) return false;  // relaxed: the mutex orders the rest
        const std::lock_guard lock(mutex_);
        return !failure_.empty() || missing_.empty();
    }
    void fail(std::string text) {
        const std::lock_guard lock(mutex_);
        if (failure_.empty()) failure_ = std::move(text);
        progress_.notify_all();
    }

    std::string socket_;
    std::atomic<bool> ending_{false};
    std::atomic<bool> finishing_{false};
    std::mutex mutex_;  // guards what stands up to failure_
    std::condition_variable progress_;
    std::size_t persisted_count_ = 0;
    std::size_t durable_count_ = 0;
    std::unordered_set<std::uint64_t> delivered_;
    std::set<std::uint64_t> missing_;  // persisted, and did not come yet
    std::string failure_;
    std::unordered_set<std::uint64_t> durable_;            // consumer's own
    std::map<std::uint64_t, std::uint64_t> acknowledged_;  // consumer's own: number of the verb -> id
    std::uint64_t next_id_ = 0;                            // publisher's own
};

TEST(EngineKill, LosesNothingPersistedAndBringsNothingBackThatWasDurablyAcknowledged) {
    const TempDir directory;
    const std::string socket = directory.path() + "/engine.sock";
    EngineProcess engine(PINNACE_BINARY,
                         {"--data", directory.path() + "/data", "--socket", socket, "--queue",
                          "orders LeasePeriod=30s", "--segment-size", "8MiB", "--message-size-max", "64KiB",
                          "--log-size", "2MiB", "--no-pin", "--wait", "block", "--rejoin-grace", "20ms"});
    ASSERT_TRUE(engine.start()) << engine.last_line();
    Clients clients(socket);
    std::thread publisher([&] { clients.publish(); });
    std::thread consumer([&] { clients.consume(); });

    std::mt19937_64 random(test_seed());
    const int rounds = rounds_or("PINNACE_KILL_ROUNDS", 10);
    bool started = true;
    for (int round = 0; round < rounds && started && !clients.failed(); ++round) {
        // A random instant by what was done, so that each life does something however slow the machine is.
        clients.wait_for_progress(random() % 400);
        engine.kill_now();
        started = engine.start();
        if (!started) clients.give_up("the engine did not start: " + engine.last_line());
    }
    clients.end();
    publisher.join();
    clients.may_finish();
    consumer.join();
    ASSERT_EQ(clients.failure(), "");
    EXPECT_EQ(clients.missing_count(), 0u) << "messages that were persisted never came";
    EXPECT_GT(clients.persisted_count(), 0u);
    EXPECT_GT(clients.durable_count(), 0u);
    std::printf("%d rounds, %zu messages persisted, %zu acknowledgments durable\n", rounds,
                clients.persisted_count(), clients.durable_count());
    EXPECT_EQ(engine.stop(), 0);
}

// The client never freezes its cursor, so an orderly stop would wait for it.
TEST(EngineStop, ASecondSignalEndsItAtOnceAndNothingPersistedIsLost) {
    const TempDir directory;
    EngineProcess engine(PINNACE_BINARY, {"--data", directory.path(), "--queue", "orders", "--wait", "block",
                                          "--no-pin", "--rejoin-grace", "10ms"});
    ASSERT_TRUE(engine.start()) << engine.last_line();
    ConnectionOptions options;
    options.socket = directory.path() + "/pinnace.sock";
    {
        const auto connection = Connection::open(options);
        ASSERT_TRUE(connection) << connection.error().text;
        auto publisher = Publisher::open(*connection);
        auto subscriber = Subscriber::open(*connection, "orders", {.max_backlog = 1});
        ASSERT_TRUE(publisher && subscriber);
        ASSERT_TRUE(publisher->publish("orders", std::string_view("x")));
        ASSERT_TRUE(publisher->wait_persisted(seconds(30)));
        EXPECT_NE(engine.stop_at_once(), 0);
    }
    ASSERT_TRUE(engine.start()) << engine.last_line();
    const auto connection = Connection::open(options);
    ASSERT_TRUE(connection) << connection.error().text;
    auto subscriber = Subscriber::open(*connection, "orders", {.max_backlog = 1});
    ASSERT_TRUE(subscriber);
    const auto messages = subscriber->take(1, seconds(30));
    ASSERT_TRUE(messages);
    EXPECT_EQ(messages->size(), 1u);
}

}  // namespace
}  // namespace pinnace::testing
