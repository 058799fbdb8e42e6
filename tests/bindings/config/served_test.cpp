// SPDX-License-Identifier: Apache-2.0
// The files of tests/configurations, each served by a real engine whose clock the test sets, and seen to
// do what users of such configurations expect (Q, A, P, T6).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>

#include "bindings/config/configuration.h"
#include "bindings/cpp/pinnace.h"
#include "tests/support/temp_dir.h"

namespace pinnace::config {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

constexpr Time kStart = Time{1'767'225'600} * 1'000'000'000;  // 2026-01-01T00:00:00Z
constexpr Time kSecond = 1'000'000'000;

class Served : public ::testing::Test {
 protected:
    void serve(const std::string& file) {
        std::string text;
        const std::string path = std::string(PINNACE_TEST_DATA) + "/configurations/" + file;
        std::FILE* opened = std::fopen(path.c_str(), "rb");
        ASSERT_NE(opened, nullptr) << path;
        for (int c = 0; (c = std::fgetc(opened)) != EOF;) text += static_cast<char>(c);
        std::fclose(opened);
        const Loaded loaded = parse(text, [this](std::string_view name) {
            return name == "PINNACE_TEST_DIR" ? std::optional(directory_.path()) : std::nullopt;
        });
        ASSERT_FALSE(loaded.has_errors()) << loaded.text(file, false);
        EngineOptions options = engine_options(loaded.configuration);
        options.manual_clock = kStart;
        options.wait = WaitMode::block;
        options.pin = false;
        options.message_size_max = 1u << 20;
        options.segment_size = 16u << 20;
        options.log_small_size = 1u << 20;
        options.log_large_size = 4u << 20;
        options.log_reread_size = 2u << 20;
        options_ = options;
        start();
    }
    // Stops in order, and starts with changed options.
    void restart(const std::function<void(EngineOptions&)>& change) {
        subscribers_.clear();
        publisher_.reset();
        connection_.reset();
        ASSERT_TRUE(engine_->stop());
        engine_.reset();
        change(options_);
        start();
    }
    void start() {
        auto started = Engine::start(options_);
        ASSERT_TRUE(started) << started.error();
        engine_ = std::move(*started);
        ConnectionOptions client;
        client.socket = engine_->report().socket_path;
        client.wait = ConnectionOptions::Wait::block;
        client.submit_size = 4u << 20;
        auto connection = Connection::open(client);
        ASSERT_TRUE(connection) << connection.error().text;
        connection_.emplace(std::move(*connection));
        auto publisher = Publisher::open(*connection_);
        ASSERT_TRUE(publisher);
        publisher_.emplace(std::move(*publisher));
    }
    void publish(const char* topic, const char* body) {
        ASSERT_TRUE(publisher_->publish(topic, std::string_view(body))) << topic;
        ASSERT_TRUE(publisher_->wait_persisted(seconds(30)));
    }
    Subscriber& subscribe(const char* queue, std::uint64_t max_backlog = 100) {
        auto subscriber = Subscriber::open(*connection_, queue, {.max_backlog = max_backlog});
        EXPECT_TRUE(subscriber) << subscriber.error().text;
        return subscribers_.emplace(queue, std::move(*subscriber)).first->second;
    }
    // What the subscriber gets next, `count` bodies.
    static std::vector<std::string> bodies(Subscriber& from, std::size_t count) {
        std::vector<std::string> bodies;
        while (bodies.size() < count) {
            const auto messages = from.take(count - bodies.size(), seconds(30));
            EXPECT_TRUE(messages && !messages->empty());
            if (!messages || messages->empty()) break;
            for (const Message& message : *messages) bodies.emplace_back(message.text());
        }
        return bodies;
    }
    // Nothing more than what was taken has come.
    void expect_nothing(Subscriber& from) {
        engine_->settle();
        const auto messages = from.take(1, Timeout::zero());
        EXPECT_TRUE(!messages || messages->empty());
    }

    testing::TempDir directory_;
    EngineOptions options_;
    std::unique_ptr<Engine> engine_;
    std::optional<Connection> connection_;
    std::optional<Publisher> publisher_;
    std::map<std::string, Subscriber> subscribers_;
};

TEST_F(Served, DeadLettersHaveTheirMessageTheReasonAndTheTime) {
    serve("dead_letters.xml");
    publish("Orders", R"({"id":1,"symbol":"AB","price":2.5,"qty":4})");
    engine_->set_clock(kStart + 60 * kSecond);
    Subscriber& unfilled = subscribe("Unfilled");
    EXPECT_EQ(
        bodies(unfilled, 1)[0],
        R"({ "data" : {"id":1,"symbol":"AB","price":2.5,"qty":4}, "received" : "20260101T000100.000000Z", )"
        R"("reason" : "time_limit", "queue" : "OrdersToFill", "symbol" : "AB", "worth" : 10 })");
    Subscriber& filling = subscribe("OrdersToFill", 1);
    publish("OrdersToFill", R"({"id":2,"symbol":"CD","price":1,"qty":1})");
    for (int cancel = 0; cancel < 2; ++cancel) {
        const auto order = filling.take(1, seconds(30));
        ASSERT_TRUE(order && order->size() == 1);
        EXPECT_TRUE(filling.cancel((*order)[0].lease()));
    }
    EXPECT_THAT(bodies(unfilled, 1)[0], HasSubstr(R"("reason" : "max_cancels,max_deliveries")"));
    publish("OrdersToFill", R"({"id":3,"symbol":"EF","price":1,"qty":1})");
    const auto order = filling.take(1, seconds(30));
    ASSERT_TRUE(order && order->size() == 1);
    EXPECT_TRUE(filling.expire((*order)[0].lease()));
    EXPECT_THAT(bodies(unfilled, 1)[0], HasSubstr(R"("reason" : "forced_expire")"));
    expect_nothing(unfilled);
}

TEST_F(Served, AJobThatIsCancelledThreeTimesFails) {
    serve("failed_jobs.xml");
    Subscriber& jobs = subscribe("Jobs", 1);
    Subscriber& failed = subscribe("FailedJobs");
    publish("Jobs", R"({"job":7})");
    for (std::uint32_t delivery = 1; delivery <= 3; ++delivery) {
        const auto job = jobs.take(1, seconds(30));
        ASSERT_TRUE(job && job->size() == 1);
        EXPECT_EQ((*job)[0].count(), delivery);
        EXPECT_TRUE(jobs.cancel((*job)[0].lease()));
    }
    EXPECT_EQ(bodies(failed, 1)[0], R"({ "message": {"job":7}, "reason": "max_cancels" })");
    expect_nothing(jobs);
}

TEST_F(Served, RoutingFollowsTheTableOfTopicsAndQueues) {
    serve("routing.xml");
    Subscriber& analytics = subscribe("ORDERS_ANALYTICS");
    Subscriber& risk = subscribe("ORDERS_RISK");
    for (const char* topic :
         {"ORDERS", "ORDERS_ANALYTICS", "ORDERS_RISK", "ORDERS_ANALYTICS_DIRECT", "ORDERS_RISK_DIRECT"})
        publish(topic, topic);
    EXPECT_EQ(bodies(analytics, 3),
              (std::vector<std::string>{"ORDERS", "ORDERS_ANALYTICS", "ORDERS_ANALYTICS_DIRECT"}));
    EXPECT_EQ(bodies(risk, 3), (std::vector<std::string>{"ORDERS", "ORDERS_RISK", "ORDERS_RISK_DIRECT"}));
    expect_nothing(analytics);
    expect_nothing(risk);
    EXPECT_FALSE(publisher_->publish("ORDERS_OTHER", std::string_view("{}")));
}

TEST_F(Served, PriorityIsPriceTimesQuantity) {
    serve("priority.xml");
    for (const char* order : {R"({"id":"a","price":10,"qty":1})", R"({"id":"b","price":2,"qty":30})",
                              R"({"id":"c"})", R"({"id":"d","price":60,"qty":1})",
                              R"({"id":"e","price":-5,"qty":1})", R"({"id":"f","price":0,"qty":1})"})
        publish("Orders", order);
    std::string order;
    for (const std::string& body : bodies(subscribe("OrderPriority"), 6)) order += body[7];
    EXPECT_EQ(order, "bdafce");
}

TEST_F(Served, WorkIsHandedOutOnceAndForgotten) {
    serve("work.xml");
    publish("Work", "1");
    publish("WorkToDo", "2");
    Subscriber& workers = subscribe("WorkToDo");
    EXPECT_EQ(bodies(workers, 2), (std::vector<std::string>{"1", "2"}));
    subscribers_.clear();
    expect_nothing(subscribe("WorkToDo"));
}

TEST_F(Served, AQueueOverAPatternHasAllItsTopicsAndItsBacklog) {
    serve("patterns.xml");
    for (const char* topic : {"ORDERS_A", "ORDERS_B", "MQ", "ORDERS_A"}) publish(topic, topic);
    Subscriber& orders = subscribe("MQ");
    EXPECT_EQ(bodies(orders, 3), (std::vector<std::string>{"ORDERS_A", "ORDERS_B", "MQ"}));
    expect_nothing(orders);
    EXPECT_EQ(bodies(subscribe("GroupQueue"), 4).size(), 4u);
}

TEST_F(Served, QueuesAndLimitsAreAddedWhileMessagesFlowAndAreThereAfterARestart) {
    serve("patterns.xml");
    publish("ORDERS_A", "1");
    Definitions added;
    added.topics.push_back({"NEWS", "json"});
    QueueConfig late;
    late.name = "Late";
    late.underlying_topics = {"^ORDERS_|^NEWS$"};
    late.default_publish_target = "NEWS";
    added.queues.push_back(late);
    QueueConfig changed = options_.definitions.queues[0];
    changed.max_backlog = 5;
    changed.expiration = 60 * kSecond;
    Subscriber& orders = subscribe("MQ");
    EXPECT_EQ(bodies(orders, 1), std::vector<std::string>{"1"});
    ASSERT_TRUE(engine_->extend(added, {changed}));
    for (const char* body : {"2", "3", "4", "5", "6"}) publish("ORDERS_A", body);
    publish("Late", "7");
    EXPECT_EQ(bodies(orders, 4), (std::vector<std::string>{"2", "3", "4", "5"}));
    expect_nothing(orders);
    EXPECT_EQ(bodies(subscribe("Late"), 6), (std::vector<std::string>{"2", "3", "4", "5", "6", "7"}));
    subscribers_.clear();
    engine_->set_clock(kStart + 60 * kSecond);
    restart([&](EngineOptions& options) {
        options.manual_clock = kStart + 60 * kSecond;
        options.definitions.topics.push_back(added.topics[0]);
        options.definitions.queues.push_back(late);
        options.definitions.queues[0] = changed;
    });
    EXPECT_EQ(bodies(subscribe("Late"), 6).size(), 6u);
    EXPECT_EQ(bodies(subscribe("MQ"), 1), std::vector<std::string>{"1"});  // it had the old limit
    expect_nothing(subscribers_.at("MQ"));
}

TEST_F(Served, AQueueThatIsAddedJoinsTheSubscriptionsByAPatternThatItMatches) {
    serve("patterns.xml");
    Subscriber& matching = subscribe("^(MQ|Late)$");
    Subscriber& other = subscribe("^Group");
    Subscriber& later = subscribe("^(MQ|Late.*)$");
    Definitions added;
    added.topics.push_back({"NEWS", "json"});
    QueueConfig late;
    late.name = "Late";
    late.underlying_topics = {"NEWS"};
    late.max_per_subscription_backlog = 2;
    late.fairness = Fairness::fast;
    added.queues.push_back(late);
    ASSERT_TRUE(engine_->extend(added, {}));
    for (const char* body : {"1", "2", "3", "4", "5"}) publish("Late", body);
    // In order of subscribing, and no more than the new queue's limit for each; the last one waits.
    EXPECT_EQ(bodies(matching, 2), (std::vector<std::string>{"1", "2"}));
    EXPECT_EQ(bodies(later, 2), (std::vector<std::string>{"3", "4"}));
    expect_nothing(matching);
    expect_nothing(later);
    expect_nothing(other);
}

TEST_F(Served, AQueueThatIsAddedIsSeenByASubscriptionByPatternThroughItsFilter) {
    serve("patterns.xml");
    auto filtered = Subscriber::open(*connection_, "^(MQ|Late)$", {.max_backlog = 100, .filter = "/px > 10"});
    ASSERT_TRUE(filtered) << filtered.error().text;
    Definitions added;
    added.topics.push_back({"NEWS", "json"});
    QueueConfig late;
    late.name = "Late";
    late.underlying_topics = {"NEWS"};
    added.queues.push_back(late);
    ASSERT_TRUE(engine_->extend(added, {}));
    for (const char* body : {R"({"px":5})", R"({"px":50})"}) publish("Late", body);
    EXPECT_EQ(bodies(*filtered, 1), std::vector<std::string>{R"({"px":50})"});
    expect_nothing(*filtered);
    // What the filter passed over is there for a later subscriber without one.
    Subscriber& later = subscribe("Late");
    EXPECT_EQ(bodies(later, 1), std::vector<std::string>{R"({"px":5})"});
    expect_nothing(later);
}

TEST_F(Served, ABarrierWaitsForAllBeforeItAndGoesToEveryone) {
    serve("barrier.xml");
    Subscriber& trades = subscribe("Trades");
    publish("Trades", R"({"id":1})");
    publish("Trades", R"({"isSyncPoint":true})");
    publish("Trades", R"({"id":2})");
    const auto first = trades.take(1, seconds(30));
    ASSERT_TRUE(first && first->size() == 1);
    const Lease lease = (*first)[0].lease();
    expect_nothing(trades);
    EXPECT_TRUE(trades.ack(lease));
    EXPECT_EQ(bodies(trades, 2), (std::vector<std::string>{R"({"isSyncPoint":true})", R"({"id":2})"}));
}

}  // namespace
}  // namespace pinnace::config
