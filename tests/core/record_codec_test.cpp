// SPDX-License-Identifier: Apache-2.0
// Heads of records: what goes in comes out, and nothing else is accepted.
#include "core/record_codec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace pinnace {
namespace {

using Runs = std::vector<std::pair<Position, std::uint64_t>>;

QueueEntry full_entry() {
    QueueEntry entry;
    entry.queue = 300;
    entry.expiry = 1'800'000'000'000'000'000;
    entry.due = 7;
    entry.has_priority = true;
    entry.priority = UINT64_MAX;
    entry.ordinal = 128;
    entry.group = "acct-9";
    entry.has_dedup = true;
    entry.dedup.fill(std::byte{0xab});
    entry.barrier = true;
    entry.beyond = true;
    entry.handed_over = true;
    entry.duplicate = true;
    return entry;
}

void expect_equal(const QueueEntry& a, const QueueEntry& b) {
    EXPECT_EQ(a.queue, b.queue);
    EXPECT_EQ(a.expiry, b.expiry);
    EXPECT_EQ(a.due, b.due);
    EXPECT_EQ(a.has_priority, b.has_priority);
    EXPECT_EQ(a.priority, b.priority);
    EXPECT_EQ(a.ordinal, b.ordinal);
    EXPECT_EQ(a.group, b.group);
    EXPECT_EQ(a.has_dedup, b.has_dedup);
    EXPECT_EQ(a.dedup, b.dedup);
    EXPECT_EQ(a.barrier, b.barrier);
    EXPECT_EQ(a.beyond, b.beyond);
    EXPECT_EQ(a.handed_over, b.handed_over);
    EXPECT_EQ(a.duplicate, b.duplicate);
}

Runs decoded(std::span<const std::byte> head, Position base, bool& good) {
    Runs runs;
    good = decode_runs(head, base,
                       [&](Position first, std::uint64_t count) { runs.emplace_back(first, count); });
    return runs;
}

TEST(RecordCodec, AnEntryComesBackAsItWas) {
    for (const QueueEntry& entry : {full_entry(), QueueEntry{.queue = 0, .group = {}}}) {
        HeadBytes bytes;
        put_entry(bytes, entry);
        HeadReader in(bytes);
        QueueEntry back;
        ASSERT_TRUE(read_entry(in, back));
        EXPECT_TRUE(in.complete());
        expect_equal(entry, back);
    }
}

TEST(RecordCodec, APlainEntryIsTwoBytes) {
    HeadBytes bytes;
    put_entry(bytes, QueueEntry{.queue = 5, .group = {}});
    EXPECT_EQ(bytes.size(), 2u);
}

TEST(RecordCodec, EveryTruncationOfAnEntryIsRefused) {
    HeadBytes bytes;
    put_entry(bytes, full_entry());
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        HeadReader in(std::span<const std::byte>(bytes).first(size));
        QueueEntry back;
        EXPECT_FALSE(read_entry(in, back)) << size;
    }
}

TEST(RecordCodec, EveryTruncationOfAMoveIsRefused) {
    const MoveHead move{.from = 1000,
                        .origin = 77,
                        .published = 1'700'000'000'000'000'000,
                        .deliveries = 3,
                        .cancels = 1,
                        .topic = 9,
                        .size = 1 << 20,
                        .redrive = true};
    HeadBytes bytes;
    put_move(bytes, move);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        HeadReader in(std::span<const std::byte>(bytes).first(size));
        MoveHead back;
        EXPECT_FALSE(read_move(in, back)) << size;
    }
    HeadReader in(bytes);
    MoveHead back;
    ASSERT_TRUE(read_move(in, back));
    EXPECT_TRUE(in.complete());
    EXPECT_EQ(back.from, move.from);
    EXPECT_EQ(back.origin, move.origin);
    EXPECT_EQ(back.published, move.published);
    EXPECT_EQ(back.deliveries, 3u);
    EXPECT_EQ(back.cancels, 1u);
    EXPECT_EQ(back.topic, 9u);
    EXPECT_EQ(back.size, 1u << 20);
    EXPECT_TRUE(back.redrive);
}

