// SPDX-License-Identifier: Apache-2.0
#include <sys/wait.h>
#include <unistd.h>

#include "tests/bindings/cpp/fixture.h"

namespace pinnace::client {
namespace {

using PublisherTest = WithEngine;
using namespace std::chrono_literals;

TEST_F(PublisherTest, WhatIsPublishedIsStoredInOrderAndReportedPersisted) {
    engine_->start();
    Connection connection = connect();
    Publisher publisher = must(Publisher::open(connection, "p"));
    for (int i = 0; i < 100; ++i) must(publisher.publish("t", std::to_string(i)));
    must(publisher.wait_persisted());
    EXPECT_EQ(publisher.persisted(), 100u);
    EXPECT_TRUE(publisher.answers().empty());
    engine_->die();
    ASSERT_EQ(stored(), up_to(100));
    EXPECT_EQ(store_.messages[42].body, "42");
    EXPECT_FALSE(store_.messages[42].is_resent);
}

TEST_F(PublisherTest, PersistedIsNeverToldBeforeTheEngineSaidSo) {
    engine_->holds_marks = true;
    engine_->start();
    Connection connection = connect();
    Publisher publisher = must(Publisher::open(connection));
    const Receipt receipt = must(publisher.publish("t", "x"));
    const auto waited = publisher.wait_persisted(receipt, 20ms);
    ASSERT_FALSE(waited);
    EXPECT_EQ(waited.error().code, ErrorCode::timed_out);
    EXPECT_EQ(publisher.persisted(), 0u);
    engine_->holds_marks = false;
    must(publisher.wait_persisted(receipt));
    EXPECT_EQ(publisher.persisted(), 1u);
}

TEST_F(PublisherTest, AnUnknownTopicIsRefusedAtOnce) {
    engine_->start();
    Connection connection = connect();
    Publisher publisher = must(Publisher::open(connection));
    const auto refused = publisher.publish("nowhere", "x");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::unknown_topic);
    must(publisher.publish("q", "a queue's name will do"));
}

TEST_F(PublisherTest, AMessageAboveTheLimitIsRefusedAtOnceAndTheTextNamesTheLimit) {
    engine_->start();
    Connection connection = connect();
    Publisher publisher = must(Publisher::open(connection));
    const std::uint64_t limit = publisher.message_size_max();
    const auto refused = publisher.publish("t", std::string(limit + 1, 'x'));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::too_large);
    EXPECT_NE(refused.error().text.find(std::to_string(limit)), std::string::npos) << refused.error().text;
    EXPECT_EQ(publisher.published(), 0u);
}

TEST_F(PublisherTest, AMessageAboveAnEighthOfTheRingGoesInFragments) {
    engine_->start();
    Connection connection = connect();
    Publisher publisher = must(Publisher::open(connection));
    std::string body(publisher.message_size_max(), '\0');
    for (std::size_t i = 0; i < body.size(); ++i) body[i] = static_cast<char>(i * 7);
    for (int i = 0; i < 3; ++i) must(publisher.publish("t", body));
    must(publisher.wait_persisted());
    engine_->die();
    ASSERT_EQ(stored(), up_to(3));
    EXPECT_EQ(store_.messages[2].body, body);
}

TEST_F(PublisherTest, ABatchIsOnePublishOfConsecutiveNumbers) {
    engine_->start();
    Connection connection = connect();
    Publisher publisher = must(Publisher::open(connection));
    const std::string bodies[] = {"a", "b", "c"};
    std::vector<OutgoingMessage> messages;
    for (const std::string& body : bodies) messages.push_back({"t", std::as_bytes(std::span(body)), {}});
    EXPECT_EQ(must(publisher.publish(messages)).number, 3u);
    EXPECT_EQ(must(publisher.publish("t", "d")).number, 4u);
    must(publisher.wait_persisted());
    engine_->die();
    EXPECT_EQ(stored(), up_to(4));
}

