// SPDX-License-Identifier: Apache-2.0
#include "journal/feed.h"

#include "tests/journal/support.h"

namespace pinnace::journal::test {
namespace {

constexpr std::size_t kSmall = 16u << 10;

TEST(Feed, NothingIsSeenBeforePublish) {
    Feed feed(kSmall);
    EXPECT_EQ(feed.append(record(RecordKind::message, 1, 5), as_bytes("head"), nullptr, 0), 1u);
    feed.end_step();
    EXPECT_EQ(feed.visible_end(), 0u);
    feed.publish(42);
    EXPECT_GT(feed.visible_end(), 0u);
    EXPECT_EQ(feed.time(), 42);
}

TEST(Feed, EntriesComeOutAsTheyWentInWithTheirSteps) {
    Feed feed(kSmall);
    const std::string body = "a body";
    feed.append(record(RecordKind::message, 1, 5), as_bytes("a head"), as_bytes(body).data(), 6);
    feed.append(record(RecordKind::remove, 2, 6), {}, nullptr, 0);
    feed.end_step();
    EXPECT_EQ(feed.append(record(RecordKind::remove, 2, 7), {}, nullptr, 0), 3u);
    feed.publish(1);
    FeedCursor cursor;
    const FeedEntry& first = feed.take(cursor);
    EXPECT_EQ(as_text({first.head(), first.header.head_size}), "a head");
    EXPECT_EQ(as_text({first.body, first.body_size()}), body);
    EXPECT_EQ(first.header.payload_size, 12u);
    EXPECT_FALSE(first.ends_step());
    EXPECT_TRUE(feed.take(cursor).ends_step());
    EXPECT_TRUE(feed.take(cursor).ends_step());
    EXPECT_EQ(cursor.position, feed.visible_end());
    EXPECT_EQ(cursor.index, 3u);
}

// Heads of every size, over many laps: each entry is contiguous and none is overwritten too early.
TEST(Feed, EntriesOfAllSizesSurviveTheEndOfTheRing) {
    Feed feed(kSmall);
    FeedCursor cursor;
    std::uint64_t taken = 0;
    const auto head_of = [](std::uint64_t index) {
        return std::string(static_cast<std::size_t>(index * 131 % 5000), static_cast<char>('a' + index % 26));
    };
    for (std::uint64_t index = 1; index <= 3000; ++index) {
        const std::string head = head_of(index);
        while (feed.room() < Feed::entry_size(head.size())) {
            const FeedEntry& entry = feed.take(cursor);
            ++taken;
            ASSERT_EQ(entry.header.position, taken);
            ASSERT_EQ(as_text({entry.head(), entry.header.head_size}), head_of(taken));
            feed.release(cursor.position);
        }
        ASSERT_EQ(feed.append(record(RecordKind::message, 1, index), as_bytes(head), nullptr, 0), index);
        feed.publish(static_cast<Time>(index));
    }
}

// Rule 14: the caller can count on what room() said.
TEST(Feed, RoomIsExact) {
    Feed feed(kSmall);
    const std::size_t size = Feed::entry_size(0);
    std::size_t count = 0;
    for (; feed.room() >= size; ++count) feed.append(record(RecordKind::remove, 1, 1), {}, nullptr, 0);
    EXPECT_EQ(count, feed.byte_count() / size);
    feed.publish(1);
    FeedCursor cursor;
    feed.take(cursor);
    feed.release(cursor.position);
    EXPECT_GE(feed.room(), size);
}

// Rule 7: what found no room comes later, in order, and never as a part of its step.
TEST(Feed, WhatTheRingHasNoRoomForComesInOrderAndInWholeSteps) {
    Feed feed(kSmall);
    const auto head_of = [](std::uint64_t index) { return std::string(index * 37 % 200, 'h'); };
    const std::uint64_t step_size = 40;
    const std::uint64_t count = step_size * 100;
    for (std::uint64_t index = 1; index <= count; ++index) {
        const std::string head = head_of(index);
        ASSERT_EQ(feed.append(record(RecordKind::message, 1, index), as_bytes(head), nullptr, 0), index);
        if (index % step_size == 0) feed.end_step();
    }
    EXPECT_TRUE(feed.spilled());
    EXPECT_EQ(feed.room(), 0u);
    FeedCursor cursor;
    std::uint64_t taken = 0;
    while (taken < count) {
        feed.publish(1);
        const std::uint64_t end = feed.visible_end();
        ASSERT_GT(end, cursor.position);
        while (cursor.position != end) {
            const FeedEntry& entry = feed.take(cursor);
            ++taken;
            ASSERT_EQ(entry.header.position, taken);
            ASSERT_EQ(as_text({entry.head(), entry.header.head_size}), head_of(taken));
            ASSERT_EQ(entry.ends_step(), taken % step_size == 0);
        }
        ASSERT_EQ(taken % step_size, 0u);
        feed.release(cursor.position);
    }
    EXPECT_FALSE(feed.spilled());
    EXPECT_EQ(feed.room(), feed.byte_count());
}

TEST(FeedDeathTest, AStepLargerThanTheRingStopsTheProcess) {
    Feed feed(kSmall);
    const auto fill = [&feed] {
        for (std::size_t i = 0; i <= kSmall / Feed::entry_size(0); ++i)
            feed.append(record(RecordKind::remove, 1, 1), {}, nullptr, 0);
    };
    EXPECT_DEATH(fill(), "internal check failed");
}

}  // namespace
}  // namespace pinnace::journal::test
