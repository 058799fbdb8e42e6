// SPDX-License-Identifier: Apache-2.0
// The pump over fake ports: what holds whatever the clients, the log and the journal do.
#include "core/pump.h"

#include <gtest/gtest.h>

#include "core/publish_options.h"
#include "tests/support/fake_ports.h"

namespace pinnace::testing {
namespace {

constexpr Time kStart = 1'000'000'000;
constexpr Duration kSecond = 1'000'000'000;

class PumpTest : public ::testing::Test {
 protected:
    PumpTest() {
        QueueConfig queue;
        queue.name = "Orders";
        queue.lease_period = 10 * kSecond;
        queue_ = *pump_.core().define_queue(queue);
        EXPECT_TRUE(pump_.core().finish_definitions());
        pump_.core().recovered(kStart, true);
        log_.publish();
        log_.make_durable();
        topic_ = pump_.core().find_topic("Orders");
        publisher_session_ = pump_.open_session(publisher_, 1);
        consumer_session_ = pump_.open_session(consumer_, 1);
        turn();
    }

    void turn(Duration later = 0) {
        now_ += later;
        while (pump_.turn(now_)) {
        }
    }
    void durable_turn() {
        log_.make_durable();
        turn();
    }
    SubscriptionId subscribe(std::uint64_t backlog) {
        const auto answer = pump_.subscribe(consumer_session_, {kNone, "Orders", backlog, {}});
        EXPECT_TRUE(answer);
        return answer->subscription;
    }
    std::vector<std::string> taken_bodies() {
        std::vector<std::string> bodies;
        for (const Delivery& d : consumer_.take()) bodies.push_back(log_.text(d.body.log));
        return bodies;
    }

