// SPDX-License-Identifier: Apache-2.0
#include "journal/journal.h"

#include <cstdlib>

#include "tests/journal/support.h"

namespace pinnace::journal::test {
namespace {

std::unique_ptr<Journal> open_started(const Options& options, RememberingSink& sink) {
    auto journal = Journal::open(options, sink);
    EXPECT_TRUE(journal.has_value()) << journal.error().text;
    if (!journal) std::abort();
    EXPECT_TRUE((*journal)->start().has_value());
    return std::move(*journal);
}

TEST(Journal, WhatWasDurableIsThereAfterTheNextStart) {
    const TemporaryDirectory directory;
    const Options options = small_options(directory.path());
    {
        RememberingSink sink;
        auto journal = open_started(options, sink);
        EXPECT_TRUE(journal->recovered().created);
        EXPECT_EQ(journal->recovered().incarnation, 1u);
        put(*journal, record(RecordKind::define_topic, 1, 0), "orders", "");
        put(*journal, record(RecordKind::message, 1, 10), "head", "body of the first");
        const RecordIndex last = put(*journal, record(RecordKind::message, 1, 11), "", "second");
        publish(*journal, 77);
        await([&] { return journal->durable() >= last; });
        EXPECT_TRUE(journal->close().has_value());
    }
    RememberingSink sink;
    auto journal = open_started(options, sink);
    ASSERT_EQ(sink.seen.size(), 3u);
    EXPECT_EQ(sink.seen[0].head, "orders");
    EXPECT_EQ(sink.seen[1].head, "head");
    EXPECT_EQ(sink.seen[1].body, "body of the first");
    EXPECT_EQ(sink.seen[1].header.position, 10u);
    EXPECT_EQ(sink.seen[2].body, "second");
    const Recovered& recovered = journal->recovered();
    EXPECT_FALSE(recovered.created);
    EXPECT_EQ(recovered.incarnation, 2u);
    EXPECT_EQ(recovered.record_count, 3u);
    EXPECT_EQ(recovered.last_position, 11u);
    EXPECT_EQ(recovered.time.engine_time, 77);
    EXPECT_EQ(recovered.time.boot_id_hash, read_clocks().boot_id_hash);
    EXPECT_FALSE(recovered.torn_tail.has_value());
    EXPECT_TRUE(journal->close().has_value());
}

TEST(Journal, RollsOverManySegmentsAndKeepsTheOrder) {
    const TemporaryDirectory directory;
    const Options options = small_options(directory.path());
    constexpr int kCount = 400;
    std::vector<std::string> bodies;
    for (int i = 0; i < kCount; ++i)
        bodies.push_back(
            std::string(static_cast<std::size_t>(i * 37 % 9000), static_cast<char>('a' + i % 26)));
    {
        RememberingSink sink;
        auto journal = open_started(options, sink);
        for (int i = 0; i < kCount; ++i) {
            put(*journal, record(RecordKind::message, 1, static_cast<Position>(i + 1)), "",
                bodies[static_cast<std::size_t>(i)]);
            publish(*journal, i + 1);
        }
        EXPECT_TRUE(journal->close().has_value());
        EXPECT_EQ(journal->durable(), static_cast<RecordIndex>(kCount));
        EXPECT_GT(journal->status().segment_count, 4u);
    }
    RememberingSink sink;
    auto journal = open_started(options, sink);
    ASSERT_EQ(sink.seen.size(), bodies.size());
    for (std::size_t i = 0; i < bodies.size(); ++i) {
        EXPECT_EQ(sink.seen[i].header.position, i + 1);
        ASSERT_EQ(sink.seen[i].body, bodies[i]) << i;
    }
    EXPECT_TRUE(journal->close().has_value());
}

TEST(Journal, AStepLargerThanABufferIsOneBatch) {
    const TemporaryDirectory directory;
    const Options options = small_options(directory.path());
    const std::string body(options.message_size_max, 'x');
    {
        RememberingSink sink;
        auto journal = open_started(options, sink);
        put(*journal, record(RecordKind::message, 1, 1), "", "small");
        journal->feed().end_step();
        put(*journal, record(RecordKind::message, 1, 2), "", body);
        put(*journal, record(RecordKind::message, 1, 3), "", "");
        journal->feed().end_step();
        put(*journal, record(RecordKind::message, 1, 4), "", "after");
        publish(*journal);
        EXPECT_TRUE(journal->close().has_value());
    }
    RememberingSink sink;
    auto journal = open_started(options, sink);
    ASSERT_EQ(sink.seen.size(), 4u);
    EXPECT_EQ(sink.seen[1].body, body);
    EXPECT_NE(sink.seen[0].place, sink.seen[1].place);
    EXPECT_EQ(sink.seen[1].place, sink.seen[2].place);
    EXPECT_NE(sink.seen[2].place, sink.seen[3].place);
    EXPECT_TRUE(journal->close().has_value());
}

// Rule 16.
TEST(Journal, ABodyIsReadBackByItsPositionInThisLifeAndTheNext) {
    const TemporaryDirectory directory;
    const Options options = small_options(directory.path());
    std::vector<std::string> bodies;
    for (std::size_t i = 0; i < 100; ++i)
        bodies.push_back(std::string(i * 211 % 7000, static_cast<char>('A' + i % 26)));
    const auto read_all = [&](Journal& journal) {
        for (std::size_t i = bodies.size(); i-- > 0;) {
            std::string body(bodies[i].size(), '?');
            ASSERT_TRUE(journal.request_body({i * 2 + 5, static_cast<std::uint32_t>(body.size()),
                                              reinterpret_cast<std::byte*>(body.data()), i}));
            journal.wake();
            BodyReply reply;
            await([&] { return journal.next_body(reply); });
            EXPECT_TRUE(reply.readable);
            EXPECT_EQ(reply.token, i);
            EXPECT_EQ(body, bodies[i]);
        }
        std::byte byte{};
        for (const Position missing : {Position{4}, Position{6}, Position{1000}}) {
            ASSERT_TRUE(journal.request_body({missing, 1, &byte, 0}));
            journal.wake();
            BodyReply reply;
            await([&] { return journal.next_body(reply); });
            EXPECT_FALSE(reply.readable);
        }
    };
    {
        RememberingSink sink;
        auto journal = open_started(options, sink);
        RecordIndex last = 0;
        for (std::size_t i = 0; i < bodies.size(); ++i) {
            last = put(*journal, record(RecordKind::message, 1, i * 2 + 5), "h", bodies[i]);
            publish(*journal);
        }
        await([&] { return journal->durable() >= last; });
        read_all(*journal);
        EXPECT_TRUE(journal->close().has_value());
    }
    RememberingSink sink;
    auto journal = open_started(options, sink);
    read_all(*journal);
    EXPECT_TRUE(journal->close().has_value());
}

TEST(Journal, ADirectoryInUseIsRefusedByName) {
    const TemporaryDirectory directory;
    RememberingSink sink;
    auto journal = open_started(small_options(directory.path()), sink);
    const auto second = Journal::open(small_options(directory.path()), sink);
    ASSERT_FALSE(second.has_value());
    EXPECT_EQ(second.error().kind, ErrorKind::in_use);
    EXPECT_NE(second.error().text.find(directory.path()), std::string::npos);
    EXPECT_NE(second.error().text.find(std::to_string(::getpid())), std::string::npos);
    EXPECT_TRUE(journal->close().has_value());
    journal.reset();
    EXPECT_TRUE(Journal::open(small_options(directory.path()), sink).has_value());
}

TEST(Journal, AForeignFileIsRefusedByNameUnlessItIsAllowed) {
    const TemporaryDirectory directory;
    Options options = small_options(directory.path());
    write_file(directory.path() + "/holiday.jpg", "?");
    RememberingSink sink;
    const auto refused = Journal::open(options, sink);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().kind, ErrorKind::foreign);
    EXPECT_NE(refused.error().text.find("holiday.jpg"), std::string::npos);
    options.names_allowed = {"holiday.jpg"};
    EXPECT_TRUE(Journal::open(options, sink).has_value());
}

TEST(Journal, PoliciesThatAreNotThereAreRefused) {
    const TemporaryDirectory directory;
    for (const Policy policy : {Policy::interval, Policy::each, Policy::none}) {
        Options options = small_options(directory.path());
        options.policy = policy;
        RememberingSink sink;
        const auto opened = Journal::open(options, sink);
        ASSERT_FALSE(opened.has_value());
        EXPECT_EQ(opened.error().kind, ErrorKind::bad_option);
    }
}

TEST(Journal, ASegmentTooSmallForTheLargestMessageIsRefused) {
    const TemporaryDirectory directory;
    Options options = small_options(directory.path());
    options.segment_size = 64u << 10;
    RememberingSink sink;
    const auto opened = Journal::open(options, sink);
    ASSERT_FALSE(opened.has_value());
    EXPECT_EQ(opened.error().kind, ErrorKind::bad_option);
    EXPECT_NE(opened.error().text.find("four of the largest messages"), std::string::npos)
        << opened.error().text;
}

TEST(Journal, ARefusingSinkEndsTheStartAndChangesNothing) {
    const TemporaryDirectory directory;
    const Options options = small_options(directory.path());
    {
        RememberingSink sink;
        auto journal = open_started(options, sink);
        put(*journal, record(RecordKind::message, 1, 1), "", "a");
        publish(*journal);
        EXPECT_TRUE(journal->close().has_value());
    }
    RememberingSink refusing;
    refusing.refuse_at = 0;
    const auto refused = Journal::open(options, refusing);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().kind, ErrorKind::refused);
    EXPECT_NE(refused.error().text.find("the test refuses it"), std::string::npos);
    RememberingSink sink;
    const auto journal = Journal::open(options, sink);
    ASSERT_TRUE(journal.has_value());
    EXPECT_EQ((*journal)->recovered().incarnation, 2u);
}

