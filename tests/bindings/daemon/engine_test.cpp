// SPDX-License-Identifier: Apache-2.0
// The engine as one object, with real clients in this process: what survives a stop, and what is refused.
#include "bindings/daemon/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "bindings/cpp/pinnace.h"
#include "tests/support/temp_dir.h"

namespace pinnace::testing {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

QueueConfig queue_named(std::string name) {
    QueueConfig queue;
    queue.name = std::move(name);
    queue.lease_period = 60'000'000'000;
    return queue;
}

class EngineTest : public ::testing::Test {
 protected:
    EngineTest() {
        options_.data_directory = directory_.path();
        options_.message_size_max = 1u << 20;
        options_.segment_size = 16u << 20;
        options_.log_small_size = 1u << 20;
        options_.log_large_size = 4u << 20;
        options_.log_reread_size = 2u << 20;
        options_.wait = WaitMode::block;
        options_.pin = false;
        options_.definitions.queues = {queue_named("Orders")};
        options_.log_line = [](std::string_view) {};
    }
    void start() {
        auto started = Engine::start(options_);
        ASSERT_TRUE(started) << started.error();
        engine_ = std::move(*started);
    }
    void stop() {
        const auto stopped = engine_->stop();
        EXPECT_TRUE(stopped) << stopped.error();
        engine_.reset();
    }
    Connection connect() {
        ConnectionOptions client;
        client.socket = engine_->report().socket_path;
        client.wait = ConnectionOptions::Wait::block;
        client.submit_size = 4u << 20;
        auto connection = Connection::open(client);
        EXPECT_TRUE(connection) << connection.error().text;
        return std::move(*connection);
    }
    std::string refusal() {
        const auto started = Engine::start(options_);
        EXPECT_FALSE(started);
        return started ? std::string() : started.error();
    }