    FakePort publisher_;
    FakePort consumer_;
    FakeLog log_;
    FakeOutside outside_;
    FakePump pump_{log_, outside_, CoreOptions{}, PumpLimits{}};
    Time now_ = kStart;
    QueueId queue_ = 0;
    TopicId topic_ = 0;
    std::uint32_t publisher_session_ = 0;
    std::uint32_t consumer_session_ = 0;
};

TEST_F(PumpTest, APublishedMessageReachesTheSubscriberAndIsReportedPersistedOnlyWhenDurable) {
    subscribe(8);
    const std::uint64_t end = publisher_.publish(topic_, "one");
    turn();
    EXPECT_EQ(taken_bodies(), std::vector<std::string>{"one"});
    EXPECT_EQ(publisher_.read_submit, end);
    EXPECT_EQ(publisher_.durable_submit, 0u);
    durable_turn();
    EXPECT_EQ(publisher_.durable_submit, end);
}

TEST_F(PumpTest, APublishInPiecesIsInvisibleUntilItsLastPieceIsIn) {
    subscribe(8);
    SubmitFrame piece;
    piece.message_size = 6;
    piece.last = false;
    publisher_.publish(topic_, "abc", piece);
    turn();
    EXPECT_TRUE(consumer_.take().empty());
    piece.first = false;
    piece.last = true;
    publisher_.publish(topic_, "def", piece);
    turn();
    EXPECT_EQ(taken_bodies(), std::vector<std::string>{"abcdef"});
}

TEST_F(PumpTest, PiecesThatDoNotAddUpDetachTheirSessionAndNobodyElse) {
    subscribe(8);
    SubmitFrame piece;
    piece.message_size = 4;
    piece.last = false;
    publisher_.publish(topic_, "abc", piece);
    piece.first = false;
    piece.last = true;
    publisher_.publish(topic_, "def", piece);
    turn();
    ASSERT_EQ(outside_.violations.size(), 1u);
    EXPECT_EQ(outside_.violations[0].first, publisher_session_);
    EXPECT_TRUE(consumer_.take().empty());
    FakePort other;
    pump_.open_session(other, 1);
    other.publish(topic_, "fine");
    turn();
    EXPECT_EQ(taken_bodies(), std::vector<std::string>{"fine"});
}

TEST_F(PumpTest, ABatchIsVisibleAsAWhole) {
    subscribe(8);
    SubmitFrame more;
    more.more = true;
    publisher_.publish(topic_, "a", more);
    publisher_.publish(topic_, "b", more);
    turn();
    EXPECT_TRUE(consumer_.take().empty());
    publisher_.publish(topic_, "c");
    turn();
    EXPECT_EQ(taken_bodies(), (std::vector<std::string>{"a", "b", "c"}));
    const auto& last = log_.records.back();
    EXPECT_EQ(log_.records[log_.records.size() - 3].step, last.step);
}

// Rule 7: each leaving is whole by itself, so a long instant is parted into steps that the journal can take.
TEST_F(PumpTest, ManyMessagesThatLeaveAtOneInstantAreSeveralSteps) {
    constexpr std::size_t kCount = 10'000;
    PublishOptions expires;
    expires.expiration = kSecond;
    std::array<std::byte, kOptionBytesMax> options{};
    SubmitFrame frame;
    frame.options = std::span(options).first(encode_options(expires, options.data()));
    for (std::size_t i = 0; i < kCount; ++i) publisher_.publish(topic_, "x", frame);
    turn();
    const std::size_t before = log_.records.size();
    turn(kSecond);
    EXPECT_EQ(outside_.events.size(), kCount);
    ASSERT_EQ(log_.records.size(), before + kCount);
    std::map<std::size_t, std::size_t> sizes;
    for (std::size_t i = before; i < log_.records.size(); ++i) ++sizes[log_.records[i].step];
    for (const auto& [step, size] : sizes) EXPECT_LE(size, PumpLimits{}.step_record_count);
}

// Rule 9: what falls due waits, with the time, for a journal that has no room.
TEST_F(PumpTest, TimeStandsStillWhileTheJournalHasNoRoomForWhatFallsDue) {
    subscribe(1);
    publisher_.publish(topic_, "x");
    turn();
    ASSERT_EQ(consumer_.take().size(), 1u);
    log_.verb_room = false;
    turn(11 * kSecond);
    EXPECT_TRUE(pump_.blocked());
    EXPECT_LT(pump_.core().now(), now_);
    EXPECT_TRUE(consumer_.take().empty());
    log_.verb_room = true;
    turn();
    EXPECT_EQ(pump_.core().now(), now_);
    EXPECT_EQ(consumer_.take().size(), 1u);
}

TEST_F(PumpTest, AnUnknownTopicIsAnsweredAndNothingIsStored) {
    const std::size_t before = log_.records.size();
    const std::uint64_t before_it = publisher_.submit_written();
    publisher_.publish(77, "x");
    turn();
    ASSERT_EQ(publisher_.answers.size(), 1u);
    EXPECT_EQ(publisher_.answers[0].answer, Answer::unknown_topic);
    EXPECT_EQ(publisher_.answers[0].submit_position, before_it);
    EXPECT_EQ(log_.records.size(), before);
}

TEST_F(PumpTest, AVerbWaitsForWhatItsClientPublishedBeforeIt) {
    subscribe(8);
    publisher_.publish(topic_, "one");
    turn();
    const auto first = consumer_.take();
    ASSERT_EQ(first.size(), 1u);
    // The consumer publishes, then acknowledges; the log has no room for the publish (rule 8).
    log_.room = false;
    consumer_.publish(topic_, "two");
    consumer_.acknowledge(first[0]);
    turn();
    EXPECT_EQ(consumer_.read_acks, 0u);
    EXPECT_EQ(pump_.core().status(queue_).depth, 1u);
    log_.room = true;
    turn();
    EXPECT_EQ(consumer_.read_acks, 1u);
    durable_turn();
    EXPECT_EQ(consumer_.durable_acks, 1u);
    EXPECT_EQ(pump_.core().status(queue_).depth, 1u);
}

TEST_F(PumpTest, AnAcknowledgmentWrittenBeforeTheLeaseEndsCountsHoweverLateItIsRead) {
    subscribe(8);
    publisher_.publish(topic_, "one");
    turn();
    consumer_.acknowledge(consumer_.take().at(0));
    turn(3600 * kSecond);  // rule 9: the ring is read before time moves
    EXPECT_EQ(pump_.core().status(queue_).depth, 0u);
    EXPECT_TRUE(consumer_.answers.empty());
    EXPECT_TRUE(consumer_.take().empty());
}

TEST_F(PumpTest, TimeStandsStillWhileAcknowledgmentsWaitForRoom) {
    subscribe(8);
    publisher_.publish(topic_, "one");
    turn();
    consumer_.acknowledge(consumer_.take().at(0));
    log_.verb_room = false;
    turn(3600 * kSecond);
    EXPECT_TRUE(consumer_.take().empty());
    EXPECT_EQ(pump_.core().status(queue_).leased, 1u);
    log_.verb_room = true;
    turn();
    EXPECT_EQ(pump_.core().status(queue_).depth, 0u);
}

TEST_F(PumpTest, ALeaseThatEndsBringsTheMessageBack) {
    subscribe(8);
    publisher_.publish(topic_, "one");
    turn();
    EXPECT_EQ(consumer_.take().at(0).count, 1u);
    turn(10 * kSecond);
    const auto again = consumer_.take();
    ASSERT_EQ(again.size(), 1u);
    EXPECT_EQ(again[0].count, 2u);
}

TEST_F(PumpTest, AListOfVerbsIsAppliedWholeAndExceptionsNameTheirEntry) {
    subscribe(2);
    for (const char* body : {"a", "b", "c"}) publisher_.publish(topic_, body);
    turn();
    const auto two = consumer_.take();
    ASSERT_EQ(two.size(), 2u);
    const VerbRequest request{Verb::acknowledge, kNone,         queue_, two[0].position,
                              two[0].lease,      two[0].handle, 0};
    consumer_.verb(request, true);
    turn();
    EXPECT_EQ(consumer_.read_acks, 0u);  // the list is not whole yet
    consumer_.verb(request);
    turn();
    ASSERT_EQ(consumer_.answers.size(), 1u);
    EXPECT_EQ(consumer_.answers[0].answer, Answer::unknown);
    EXPECT_EQ(consumer_.answers[0].id, 1u);
    EXPECT_EQ(consumer_.read_acks, 2u);
}

TEST_F(PumpTest, AColdBodyIsReadAndLaterDeliveriesOfItsSubscriptionWait) {
    for (const char* body : {"a", "b"}) publisher_.publish(topic_, body);
    turn();
    std::vector<QueuedMessage> queued;
    pump_.core().query(queue_, [&](const QueuedMessage& m) { return queued.push_back(m), true; });
    log_.evict(queued.at(0).body.log);
    subscribe(8);
    turn(kSecond);
    EXPECT_TRUE(consumer_.take().empty());
    ASSERT_EQ(log_.reads.size(), 1u);
    EXPECT_EQ(log_.reads[0].position, queued[0].position);
    turn(5 * kSecond);
    log_.serve_read("a");
    turn();
    const auto both = consumer_.take();
    ASSERT_EQ(both.size(), 2u);
    EXPECT_EQ(log_.text(both[0].body.log), "a");
    EXPECT_EQ(log_.text(both[1].body.log), "b");
    // The lease runs from when the subscriber can see it (L1, D12).
    EXPECT_EQ(both[0].deadline, now_ + 10 * kSecond);
}

// A2: a dead letter is moved by reference; its body stays where the first record is.
TEST_F(PumpTest, TheColdBodyOfAMovedMessageIsReadFromTheRecordThatHasIt) {
    FakePort port;
    FakeLog log;
    FakeOutside outside;
    FakePump pump{log, outside, CoreOptions{}, PumpLimits{}};
    QueueConfig first;
    first.name = "First";
    first.dead_letter_queue = "Dead";
    QueueConfig dead;
    dead.name = "Dead";
    ASSERT_TRUE(pump.core().define_queue(first));
    const QueueId to = *pump.core().define_queue(dead);
    ASSERT_TRUE(pump.core().finish_definitions());
    pump.core().recovered(kStart, true);
    const auto session = pump.open_session(port, 1);
    const auto turn_durably = [&] {
        log.publish();
        log.make_durable();
        while (pump.turn(kStart)) log.make_durable();
    };
    port.publish(pump.core().find_topic("First"), "body");
    turn_durably();
    const Position position = pump.core().status(0).oldest;
    VerbRequest expire;
    expire.verb = Verb::expire;
    expire.queue = 0;
    expire.position = position;
    port.verb(expire);
    turn_durably();
    ASSERT_NE(pump.core().status(to).oldest, position);
    pump.core().query(to, [&](const QueuedMessage& m) { return log.evict(m.body.log), true; });
    ASSERT_TRUE(pump.subscribe(session, {kNone, "Dead", 1, {}}));
    turn_durably();
    ASSERT_EQ(log.reads.size(), 1u);
    EXPECT_EQ(log.reads[0].position, position);
}

// U6: a duplicate of the queue that it was published to, and taken in by another one.
TEST_F(PumpTest, ADuplicateThatAnotherQueueTakesInKeepsItsBody) {
    FakePort port;
    FakeLog log;
    FakeOutside outside;
    FakePump pump{log, outside, CoreOptions{}, PumpLimits{}};
    QueueConfig once;
    once.name = "Once";
    once.underlying_topics = {"orders"};
    once.dedup_window = 10 * kSecond;
    QueueConfig all;
    all.name = "All";
    all.underlying_topics = {"orders"};
    const QueueId to = *pump.core().define_queue(once);
    const QueueId other = *pump.core().define_queue(all);
    ASSERT_TRUE(pump.core().finish_definitions());
    pump.core().recovered(kStart, true);
    pump.open_session(port, 1);
    std::byte room[kOptionBytesMax];
    PublishOptions options;
    options.dedup = "k";
    options.to_queue = to;
    SubmitFrame frame;
    frame.options = {room, encode_options(options, room)};
    for (const char* body : {"first", "again"}) {
        port.publish(pump.core().find_topic("orders"), body, frame);
        log.publish();
        log.make_durable();
        while (pump.turn(kStart)) {
        }
    }
    ASSERT_EQ(port.answers.size(), 1u);
    EXPECT_EQ(port.answers[0].answer, Answer::duplicate);
    std::vector<std::string> bodies;
    pump.core().query(other, [&](const QueuedMessage& m) {
        EXPECT_TRUE(log.resident(m.body.log, m.body.size));
        return bodies.push_back(log.text(m.body.log)), true;
    });
    EXPECT_EQ(bodies, (std::vector<std::string>{"first", "again"}));
}

TEST_F(PumpTest, AnUnreadableBodyLeavesAndTheOthersGoOn) {
    for (const char* body : {"a", "b"}) publisher_.publish(topic_, body);
    turn();
    std::vector<QueuedMessage> queued;
    pump_.core().query(queue_, [&](const QueuedMessage& m) { return queued.push_back(m), true; });
    log_.evict(queued.at(0).body.log);
    subscribe(8);
    turn();
    log_.serve_read(std::nullopt);
    turn();
    EXPECT_EQ(taken_bodies(), std::vector<std::string>{"b"});
    EXPECT_EQ(pump_.core().status(queue_).depth, 1u);
}

TEST_F(PumpTest, ABodyIsAskedForAgainAndComesAgain) {
    subscribe(8);
    publisher_.publish(topic_, "a");
    turn();
    const Delivery first = consumer_.take().at(0);
    consumer_.ask_again(first);
    turn();
    ASSERT_EQ(log_.reads.size(), 1u);
    log_.serve_read("a");
    turn();
    EXPECT_EQ(taken_bodies(), std::vector<std::string>{"a"});
    EXPECT_EQ(consumer_.again_count, 1u);
    EXPECT_TRUE(consumer_.answers.empty());
    consumer_.acknowledge(first);
    turn();
    EXPECT_EQ(pump_.core().status(queue_).depth, 0u);
}

TEST_F(PumpTest, ABodyThatIsAskedForAfterItsLeaseIsOverIsAnsweredStaleWithTheNumberOfTheQuestion) {
    subscribe(8);
    publisher_.publish(topic_, "a");
    turn();
    const Delivery first = consumer_.take().at(0);
    consumer_.acknowledge(first);
    consumer_.ask_again(first);
    turn();
    ASSERT_EQ(consumer_.answers.size(), 1u);
    EXPECT_EQ(consumer_.answers[0].answer, Answer::stale);
    EXPECT_EQ(consumer_.answers[0].kind, AnswerEntry::Kind::verb);
    EXPECT_EQ(consumer_.answers[0].id, 1u);
    EXPECT_EQ(consumer_.answers[0].position, first.position);
    EXPECT_TRUE(log_.reads.empty());
}

TEST_F(PumpTest, ALeaseThatEndsWhileItsBodyIsReadAgainAndABodyThatCannotBeReadAreAnsweredStale) {
    subscribe(8);
    for (const char* body : {"a", "b"}) publisher_.publish(topic_, body);
    turn();
    const auto both = consumer_.take();
    for (const Delivery& delivery : both) consumer_.ask_again(delivery);
    turn();
    consumer_.acknowledge(both[0]);
    turn();
    log_.serve_read("a");
    log_.serve_read(std::nullopt);
    turn();
    ASSERT_EQ(consumer_.answers.size(), 2u);
    for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(consumer_.answers[i].answer, Answer::stale);
        EXPECT_EQ(consumer_.answers[i].id, i);
    }
    EXPECT_TRUE(consumer_.take().empty());
    EXPECT_EQ(pump_.core().status(queue_).depth, 0u);
}

TEST_F(PumpTest, ABodyThatIsAskedForAgainWaitsForRoomInTheRingAndThenComes) {
    consumer_.ring_capacity = 2;
    subscribe(8);
    for (const char* body : {"a", "b", "c", "d"}) publisher_.publish(topic_, body);
    turn();
    ASSERT_EQ(consumer_.deliveries.size(), 2u);
    const Delivery first = consumer_.deliveries[0];
    consumer_.cursor = 1;
    turn();  // the third one takes the place
    ASSERT_EQ(consumer_.deliveries.size(), 3u);
    consumer_.ask_again(first);
    turn();
    ASSERT_EQ(log_.reads.size(), 1u);
    log_.serve_read("a");
    turn();
    EXPECT_EQ(consumer_.deliveries.size(), 3u);
    EXPECT_TRUE(consumer_.answers.empty());
    consumer_.take();
    turn();
    EXPECT_EQ(consumer_.again_count, 1u);
    EXPECT_FALSE(consumer_.overflowed);
    EXPECT_EQ(log_.text(consumer_.deliveries.at(3).body.log), "a");
    consumer_.take();
    turn();
    EXPECT_EQ(log_.text(consumer_.deliveries.back().body.log), "d");
}

TEST_F(PumpTest, WhoAsksForBodiesAgainAndTakesNoneIsDetached) {
    PumpLimits limits;
    limits.again_count_max = 3;
    FakeLog log;
    FakeOutside outside;
    FakePump pump(log, outside, CoreOptions{}, limits);
    QueueConfig queue;
    queue.name = "Orders";
    ASSERT_TRUE(pump.core().define_queue(queue));
    ASSERT_TRUE(pump.core().finish_definitions());
    pump.core().recovered(kStart, true);
    log.publish();
    log.make_durable();
    FakePort port;
    port.ring_capacity = 1;
    const auto session = pump.open_session(port, 1);
    while (pump.turn(kStart)) {
    }
    ASSERT_TRUE(pump.subscribe(session, {kNone, "Orders", 1, {}}));
    port.publish(pump.core().find_topic("Orders"), "a");
    while (pump.turn(kStart)) {
    }
    const Delivery first = port.deliveries.at(0);
    for (int i = 0; i < 3; ++i) port.ask_again(first);
    while (pump.turn(kStart)) {
    }
    EXPECT_TRUE(outside.violations.empty());
    port.ask_again(first);
    while (pump.turn(kStart)) {
    }
    ASSERT_EQ(outside.violations.size(), 1u);
    EXPECT_EQ(outside.violations[0].first, session);
}

TEST_F(PumpTest, DeliveriesThatWaitForTheirBodiesKeepTheirPlacesInTheRing) {
    consumer_.ring_capacity = 4;
    for (int i = 0; i < 12; ++i) publisher_.publish(topic_, std::string(1, static_cast<char>('a' + i)));
    turn();
    std::vector<QueuedMessage> queued;
    pump_.core().query(queue_, [&](const QueuedMessage& m) { return queued.push_back(m), true; });
    for (const QueuedMessage& message : queued) log_.evict(message.body.log);
    subscribe(12);
    turn();
    EXPECT_EQ(log_.reads.size(), 4u);
    std::string seen;
    for (int i = 0; i < 12; ++i) {
        ASSERT_FALSE(log_.reads.empty()) << i;
        log_.serve_read(std::string(1, static_cast<char>('a' + i)));
        turn();
        if (i % 2 == 0) continue;
        for (const std::string& body : taken_bodies()) seen += body;
        turn();
    }
    EXPECT_FALSE(consumer_.overflowed);
    EXPECT_EQ(seen, "abcdefghijkl");
}

TEST_F(PumpTest, AnEndedSessionsRingsAreReadFirstAndWhatItNeverTookCountsAsUndelivered) {
    subscribe(8);
    for (const char* body : {"a", "b"}) publisher_.publish(topic_, body);
    turn();
    const Delivery first = consumer_.deliveries.at(0);
    consumer_.cursor = 1;
    consumer_.acknowledge(first);
    pump_.end_session(consumer_session_, true);
    turn();
    EXPECT_EQ(outside_.ended_sessions, std::vector<std::uint32_t>{consumer_session_});
    EXPECT_EQ(pump_.core().status(queue_).depth, 1u);
    FakePort next;
    const auto session = pump_.open_session(next, 1);
    ASSERT_TRUE(pump_.subscribe(session, {kNone, "Orders", 1, {}}));
    turn();
    ASSERT_EQ(next.deliveries.size(), 1u);
    EXPECT_EQ(next.deliveries[0].count, 1u);  // L11
}

TEST_F(PumpTest, ABarrierThatFindsTheRingFullComesNextAndTooManyOfThemDetach) {
    QueueConfig queue;
    queue.name = "Marks";
    queue.barrier_expression = "/mark = 1";
    FakeLog log;
    FakeOutside outside;
    PumpLimits limits;
    limits.barrier_count_max = 4;
    FakePump pump(log, outside, CoreOptions{}, limits);
    ASSERT_TRUE(pump.core().define_queue(queue));
    ASSERT_TRUE(pump.core().finish_definitions());
    pump.core().recovered(kStart, true);
    log.publish();
    log.make_durable();
    FakePort publisher;
    FakePort reader;
    reader.ring_capacity = 2;
    pump.open_session(publisher, 1);
    const auto session = pump.open_session(reader, 1);
    while (pump.turn(kStart)) {
    }
    ASSERT_TRUE(pump.subscribe(session, {kNone, "Marks", 1, {}}));
    const TopicId topic = pump.core().find_topic("Marks");
    for (int i = 0; i < 4; ++i) publisher.publish(topic, R"({"mark":1})");
    while (pump.turn(kStart)) {
    }
    EXPECT_EQ(reader.take().size(), 2u);
    while (pump.turn(kStart)) {
    }
    EXPECT_EQ(reader.take().size(), 2u);
    EXPECT_TRUE(outside.violations.empty());
    for (int i = 0; i < 7; ++i) publisher.publish(topic, R"({"mark":1})");
    while (pump.turn(kStart)) {
    }
    ASSERT_EQ(outside.violations.size(), 1u);
    EXPECT_EQ(outside.violations[0].first, session);
}

TEST_F(PumpTest, AnAcknowledgmentThatNamesAPublishThatIsNotThereDetaches) {
    consumer_.acks.push_back({{}, 4096, false, false});
    turn();
    ASSERT_EQ(outside_.violations.size(), 1u);
    EXPECT_EQ(outside_.violations[0].first, consumer_session_);
}

TEST_F(PumpTest, ANewerSessionOfAPublishersNameFencesTheOlder) {
    const PublisherId name = pump_.core().publisher(1, "gateway");
    EXPECT_EQ(pump_.bind_publisher(publisher_session_, name), 0u);
    SubmitFrame numbered;
    numbered.publisher = name;
    numbered.number = 1;
    numbered.previous = 0;
    publisher_.publish(topic_, "a", numbered);
    FakePort newer;
    const auto session = pump_.open_session(newer, 1);
    EXPECT_EQ(pump_.bind_publisher(session, name), 1u);  // the old ring was read first (rule 24)
    numbered.number = 2;
    numbered.previous = 1;
    publisher_.publish(topic_, "b", numbered);
    newer.publish(topic_, "b", numbered);
    turn();
    ASSERT_EQ(publisher_.answers.size(), 1u);
    EXPECT_EQ(publisher_.answers[0].answer, Answer::fenced);
    EXPECT_EQ(pump_.core().status(queue_).depth, 2u);
}

}  // namespace
}  // namespace pinnace::testing
