// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "tests/shm/test_engine.h"

namespace pinnace::shm::test {
namespace {

// What the engine does with one publish, in short: body into the log, descriptor to the client.
DeliveryEntry deliver(TestEngine& engine, ServerSession& session, const SubmitFrame& frame,
                      std::uint64_t position) {
    LogHeader header;
    header.published = 1234;
    header.position = position;
    header.size = frame.header.size;
    const auto place = engine.regions->log().try_place(header);
    EXPECT_TRUE(place.has_value());
    copy_shared(place->body, frame.body, frame.header.size);
    engine.regions->log().settle(place->position, header.size, 0);
    DeliveryEntry entry;
    entry.position = position;
    entry.lease = 77;
    entry.log_position = place->position.bits;
    entry.size = frame.header.size;
    entry.topic = frame.header.topic;
    entry.count = 1;
    session.deliveries().write(entry);
    return entry;
}

TEST(Session, AMessageGoesRoundFromPublishToAcknowledgment) {
    TestEngine engine;
    Pair pair = connect(engine);
    ASSERT_TRUE(pair.client) << pair.error.text;
    ASSERT_TRUE(pair.server) << pair.failure;
    PublishItem item;
    item.fields.topic = 5;
    item.fields.number = 42;
    const std::string body = "hello from the other side";
    item.body = bytes(body);
    const auto end = pair.client->publish({&item, 1}, 0);
    ASSERT_TRUE(end.has_value());

    SubmitFrame frame;
    ASSERT_EQ(pair.server->submit().peek(frame), ReadStatus::ready);
    EXPECT_EQ(frame.header.topic, 5u);
    EXPECT_EQ(frame.header.number, 42u);
    EXPECT_EQ(text(frame.body, frame.header.size), body);
    deliver(engine, *pair.server, frame, 9);
    pair.server->submit().take(frame);
    pair.server->publish_read_marks();
    EXPECT_EQ(pair.client->submit_read(), *end);
    EXPECT_EQ(pair.client->submit_persisted(), 0u);
    pair.server->publish_persisted(frame.end);
    EXPECT_EQ(pair.client->submit_persisted(), *end);

    DeliveryEntry entry;
    ASSERT_EQ(pair.client->take(entry), ReadStatus::ready);
    EXPECT_EQ(entry.position, 9u);
    EXPECT_EQ(entry.lease, 77u);
    std::string out(entry.size, ' ');
    std::int64_t published = 0;
    ASSERT_EQ(pair.client->log().copy(LogPosition{entry.log_position},
                                      std::as_writable_bytes(std::span(out.data(), out.size())), published),
              BodyStatus::ok);
    EXPECT_EQ(out, body);
    EXPECT_EQ(published, 1234);
    EXPECT_EQ(pair.server->deliveries().refresh(), 1u);

    AckEntry ack;
    ack.position = entry.position;
    ack.lease = entry.lease;
    ack.verb = 1;
    ASSERT_TRUE(pair.client->try_acknowledge({&ack, 1}));
    AckEntry read;
    ASSERT_EQ(pair.server->peek_ack(read), ReadStatus::ready);
    EXPECT_EQ(read.position, 9u);
    EXPECT_EQ(read.submit_position, *end);
    EXPECT_TRUE(is_due(read, pair.server->submit().position()));
    pair.server->acks().take(read);
    pair.server->publish_read_marks();
    EXPECT_EQ(pair.client->ack_read(), 1u);
    EXPECT_EQ(pair.client->ack_durable(), 0u);
    pair.server->publish_ack_durable(1);
    EXPECT_EQ(pair.client->ack_durable(), 1u);
    EXPECT_FALSE(pair.client->violation());
    EXPECT_FALSE(pair.server->violation());
}

TEST(Session, AnAnswerArrivesInItsRing) {
    TestEngine engine;
    Pair pair = connect(engine);
    ASSERT_TRUE(pair.client) << pair.error.text;
    AnswerEntry answer;
    answer.number = 3;
    answer.kind = static_cast<std::uint16_t>(AnswerKind::publish);
    answer.answer = 7;
    ASSERT_TRUE(pair.server->answers().try_write(answer));
    AnswerEntry read;
    ASSERT_EQ(pair.client->take(read), ReadStatus::ready);
    EXPECT_EQ(read.number, 3u);
    EXPECT_EQ(read.answer, 7u);
    EXPECT_EQ(pair.client->take(read), ReadStatus::nothing);
}

TEST(Session, APublisherMapsNoLog) {
    TestEngine engine;
    const std::size_t before = region_mapping_count();
    ClientOptions options = engine.client_options();
    options.is_consumer = false;
    options.wanted.delivery_count = 4096;
    Pair pair = connect(engine, options);
    ASSERT_TRUE(pair.client) << pair.error.text;
    EXPECT_FALSE(pair.client->is_consumer());
    EXPECT_EQ(pair.client->geometry().delivery_count, kEntryCountMin);
    // up and down twice, control once more.
    EXPECT_EQ(region_mapping_count(), before + 5);
}

TEST(Session, AFullSubmitRingSaysWouldBlockAndThenTimedOut) {
    TestEngine engine;
    Pair pair = connect(engine);
    ASSERT_TRUE(pair.client) << pair.error.text;
    std::vector<std::byte> body(4000);
    PublishItem item;
    item.body = body;
    int count = 0;
    while (pair.client->publish({&item, 1}, 0).has_value()) ++count;
    EXPECT_EQ(count, 16);
    EXPECT_EQ(pair.client->publish({&item, 1}, 0).error(), ClientSession::PublishError::would_block);
    EXPECT_EQ(pair.client->publish({&item, 1}, 1'000'000).error(), ClientSession::PublishError::timed_out);
    // Room comes while it waits.
    std::thread engine_thread([&] {
        SubmitFrame frame;
        ASSERT_EQ(pair.server->submit().peek(frame), ReadStatus::ready);
        pair.server->submit().take(frame);
        pair.server->publish_persisted(frame.end);
        full_fence();
        if (pair.server->bell().should_ring()) pair.server->bell().ring();
    });
    EXPECT_TRUE(pair.client->publish({&item, 1}, -1).has_value());
    engine_thread.join();
}

TEST(Session, AMessageLargerThanTheLimitIsRefusedAtOnce) {
    TestEngine engine;
    Pair pair = connect(engine);
    ASSERT_TRUE(pair.client) << pair.error.text;
    EXPECT_EQ(pair.client->message_size_max(), 32u * 1024);
    std::vector<std::byte> body(32 * 1024 + 1);
    PublishItem item;
    item.body = body;
    EXPECT_EQ(pair.client->publish({&item, 1}, -1).error(), ClientSession::PublishError::too_large);
    item.body = std::span(body).first(32 * 1024);
    EXPECT_TRUE(pair.client->publish({&item, 1}, 0).has_value());
}

TEST(Session, RequestsAreAnsweredAndEventsArrive) {
    TestEngine engine;
    Pair pair = connect(engine);
    ASSERT_TRUE(pair.client) << pair.error.text;
    std::thread control([&] {
        SocketMessage request;
        ASSERT_TRUE(wait_readable(pair.server->socket().fd(), -1));
        ASSERT_TRUE(pair.server->socket().receive(request));
        EXPECT_EQ(request.type, 3u);
        EXPECT_EQ(text(request.payload.data(), request.payload.size()), "subscribe");
        pair.server->socket().send(MessageKind::event, 8, 0, bytes("by the way"));
        pair.server->socket().send(MessageKind::answer, 4, request.id, bytes("done"));
    });
    const auto answer = pair.client->request(3, bytes("subscribe"), 10'000'000'000);
    control.join();
    ASSERT_TRUE(answer.has_value()) << answer.error().text;
    EXPECT_EQ(answer->type, 4u);
    EXPECT_EQ(text(answer->payload.data(), answer->payload.size()), "done");
    SocketMessage event;
    ASSERT_TRUE(pair.client->next_event(event));
    EXPECT_EQ(event.type, 8u);
    EXPECT_FALSE(pair.client->next_event(event));
}

TEST(Session, ARequestThatNobodyAnswersTimesOut) {
    TestEngine engine;
    Pair pair = connect(engine);
    ASSERT_TRUE(pair.client) << pair.error.text;
    const auto answer = pair.client->request(3, {}, 1'000'000);
    ASSERT_FALSE(answer.has_value());
    EXPECT_TRUE(answer.error().is_timeout);
    EXPECT_FALSE(pair.client->is_disconnected());
}

TEST(Session, AClientFindsOutAtOnceThatTheEngineHasGone) {
    for (const WaitMode mode : {WaitMode::block, WaitMode::yield, WaitMode::spin}) {
        TestEngine engine;
        ClientOptions options = engine.client_options();
        options.wait_mode = mode;
        Pair pair = connect(engine, options);
        ASSERT_TRUE(pair.client) << pair.error.text;
        std::thread end([&] { pair.server.reset(); });
        EXPECT_EQ(pair.client->wait([] { return false; }, -1), WaitResult::disconnected);
        end.join();
        EXPECT_FALSE(pair.client->request(1, {}, -1).has_value());
    }
}

TEST(Session, AClientThatDoesNotReadItsAnswersIsAViolation) {
    TestEngine engine;
    Pair pair = connect(engine);
    ASSERT_TRUE(pair.client) << pair.error.text;
    const std::vector<std::byte> payload(kPayloadSizeMax);
    for (int i = 0; i < 1000 && !pair.server->socket().violation(); ++i) {
        pair.server->socket().send(MessageKind::event, 1, 0, payload);
    }
    EXPECT_EQ(pair.server->socket().violation().kind, ViolationKind::message);
}

TEST(Session, TheClockIsReadWholeOrNotAtAll) {
    TestEngine engine;
    Pair pair = connect(engine);
    ASSERT_TRUE(pair.client) << pair.error.text;
    EXPECT_FALSE(read_clock(pair.client->control()).has_value());
    const ClockCalibration calibration{100, -5, 1u << 31, 32, 1};
    write_clock(engine.regions->control(), calibration);
    EXPECT_EQ(read_clock(pair.client->control()), calibration);
    ++engine.regions->control().clock_sequence;  // as in the middle of a change
    EXPECT_FALSE(read_clock(pair.client->control()).has_value());
}

TEST(Session, AnEventFdTellsOfARing) {
    TestEngine engine;
    Pair pair = connect(engine);
    ASSERT_TRUE(pair.client) << pair.error.text;
    auto ready = [&] { return pair.client->has_answer(); };
    ASSERT_TRUE(pair.client->arm(ready));
    pollfd entry{pair.client->event_fd(), POLLIN, 0};
    EXPECT_EQ(poll(&entry, 1, 0), 0);
    pair.server->answers().write(AnswerEntry{});
    full_fence();
    ASSERT_TRUE(pair.server->bell().should_ring());
    pair.server->bell().ring();
    EXPECT_EQ(poll(&entry, 1, -1), 1);
    pair.client->disarm();
    EXPECT_FALSE(pair.client->arm(ready));
    EXPECT_EQ(poll(&entry, 1, 0), 0);
}

}  // namespace
}  // namespace pinnace::shm::test