    TempDir directory_;
    EngineOptions options_;
    std::unique_ptr<Engine> engine_;
};

TEST_F(EngineTest, KeepsWhatIsUnacknowledgedOverAStopAndNothingElse) {
    start();
    {
        const Connection connection = connect();
        auto publisher = Publisher::open(connection, "gateway");
        ASSERT_TRUE(publisher);
        for (const char* body : {"a", "b", "c"})
            ASSERT_TRUE(publisher->publish("Orders", std::string_view(body)));
        ASSERT_TRUE(publisher->wait_persisted(seconds(30)));
        auto subscriber = Subscriber::open(connection, "Orders", {.max_backlog = 2});
        ASSERT_TRUE(subscriber);
        const auto first = subscriber->take(1, seconds(30));
        ASSERT_TRUE(first);
        ASSERT_EQ(first->size(), 1u);
        EXPECT_EQ((*first)[0].text(), "a");
        const auto number = subscriber->ack((*first)[0]);
        ASSERT_TRUE(number);
        ASSERT_TRUE(subscriber->wait_durable(*number, seconds(30)));
    }
    stop();
    start();
    EXPECT_TRUE(engine_->report().clean);
    EXPECT_EQ(engine_->report().message_count, 2u);
    const Connection connection = connect();
    auto subscriber = Subscriber::open(connection, "Orders", {.max_backlog = 8});
    ASSERT_TRUE(subscriber);
    std::vector<std::string> bodies;
    while (bodies.size() < 2) {
        const auto messages = subscriber->take(8, seconds(30));
        ASSERT_TRUE(messages);
        ASSERT_FALSE(messages->empty());
        for (const Message& message : *messages) bodies.emplace_back(message.text());
    }
    EXPECT_EQ(bodies, (std::vector<std::string>{"b", "c"}));
}

TEST_F(EngineTest, PassesEveryBodySizeUpToTheLimitUnchanged) {
    start();
    const Connection connection = connect();
    auto publisher = Publisher::open(connection);
    auto subscriber = Subscriber::open(connection, "Orders", {.max_backlog = 1});
    ASSERT_TRUE(publisher && subscriber);
    for (const std::size_t size :
         {std::size_t{0}, std::size_t{1}, std::size_t{63}, std::size_t{64}, std::size_t{4096},
          std::size_t{32768}, std::size_t{32769}, std::size_t{600'000}, std::size_t{1} << 20}) {
        std::string body(size, '\0');
        for (std::size_t i = 0; i < size; ++i) body[i] = static_cast<char>(i * 31 + size);
        const auto sent = publisher->publish("Orders", std::string_view(body));
        ASSERT_TRUE(sent) << size << ": " << sent.error().text;
        const auto messages = subscriber->take(1, seconds(30));
        ASSERT_TRUE(messages) << messages.error().text;
        ASSERT_EQ(messages->size(), 1u) << size;
        EXPECT_TRUE((*messages)[0].text() == body) << size;
        EXPECT_TRUE((*messages)[0].valid());
        ASSERT_TRUE(subscriber->ack((*messages)[0]));
    }
    const auto refused = publisher->publish("Orders", std::string((1u << 20) + 1, 'x'));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::too_large);
    EXPECT_THAT(refused.error().text, HasSubstr("1048576"));
}

// The log holds 1 MiB of small bodies, the queue eight times as much: most bodies are read back from the
// journal.
TEST_F(EngineTest, ABacklogLargerThanTheLogDrainsInOrder) {
    start();
    const Connection connection = connect();
    auto publisher = Publisher::open(connection);
    ASSERT_TRUE(publisher);
    constexpr int kCount = 8'000;
    for (int i = 0; i < kCount; ++i) {
        std::string body = std::to_string(i);
        body.resize(1000, '.');
        ASSERT_TRUE(publisher->publish("Orders", std::string_view(body)));
    }
    ASSERT_TRUE(publisher->wait_persisted(seconds(60)));
    auto subscriber = Subscriber::open(connection, "Orders", {.max_backlog = 64});
    ASSERT_TRUE(subscriber);
    int next = 0;
    while (next < kCount) {
        const auto messages = subscriber->take(64, seconds(30));
        ASSERT_TRUE(messages) << messages.error().text;
        ASSERT_FALSE(messages->empty()) << next;
        for (const Message& message : *messages) {
            ASSERT_EQ(std::stoi(std::string(message.text())), next);
            ++next;
            ASSERT_TRUE(subscriber->ack(message));
        }
    }
}

TEST_F(EngineTest, AnUnknownTopicIsRefusedByName) {
    start();
    const Connection connection = connect();
    auto publisher = Publisher::open(connection);
    ASSERT_TRUE(publisher);
    const auto sent = publisher->publish("Ordres", std::string_view("x"));
    ASSERT_FALSE(sent);
    EXPECT_EQ(sent.error().code, ErrorCode::unknown_topic);
    EXPECT_THAT(sent.error().text, HasSubstr("Ordres"));
}

TEST_F(EngineTest, ASecondEngineOnTheSameDataIsRefused) {
    start();
    options_.socket_path = directory_.path() + "/other.sock";
    EXPECT_THAT(refusal(), HasSubstr(directory_.path()));
}

TEST_F(EngineTest, AForeignFileIsRefusedByName) {
    std::ofstream(directory_.path() + "/notes.txt") << "mine";
    EXPECT_THAT(refusal(), HasSubstr("notes.txt"));
    EXPECT_TRUE(std::filesystem::exists(directory_.path() + "/notes.txt"));
}

TEST_F(EngineTest, ACoreThatCannotBeHadIsRefused) {
    options_.dispatcher_cpu = 4095;
    EXPECT_THAT(refusal(), HasSubstr("4095"));
}

TEST_F(EngineTest, TwoQueuesOfOneNameAreRefused) {
    options_.definitions.queues.push_back(queue_named("Orders"));
    EXPECT_THAT(refusal(), HasSubstr("Orders"));
}

TEST_F(EngineTest, StatusIsOneJsonObjectThatNamesQueuesAndSessions) {
    start();
    const Connection connection = connect();
    auto publisher = Publisher::open(connection);
    ASSERT_TRUE(publisher);
    ASSERT_TRUE(publisher->publish("Orders", std::string_view("x")));
    ASSERT_TRUE(publisher->wait_persisted(seconds(30)));
    const std::string status = engine_->status_json();
    EXPECT_THAT(status, HasSubstr(R"("name":"Orders","depth":1,"leased":0)"));
    EXPECT_THAT(status, HasSubstr(R"("sessions":[{"id":)"));
    EXPECT_THAT(status, HasSubstr(R"("io":)"));
    EXPECT_EQ(status.front(), '{');
    EXPECT_EQ(status.back(), '}');
}

TEST_F(EngineTest, StatusCountsPatternsThatWereStoppedAndMalformedMessages) {
    options_.definitions.queues[0].filter = "/a LIKE '^(a+)+$'";
    start();
    const Connection connection = connect();
    auto publisher = Publisher::open(connection);
    ASSERT_TRUE(publisher);
    const std::string endless = R"({"a":")" + std::string(200, 'a') + R"(b"})";
    for (const std::string_view body : {std::string_view(endless), std::string_view("{")})
        ASSERT_TRUE(publisher->publish("Orders", body));
    ASSERT_TRUE(publisher->wait_persisted(seconds(30)));
    EXPECT_THAT(engine_->status_json(),
                HasSubstr(R"("malformed":1,"patterns_stopped":1,"texts_too_long":0)"));
}

TEST_F(EngineTest, AManualClockEndsLeasesWhenItIsMoved) {
    options_.manual_clock = 1'000'000'000;
    start();
    const Connection connection = connect();
    auto publisher = Publisher::open(connection);
    auto subscriber = Subscriber::open(connection, "Orders", {.max_backlog = 1});
    ASSERT_TRUE(publisher && subscriber);
    ASSERT_TRUE(publisher->publish("Orders", std::string_view("x")));
    auto messages = subscriber->take(1, seconds(30));
    ASSERT_TRUE(messages);
    ASSERT_EQ(messages->size(), 1u);
    EXPECT_EQ((*messages)[0].count(), 1u);
    EXPECT_EQ((*messages)[0].lease_end_ns(), 61'000'000'000);
    engine_->set_clock(60'999'999'999);
    messages = subscriber->take(1, seconds(0));
    ASSERT_TRUE(messages);
    EXPECT_TRUE(messages->empty());
    engine_->set_clock(61'000'000'000);
    messages = subscriber->take(1, seconds(30));
    ASSERT_TRUE(messages);
    ASSERT_EQ(messages->size(), 1u);
    EXPECT_EQ((*messages)[0].count(), 2u);
}

// Rules 7 and 18: what one instant does may be more than the feed to the journal holds.
TEST_F(EngineTest, MoreMessagesThanTheJournalsFeedHoldsCanLeaveAtOneInstant) {
    constexpr int kCount = 200'000;
    options_.manual_clock = 1'000'000'000;
    options_.definitions.queues[0].expiration = 1'000'000'000;
    start();
    {
        const Connection connection = connect();
        auto publisher = Publisher::open(connection);
        ASSERT_TRUE(publisher);
        for (int i = 0; i < kCount; ++i) ASSERT_TRUE(publisher->publish("Orders", std::string_view("x")));
        ASSERT_TRUE(publisher->wait_persisted(seconds(60)));
    }
    EXPECT_THAT(engine_->status_json(), HasSubstr(R"("name":"Orders","depth":200000)"));
    engine_->set_clock(2'000'000'000);
    EXPECT_THAT(engine_->status_json(), HasSubstr(R"("name":"Orders","depth":0)"));
    stop();
    start();
    EXPECT_THAT(engine_->status_json(), HasSubstr(R"("name":"Orders","depth":0)"));
}

}  // namespace
}  // namespace pinnace::testing
