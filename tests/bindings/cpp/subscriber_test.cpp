// SPDX-License-Identifier: Apache-2.0
#include "tests/bindings/cpp/fixture.h"

namespace pinnace::client {
namespace {

using SubscriberTest = WithEngine;
using namespace std::chrono_literals;

std::vector<std::string> texts(std::span<const Message> messages) {
    std::vector<std::string> out;
    for (const Message& message : messages) out.emplace_back(message.text());
    return out;
}

TEST_F(SubscriberTest, AMessageComesWithAllThatBelongsToIt) {
    engine_->start();
    Connection connection = connect();
    Publisher publisher = must(Publisher::open(connection));
    Subscriber subscriber = must(Subscriber::open(connection, "q", {.max_backlog = 8}));
    EXPECT_EQ(subscriber.max_backlog(), 8u);
    must(publisher.publish("t", "hello"));
    const auto messages = must(subscriber.take());
    ASSERT_EQ(messages.size(), 1u);
    const Message& message = messages[0];
    EXPECT_EQ(message.text(), "hello");
    EXPECT_EQ(message.topic(), "t");
    EXPECT_EQ(message.queue(), "q");
    EXPECT_EQ(message.bookmark(), Bookmark::parse("1"));
    EXPECT_EQ(message.count(), 1u);
    EXPECT_EQ(message.published_ns(), 1001);
    EXPECT_FALSE(message.lease_end_ns());
    EXPECT_TRUE(message.valid());
    const std::uint64_t number = must(subscriber.ack(message));
    must(subscriber.wait_durable(number));
    EXPECT_TRUE(subscriber.answers().empty());
}

TEST_F(SubscriberTest, TakeReturnsNothingWhenTheTimeIsOver) {
    engine_->start();
    Connection connection = connect();
    Subscriber subscriber = must(Subscriber::open(connection, "q"));
    EXPECT_TRUE(must(subscriber.take(1, Timeout::zero())).empty());
    EXPECT_TRUE(must(subscriber.take(1, 5ms)).empty());
}

TEST_F(SubscriberTest, SeveralMessagesAreTakenAtOnceUpToTheNumberWanted) {
    engine_->start();
    Connection connection = connect();
    Publisher publisher = must(Publisher::open(connection));
    Subscriber subscriber = must(Subscriber::open(connection, "q", {.max_backlog = 100}));
    for (int i = 0; i < 10; ++i) must(publisher.publish("t", std::to_string(i)));
    std::vector<std::string> all;
    while (all.size() < 10) {
        const auto messages = must(subscriber.take(4));
        EXPECT_LE(messages.size(), 4u);
        for (const std::string& text : texts(messages)) all.push_back(text);
    }
    for (int i = 0; i < 10; ++i) EXPECT_EQ(all[static_cast<std::size_t>(i)], std::to_string(i));
}

TEST_F(SubscriberTest, LargeBodiesAreReadInPlaceAndStayValidUntilTheNextTake) {
    engine_->start();
    Connection connection = connect();
    Publisher publisher = must(Publisher::open(connection));
    Subscriber subscriber = must(Subscriber::open(connection, "q", {.max_backlog = 100}));
    for (int i = 0; i < 20; ++i)
        must(publisher.publish("t", std::string(100'000, static_cast<char>('a' + i))));
    must(publisher.wait_persisted());
    std::size_t seen = 0;
    while (seen < 20) {
        for (const Message& message : must(subscriber.take(20))) {
            EXPECT_EQ(message.text(), std::string(100'000, static_cast<char>('a' + seen)));
            EXPECT_TRUE(message.valid());
            must(subscriber.ack(message));
            ++seen;
        }
    }
}

TEST_F(SubscriberTest, ABodyThatIsGoneIsAskedForAgainAndOrderIsKept) {
    engine_->start();
    Connection connection = connect();
    Publisher publisher = must(Publisher::open(connection));
    Subscriber subscriber = must(Subscriber::open(connection, "q", {.max_backlog = 100}));
    engine_->bodies_gone = 3;
    for (int i = 0; i < 6; ++i) must(publisher.publish("t", std::to_string(i)));
    for (int i = 0; i < 6; ++i) EXPECT_EQ(must(subscriber.take())[0].text(), std::to_string(i));
}

TEST_F(SubscriberTest, ABodyThatDoesNotComeIsPassedOverAtOnceAndIsNoAnswerOfTheApplications) {
    engine_->start();
    Connection connection = connect();
    Publisher publisher = must(Publisher::open(connection));
    Subscriber subscriber = must(Subscriber::open(connection, "q", {.max_backlog = 100}));
    engine_->bodies_refused = 2;
    engine_->bodies_gone = 3;
    for (int i = 0; i < 6; ++i) must(publisher.publish("t", std::to_string(i)));
    // Shorter than a body is waited for.
    std::vector<std::string> seen;
    while (seen.size() < 4) {
        const auto messages = must(subscriber.take(1, std::chrono::seconds(20)));
        ASSERT_EQ(messages.size(), 1u);
        seen.emplace_back(messages[0].text());
    }
    EXPECT_EQ(seen, (std::vector<std::string>{"2", "3", "4", "5"}));
    EXPECT_TRUE(subscriber.answers().empty());
}

TEST_F(SubscriberTest, VerbsAreNumberedAndOnlyWhatDidNotWorkIsAnswered) {
    engine_->start();
    Connection connection = connect();
    Publisher publisher = must(Publisher::open(connection));
    Subscriber subscriber = must(Subscriber::open(connection, "q", {.max_backlog = 1}));
    must(publisher.publish("t", "x"));
    const Lease lease = must(subscriber.take())[0].lease();
    EXPECT_EQ(must(subscriber.cancel(lease)), 1u);
    const Message again = must(subscriber.take())[0];
    EXPECT_EQ(again.count(), 2u);
    const Lease twice[] = {again.lease(), again.lease()};
    EXPECT_EQ(must(subscriber.ack(twice)), 3u);
    must(subscriber.wait_durable(3));
    const auto answers = subscriber.answers();
    ASSERT_EQ(answers.size(), 1u);
    EXPECT_EQ(answers[0].number, 3u);
    EXPECT_EQ(answers[0].position, again.bookmark().position);
    EXPECT_EQ(answers[0].code, ErrorCode::unknown);
    EXPECT_EQ(must(subscriber.ack(std::span<const Lease>())), 3u);
}

TEST_F(SubscriberTest, TwoSubscribersOfAConnectionGetEachTheirOwn) {
    engine_->start();
    Connection connection = connect();
    Publisher publisher = must(Publisher::open(connection));
    Subscriber first = must(Subscriber::open(connection, "q", {.max_backlog = 3}));
    Subscriber second = must(Subscriber::open(connection, "q", {.max_backlog = 100}));
    for (int i = 0; i < 6; ++i) must(publisher.publish("t", std::to_string(i)));
    must(publisher.wait_persisted());
    std::vector<std::string> of_second;
    while (of_second.size() < 3) {
        for (const std::string& text : texts(must(second.take(9)))) of_second.push_back(text);
    }
    EXPECT_EQ(of_second, (std::vector<std::string>{"3", "4", "5"}));
    EXPECT_EQ(texts(must(first.take(9))), (std::vector<std::string>{"0", "1", "2"}));
}

TEST_F(SubscriberTest, WhatAnEndedSubscriptionLeftInTheRingIsNotHandedToTheNextOne) {
    engine_->start();
    Connection connection = connect();
    Publisher publisher = must(Publisher::open(connection));
    {
        Subscriber subscriber = must(Subscriber::open(connection, "q", {.max_backlog = 100}));
        for (int i = 0; i < 5; ++i) must(publisher.publish("t", std::to_string(i)));
        must(publisher.wait_persisted());
        ASSERT_EQ(must(subscriber.take()).size(), 1u);
    }
    Subscriber subscriber = must(Subscriber::open(connection, "q", {.max_backlog = 100}));
    for (int i = 0; i < 5; ++i) EXPECT_EQ(must(subscriber.take())[0].text(), std::to_string(i));
    EXPECT_TRUE(must(subscriber.take(1, Timeout::zero())).empty());
}

TEST_F(SubscriberTest, ReplaceSaysWhatIsNewKeepsTheRestAndHoldsInTheNextLifeToo) {
    engine_->start();
    Connection connection = connect();
    Publisher publisher = must(Publisher::open(connection));
    Subscriber subscriber = must(Subscriber::open(connection, "q"));
    for (int i = 0; i < 3; ++i) must(publisher.publish("t", std::to_string(i)));
    must(publisher.wait_persisted());
    EXPECT_EQ(texts(must(subscriber.take(9))), (std::vector<std::string>{"0"}));
    must(subscriber.replace({.max_backlog = 3}));
    EXPECT_EQ(subscriber.max_backlog(), 3u);
    std::vector<std::string> more;
    while (more.size() < 2)
        for (const std::string& text : texts(must(subscriber.take(9)))) more.push_back(text);
    EXPECT_EQ(more, (std::vector<std::string>{"1", "2"}));
    engine_->die();
    EXPECT_EQ(engine_->given_at_replace, 2u);
    EXPECT_EQ(engine_->target_at_replace, "q");
    next_life();
    std::vector<std::string> again;
    while (again.size() < 3)
        for (const std::string& text : texts(must(subscriber.take(9)))) again.push_back(text);
    EXPECT_EQ(subscriber.max_backlog(), 3u);
}

TEST_F(SubscriberTest, WhatOnlyPullsOrHasEndedIsNotReplaced) {
    engine_->start();
    Connection connection = connect();
    Subscriber pulls = must(Subscriber::open_for_pulls(connection, "q"));
    EXPECT_EQ(pulls.replace({.max_backlog = 3}).error().code, ErrorCode::bad_request);
    Subscriber ended = must(Subscriber::open(connection, "q"));
    must(ended.unsubscribe());
    EXPECT_EQ(ended.replace({.max_backlog = 3}).error().code, ErrorCode::closed);
}

TEST_F(SubscriberTest, AnAbandonedConnectionIsOfNoUseAndItsMessagesGoToOthers) {
    engine_->start();
    Connection other = connect();
    Publisher publisher = must(Publisher::open(other));
    {
        Connection connection = connect();
        Subscriber subscriber = must(Subscriber::open(connection, "q"));
        must(publisher.publish("t", "x"));
        ASSERT_EQ(must(subscriber.take()).size(), 1u);
        connection.abandon();
        EXPECT_EQ(subscriber.take().error().code, ErrorCode::closed);
        EXPECT_FALSE(connection.status());
    }
    Subscriber subscriber = must(Subscriber::open(other, "q"));
    EXPECT_EQ(must(subscriber.take())[0].text(), "x");
}

TEST_F(SubscriberTest, AnEngineThatLiesIsAnErrorAndNoCrash) {
    engine_->lies = true;
    engine_->start();
    Connection connection = connect();
    Publisher publisher = must(Publisher::open(connection));
    Subscriber subscriber = must(Subscriber::open(connection, "q"));
    must(publisher.publish("t", "x"));
    const auto taken = subscriber.take();
    ASSERT_FALSE(taken);
    EXPECT_EQ(taken.error().code, ErrorCode::broken);
    EXPECT_FALSE(publisher.publish("t", "x"));
}

TEST_F(SubscriberTest, AnUnknownQueueIsAnErrorOfOpen) {
    engine_->start();
    Connection connection = connect();
    const auto subscriber = Subscriber::open(connection, "nowhere");
    ASSERT_FALSE(subscriber);
    EXPECT_EQ(subscriber.error().code, ErrorCode::unknown_topic);
    ConnectionOptions publishing = options();
    publishing.subscribes = false;
    Connection other = must(Connection::open(publishing));
    EXPECT_FALSE(Subscriber::open(other, "q"));
}

}  // namespace
}  // namespace pinnace::client
