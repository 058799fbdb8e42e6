// SPDX-License-Identifier: Apache-2.0
// C4: what a client does when the engine stops or dies.
#include <algorithm>
#include <random>

#include "tests/bindings/cpp/fixture.h"

namespace pinnace::client {
namespace {

using ReconnectTest = WithEngine;
using namespace std::chrono_literals;

TEST_F(ReconnectTest, WhatWasNotPersistedIsSentAgainOnceAndInOrder) {
    engine_->start();
    Connection connection = connect();
    Publisher publisher = must(Publisher::open(connection, "p"));
    for (int i = 0; i < 10; ++i) must(publisher.publish("t", std::to_string(i)));
    must(publisher.wait_persisted());
    engine_->look([&] { engine_->holds_marks = true; });
    for (int i = 10; i < 50; ++i) must(publisher.publish("t", std::to_string(i)));
    engine_->die();
    for (int i = 50; i < 60; ++i) must(publisher.publish("t", std::to_string(i)));
    next_life();
    must(publisher.wait_persisted());
    must(publisher.publish("t", "60"));
    must(publisher.wait_persisted());
    EXPECT_EQ(connection.reconnect_count(), 1u);
    EXPECT_TRUE(publisher.answers().empty());
    engine_->die();
    ASSERT_EQ(stored(), up_to(61));
    for (std::size_t i = 0; i <= 60; ++i) EXPECT_EQ(store_.messages[i].body, std::to_string(i));
    EXPECT_TRUE(store_.messages[20].is_resent);
    EXPECT_FALSE(store_.messages[60].is_resent);
}

TEST_F(ReconnectTest, ReSentMessagesThatWereStoredAreNoNews) {
    engine_->start();
    Connection connection = connect();
    Publisher publisher = must(Publisher::open(connection, "p"));
    must(publisher.publish("t", "x"));
    must(publisher.wait_persisted());
    // Durable, but the mark did not come through.
    engine_->look([&] { engine_->holds_marks = true; });
    must(publisher.publish("t", "y"));
    FakeMessage stored_message;
    look_until([&] { return engine_->read_numbers.size() >= 2; });
    engine_->die();
    stored_message.position = 2;
    stored_message.number = 2;
    stored_message.body = "y";
    store_.messages.push_back(stored_message);
    store_.highest.begin()->second = 2;
    next_life();
    must(publisher.publish("t", "z"));
    must(publisher.wait_persisted());
    EXPECT_TRUE(publisher.answers().empty());
    engine_->die();
    EXPECT_EQ(stored(), up_to(3));
}

TEST_F(ReconnectTest, ANewEngineThatDoesNotAdoptTheRingGetsItsContentsWrittenAnew) {
    engine_->start();
    Connection connection = connect();
    Publisher publisher = must(Publisher::open(connection, "p"));
    engine_->look([&] { engine_->holds_marks = true; });
    const std::string body(3'000, 'x');
    for (int i = 0; i < 100; ++i) must(publisher.publish("t", body));
    engine_->die();
    engine_ = make_engine();
    engine_->refuses_adoption = true;
    engine_->start();
    must(publisher.wait_persisted());
    must(publisher.publish("t", body));
    must(publisher.wait_persisted());
    EXPECT_TRUE(publisher.answers().empty());
    engine_->die();
    EXPECT_EQ(stored(), up_to(101));
    for (const FakeMessage& message : store_.messages) EXPECT_EQ(message.body, body);
}

TEST_F(ReconnectTest, LargeMessagesInPiecesSurviveTheChangeToo) {
    engine_->start();
    Connection connection = connect();
    Publisher publisher = must(Publisher::open(connection, "p"));
    engine_->look([&] { engine_->holds_marks = true; });
    std::string body(400'000, '\0');
    for (std::size_t i = 0; i < body.size(); ++i) body[i] = static_cast<char>(i * 11);
    must(publisher.publish("t", "small"));
    must(publisher.publish("t", body));
    engine_->die();
    next_life();
    must(publisher.wait_persisted());
    engine_->die();
    ASSERT_EQ(stored(), up_to(2));
    EXPECT_EQ(store_.messages[1].body, body);
}

class Verbs : public ReconnectTest {
 protected:
    // Publishes `count` messages and takes them.
    void begin(int count) {
        engine_->start();
        connection_ = std::make_unique<Connection>(connect());
        publisher_ = std::make_unique<Publisher>(must(Publisher::open(*connection_, "p")));
        subscriber_ =
            std::make_unique<Subscriber>(must(Subscriber::open(*connection_, "q", {.max_backlog = 999})));
        for (int i = 0; i < count; ++i) must(publisher_->publish("t", std::to_string(i)));
        must(publisher_->wait_persisted());
        while (static_cast<int>(leases_.size()) < count) {
            for (const Message& message : must(subscriber_->take(999))) leases_.push_back(message.lease());
        }
    }
    // Whatever is delivered now, until nothing more comes.
    std::vector<std::uint64_t> take_all() {
        std::vector<std::uint64_t> positions;
        for (;;) {
            const auto messages = must(subscriber_->take(999, 100ms));
            if (messages.empty()) return positions;
            for (const Message& message : messages) positions.push_back(message.bookmark().position);
        }
    }
    void TearDown() override {
        subscriber_.reset();
        publisher_.reset();
        connection_.reset();
    }

    std::unique_ptr<Connection> connection_;
    std::unique_ptr<Publisher> publisher_;
    std::unique_ptr<Subscriber> subscriber_;
    std::vector<Lease> leases_;
};

TEST_F(Verbs, AcknowledgmentsThatWereNotReadAreHandedInToTheNextEngine) {
    begin(10);
    engine_->look([&] { engine_->reads = false; });
    for (int i = 0; i < 4; ++i) must(subscriber_->ack(leases_[static_cast<std::size_t>(i)]));
    engine_->die();
    must(subscriber_->ack(leases_[4]));
    next_life();
    EXPECT_EQ(take_all(), (std::vector<std::uint64_t>{6, 7, 8, 9, 10}));
    must(subscriber_->wait_durable(5));
    EXPECT_TRUE(subscriber_->answers().empty());
}

TEST_F(Verbs, AcknowledgmentsThatWereReadAndNotDurableAreWrittenAgain) {
    begin(10);
    engine_->look([&] { engine_->holds_marks = true; });
    for (int i = 0; i < 4; ++i) must(subscriber_->ack(leases_[static_cast<std::size_t>(i)]));
    look_until([&] { return engine_->verbs.size() >= 4; });
    EXPECT_EQ(subscriber_->durable_acks(), 0u);
    engine_->look([&] { engine_->reads = false; });
    must(subscriber_->ack(leases_[4]));
    engine_->die();
    engine_ = make_engine();
    engine_->holds_marks = true;
    engine_->start();
    EXPECT_EQ(take_all(), (std::vector<std::uint64_t>{6, 7, 8, 9, 10}));
    EXPECT_EQ(subscriber_->durable_acks(), 0u);
    const std::uint64_t next = must(subscriber_->ack(leases_[5]));
    EXPECT_EQ(next, 6u);
    engine_->holds_marks = false;
    must(subscriber_->wait_durable(next));
    EXPECT_EQ(subscriber_->durable_acks(), 6u);
    EXPECT_TRUE(subscriber_->answers().empty());
}

TEST_F(Verbs, AnswersKeepTheirNumbersOverAReconnect) {
    begin(3);
    engine_->look([&] { engine_->holds_marks = true; });
    must(subscriber_->ack(leases_[0]));
    must(subscriber_->ack(leases_[0]));  // unknown
    look_until([&] { return engine_->verbs.size() >= 2; });
    engine_->look([&] { engine_->reads = false; });
    must(subscriber_->ack(leases_[1]));
    must(subscriber_->ack(leases_[1]));  // unknown
    engine_->die();
    next_life();
    EXPECT_EQ(take_all(), (std::vector<std::uint64_t>{3}));
    must(subscriber_->ack(leases_[2]));
    must(subscriber_->ack(leases_[2]));  // unknown
    must(subscriber_->wait_durable(6));
    std::vector<std::uint64_t> numbers;
    for (const VerbAnswer& answer : subscriber_->answers()) numbers.push_back(answer.number);
    EXPECT_EQ(numbers, (std::vector<std::uint64_t>{2, 4, 6}));
}

TEST_F(Verbs, AVerbIsNotReadBeforeThePublishesThatWereMadeBeforeIt) {
    begin(1);
    engine_->look([&] { engine_->reads = false; });
    must(publisher_->publish("t", "made from it"));
    must(subscriber_->ack(leases_[0]));
    engine_->die();
    next_life();
    EXPECT_EQ(take_all(), (std::vector<std::uint64_t>{2}));
    must(subscriber_->wait_durable(1));
    engine_->die();
    EXPECT_EQ(stored(), up_to(2));
}

TEST_F(Verbs, InAnOrderlyStopTheCursorIsFrozenSoThatUntakenMessagesAreKnown) {
    begin(0);
    for (int i = 0; i < 5; ++i) must(publisher_->publish("t", std::to_string(i)));
    must(publisher_->wait_persisted());
    must(subscriber_->take(2));
    std::thread stopping([&] { engine_->stop(); });
    while (connection_->is_connected()) static_cast<void>(connection_->poll());
    stopping.join();
    next_life();
    EXPECT_EQ(take_all(), (std::vector<std::uint64_t>{1, 2, 3, 4, 5}));
    EXPECT_EQ(connection_->reconnect_count(), 1u);
}

TEST_F(Verbs, WithoutReconnectTheEndOfTheEngineIsAnError) {
    engine_->start();
    ConnectionOptions alone = options();
    alone.reconnect = false;
    Connection connection = must(Connection::open(alone));
    Subscriber subscriber = must(Subscriber::open(connection, "q"));
    engine_->die();
    const auto taken = subscriber.take();
    ASSERT_FALSE(taken);
    EXPECT_EQ(taken.error().code, ErrorCode::disconnected);
}

// A bounded number of engine deaths at random instants, with publishing, taking and acknowledging going on.
TEST_F(ReconnectTest, NothingIsLostAndNothingDurablyAcknowledgedComesAgainWhereverTheEngineDies) {
    std::mt19937_64 random(11);
    constexpr std::uint64_t kCount = 2'000;
    engine_->start();
    std::thread consumer([&] {
        Connection connection = connect();
        Subscriber subscriber = must(Subscriber::open(connection, "q", {.max_backlog = 64}));
        std::map<std::string, std::uint64_t> acknowledged;
        while (acknowledged.size() < kCount) {
            const std::uint64_t durable = subscriber.durable_acks();
            for (const Message& message : must(subscriber.take(16))) {
                const std::string body(message.text());
                const auto before = acknowledged.find(body);
                if (before != acknowledged.end()) {
                    EXPECT_GT(before->second, durable) << body;
                }
                acknowledged[body] = must(subscriber.ack(message));
            }
        }
        must(connection.close());
    });
    std::atomic<bool> is_published{false};
    std::thread producer([&] {
        Connection connection = connect();
        Publisher publisher = must(Publisher::open(connection, "p"));
        for (std::uint64_t i = 0; i < kCount; ++i) must(publisher.publish("t", std::to_string(i)));
        must(publisher.wait_persisted());
        is_published = true;
        must(connection.close());
    });
    for (int round = 0; round < 15; ++round) {
        const std::uint64_t turns = 1 + random() % 200;
        for (std::uint64_t i = 0; i < turns; ++i) {
            const bool holds = random() % 2 == 0;
            engine_->look([&] { engine_->holds_marks = holds; });
        }
        engine_->die();
        next_life();
    }
    producer.join();
    consumer.join();
    engine_->die();
    std::vector<std::uint64_t> numbers = stored();
    EXPECT_EQ(numbers, up_to(kCount));
    for (const FakeMessage& message : store_.messages) {
        EXPECT_TRUE(message.is_acknowledged) << message.number;
        EXPECT_EQ(message.body, std::to_string(message.number - 1));
    }
}

}  // namespace
}  // namespace pinnace::client