TEST(RecordCodec, DefinitionsComeBackAndTheirTruncationsAreRefused) {
    HeadBytes queue;
    put_queue_definition(queue, {.name = "Orders", .recovery_point = "epoch", .fifo = true});
    const auto back = read_queue_definition(queue);
    ASSERT_TRUE(back);
    EXPECT_EQ(back->name, "Orders");
    EXPECT_EQ(back->recovery_point, "epoch");
    EXPECT_TRUE(back->fifo);
    EXPECT_FALSE(back->at_most_once);
    for (std::size_t size = 0; size < queue.size(); ++size)
        EXPECT_FALSE(read_queue_definition(std::span(queue).first(size)));

    HeadBytes topic;
    put_topic_definition(topic, {.name = "orders", .message_type = "json"});
    ASSERT_TRUE(read_topic_definition(topic));
    EXPECT_EQ(read_topic_definition(topic)->message_type, "json");
    for (std::size_t size = 0; size < topic.size(); ++size)
        EXPECT_FALSE(read_topic_definition(std::span(topic).first(size)));

    HeadBytes name;
    put_publisher_name(name, "gw1");
    EXPECT_EQ(read_publisher_name(name), "gw1");
    name.push_back(std::byte{0});
    EXPECT_FALSE(read_publisher_name(name));
}

TEST(RecordCodec, AVarintIsReadInItsShortestFormOnly) {
    for (const std::uint64_t value :
         {std::uint64_t{0}, std::uint64_t{127}, std::uint64_t{128}, UINT64_MAX / 2, UINT64_MAX}) {
        HeadBytes bytes;
        put_varint(bytes, value);
        HeadReader in(bytes);
        EXPECT_EQ(in.varint(), value);
        EXPECT_TRUE(in.complete());
        bytes.back() |= std::byte{0x80};
        bytes.push_back(std::byte{0});
        HeadReader longer(bytes);
        longer.varint();
        EXPECT_TRUE(longer.failed());
    }
    HeadBytes beyond(9, std::byte{0xff});
    beyond.push_back(std::byte{0x02});
    HeadReader in(beyond);
    in.varint();
    EXPECT_TRUE(in.failed());
}

// All sets of positions within a small range, all cut-offs of the buffer.
TEST(RecordCodec, RunsHoldExactlyTheirPositionsForAllSmallSets) {
    for (unsigned set = 1; set < 1u << 10; ++set) {
        std::vector<Position> positions;
        for (unsigned bit = 0; bit < 10; ++bit)
            if (set >> bit & 1) positions.push_back(bit < 5 ? 100 + bit : 1000 + bit);
        HeadBytes bytes;
        encode_runs(positions, bytes);
        bool good = false;
        std::vector<Position> back;
        for (auto [first, count] : decoded(bytes, positions.front(), good))
            for (std::uint64_t i = 0; i < count; ++i) back.push_back(first + i);
        ASSERT_TRUE(good);
        ASSERT_EQ(back, positions);

        for (std::size_t room = 0; room <= bytes.size(); ++room) {
            HeadBytes fixed(room);
            std::size_t size = 0;
            const std::size_t count = encode_runs(positions, fixed, size);
            ASSERT_LE(size, room);
            HeadBytes part;
            encode_runs(std::span(positions).first(count), part);
            fixed.resize(size);
            ASSERT_EQ(part, fixed);
            ASSERT_EQ(room == bytes.size(), count == positions.size());
        }
    }
}

TEST(RecordCodec, RunsThatAreCutOrEmptyOrTouchOrOverflowAreRefused) {
    const std::vector<Position> positions{1, 2, 3, 300, 301, 70'000};
    HeadBytes bytes;
    encode_runs(positions, bytes);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        bool good = true;
        const Runs runs = decoded(std::span<const std::byte>(bytes).first(size), 1, good);
        // A cut between two runs is a shorter list; everything else is refused.
        EXPECT_TRUE(!good || runs.size() < 3) << size;
        EXPECT_TRUE(good || runs.empty()) << size;
    }
    const auto refused = [](std::initializer_list<std::uint64_t> values, Position base) {
        HeadBytes head;
        for (const std::uint64_t value : values) put_varint(head, value);
        return !check_runs(head, base);
    };
    EXPECT_TRUE(refused({0, 0}, 1));
    EXPECT_TRUE(refused({0, 1, 0, 1}, 1));
    EXPECT_TRUE(refused({0, UINT64_MAX}, 1));
    EXPECT_TRUE(refused({UINT64_MAX, 1}, 1));
    EXPECT_FALSE(refused({3, 1, 2, 2}, 1));
}

}  // namespace
}  // namespace pinnace