TEST(Journal, WithoutCloseWhatWasDurableIsStillThere) {
    const TemporaryDirectory directory;
    const Options options = small_options(directory.path());
    {
        RememberingSink sink;
        auto journal = open_started(options, sink);
        const RecordIndex last = put(*journal, record(RecordKind::message, 1, 1), "", "a");
        publish(*journal);
        await([&] { return journal->durable() >= last; });
    }
    RememberingSink sink;
    const auto journal = Journal::open(options, sink);
    ASSERT_TRUE(journal.has_value());
    EXPECT_EQ(sink.seen.size(), 1u);
}

// Rule 20: the journal thread sleeps for good when it is idle, and no wake-up is lost.
TEST(Journal, EveryPublishAfterIdlenessIsSeenWithoutATimeOut) {
    const TemporaryDirectory directory;
    Options options = small_options(directory.path());
    options.idle_yield_ns = 0;
    options.idle_nap_ns = 0;
    options.sleep_max_ns = -1;
    RememberingSink sink;
    auto journal = open_started(options, sink);
    for (int i = 1; i <= 500; ++i) {
        const RecordIndex last =
            put(*journal, record(RecordKind::reserve, 0, static_cast<Position>(i)), "", "");
        publish(*journal, i);
        await([&] { return journal->durable() >= last; });
    }
    EXPECT_TRUE(journal->close().has_value());
}

// Rule 22.
TEST(EngineTime, GoesOnByBootTimeInOneBootAndByTheWallClockElse) {
    const TimeStamp last{1'000, 50, 7, 9'000};
    EXPECT_EQ(continue_time(last, {0, 80, 7, 1}).now, 1'030);
    EXPECT_TRUE(continue_time(last, {0, 80, 7, 1}).same_boot);
    EXPECT_EQ(continue_time(last, {0, 2, 8, 9'500}).now, 1'500);
    EXPECT_FALSE(continue_time(last, {0, 2, 8, 9'500}).same_boot);
    EXPECT_EQ(continue_time(last, {0, 2, 8, 100}).now, 1'000);  // the wall clock was set back
    EXPECT_EQ(continue_time({}, {0, 2, 8, 9'500}).now, 9'500);
}

}  // namespace
}  // namespace pinnace::journal::test