TEST_F(PublisherTest, AFullRingBlocksTimesOutOrSaysSoAsTheCallerChose) {
    engine_->reads = false;
    engine_->start();
    Connection connection = connect();
    Publisher publisher = must(Publisher::open(connection));
    const std::string body(10'000, 'x');
    std::expected<Receipt, Error> last;
    std::uint64_t count = 0;
    while ((last = publisher.publish("t", std::as_bytes(std::span(body)), Timeout::zero()))) ++count;
    EXPECT_EQ(last.error().code, ErrorCode::would_block);
    EXPECT_GT(count, 90u);
    EXPECT_EQ(publisher.published(), count);
    last = publisher.publish("t", std::as_bytes(std::span(body)), 10ms);
    ASSERT_FALSE(last);
    EXPECT_EQ(last.error().code, ErrorCode::timed_out);
    engine_->reads = true;
    must(publisher.publish("t", body));
    must(publisher.wait_persisted());
    engine_->die();
    EXPECT_EQ(stored(), up_to(count + 1));
}

TEST_F(PublisherTest, ARefusedMessageIsAnsweredAndDoesNotHoldUpTheOnesBehindIt) {
    engine_->refused_numbers = {2, 5};
    engine_->start();
    Connection connection = connect();
    Publisher publisher = must(Publisher::open(connection));
    for (int i = 0; i < 6; ++i) must(publisher.publish("t", "x"));
    const auto refused = publisher.wait_persisted({2});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::bad_group);
    must(publisher.wait_persisted({6}));
    must(publisher.publish("t", "after the answers"));
    must(publisher.wait_persisted());
    const auto answers = publisher.answers();
    ASSERT_EQ(answers.size(), 2u);
    EXPECT_EQ(answers[1].number, 5u);
    EXPECT_EQ(answers[1].code, ErrorCode::bad_group);
    engine_->die();
    EXPECT_EQ(stored(), (std::vector<std::uint64_t>{1, 3, 4, 6, 7}));
}

TEST_F(PublisherTest, MalformedGroupAndDedupIdsReachTheEngineWhichKnowsWhetherAQueueNeedsThem) {
    engine_->start();
    Connection connection = connect();
    Publisher publisher = must(Publisher::open(connection));
    MessageOptions options;
    options.group = "with spaces";
    const auto body = std::as_bytes(std::span("x", 1));
    must(publisher.publish("t", body, options));
    options.group = std::nullopt;
    options.dedup = std::string_view();
    must(publisher.publish("t", body, options));
    must(publisher.wait_persisted());
    engine_->die();
    EXPECT_EQ(stored(), up_to(2));
}

TEST_F(PublisherTest, ANameGoesOnAfterTheHighestNumberThatTheEngineHasSeen) {
    engine_->start();
    {
        Connection connection = connect();
        Publisher publisher = must(Publisher::open(connection, "p"));
        must(publisher.publish("t", "x"));
        must(connection.close());
        EXPECT_EQ(publisher.publish("t", "x").error().code, ErrorCode::closed);
    }
    Connection connection = connect();
    Publisher publisher = must(Publisher::open(connection, "p"));
    EXPECT_EQ(must(publisher.publish("t", "x")).number, 2u);
    EXPECT_FALSE(Publisher::open(connection, "another"));
}

TEST_F(PublisherTest, InAChildProcessEveryCallFailsAndTheParentNoticesNothing) {
    engine_->start();
    Connection connection = connect();
    auto publisher = std::make_unique<Publisher>(must(Publisher::open(connection)));
    auto subscriber =
        std::make_unique<Subscriber>(must(Subscriber::open(connection, "q", {.max_backlog = 9})));
    must(publisher->publish("t", "before"));
    ASSERT_EQ(must(subscriber->take()).size(), 1u);
    const pid_t child = fork();
    if (child == 0) {
        bool good = publisher->publish("t", "x").error().code == ErrorCode::forked;
        good = good && subscriber->take().error().code == ErrorCode::forked;
        good = good && connection.poll().error().code == ErrorCode::forked;
        subscriber.reset();
        publisher.reset();
        _exit(good ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
    must(publisher->publish("t", "after"));
    must(publisher->wait_persisted());
    EXPECT_EQ(must(subscriber->take()).front().text(), "after");
}

TEST_F(PublisherTest, WithoutAnEngineOpenTimesOutWithItsPlaceInTheText) {
    ConnectionOptions alone = options();
    alone.connect_timeout = 10ms;
    const auto connection = Connection::open(alone);
    ASSERT_FALSE(connection);
    EXPECT_EQ(connection.error().code, ErrorCode::disconnected);
    EXPECT_NE(connection.error().text.find(alone.socket), std::string::npos) << connection.error().text;
}

}  // namespace
}  // namespace pinnace::client
