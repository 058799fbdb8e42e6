// SPDX-License-Identifier: Apache-2.0
#include "shm/entry_ring.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace pinnace::shm {
namespace {

DeliveryEntry numbered(std::uint64_t number) {
    DeliveryEntry entry;
    entry.position = number;
    entry.lease = number * 3;
    return entry;
}

// All small rings, all starts of a one-byte index, all fills: the ring against a plain count.
TEST(EntryRing, ANarrowIndexWrapsWithoutLossInAllSmallRings) {
    for (unsigned count = 1; count <= 64; count *= 2) {
        for (unsigned start = 0; start < 256; ++start) {
            std::vector<DeliveryEntry> memory(count);
            // As the lap before left them: in a narrow type, the zero of fresh memory is an index too.
            for (unsigned i = start; i < start + count; ++i) {
                memory[i % count].commit = static_cast<std::uint8_t>(i + 1 - count);
            }
            std::uint64_t cursor = start;
            EntryWriter<DeliveryEntry, std::uint8_t> writer(memory.data(), static_cast<std::uint8_t>(count),
                                                            &cursor, static_cast<std::uint8_t>(start));
            EntryReader<DeliveryEntry, std::uint8_t> reader(memory.data(), static_cast<std::uint8_t>(count),
                                                            static_cast<std::uint8_t>(start));
            std::uint64_t written = 0;
            std::uint64_t taken = 0;
            for (unsigned burst = 1; burst <= count; ++burst) {
                while (written - taken < burst) ASSERT_TRUE(writer.try_write(numbered(written++)));
                if (burst == count) {
                    ASSERT_FALSE(writer.try_write(numbered(0)));
                }
                DeliveryEntry entry;
                while (taken < written) {
                    ASSERT_EQ(reader.peek(entry), ReadStatus::ready);
                    ASSERT_EQ(entry.position, taken);
                    ASSERT_EQ(entry.lease, taken * 3);
                    reader.take();
                    ++taken;
                }
                ASSERT_EQ(reader.peek(entry), ReadStatus::nothing);
                reader.publish_taken(cursor);
            }
        }
    }
}

TEST(EntryRing, AListIsWrittenWholeOrNotAtAll) {
    std::array<AckEntry, 8> memory{};
    std::uint64_t cursor = 0;
    AckWriter writer(memory.data(), 8, &cursor);
    std::array<AckEntry, 5> list{};
    EXPECT_TRUE(writer.try_write(list));
    EXPECT_FALSE(writer.try_write(list));
    EXPECT_EQ(writer.written(), 5u);
    cursor = 2;
    EXPECT_TRUE(writer.try_write(list));
    EXPECT_EQ(writer.written(), 10u);
}

TEST(EntryRing, ACursorThatGoesBackOrPastTheEndIsAViolation) {
    for (const std::uint64_t told : {std::uint64_t{1}, std::uint64_t{9}, UINT64_MAX}) {
        std::array<DeliveryEntry, 8> memory{};
        std::uint64_t cursor = 0;
        DeliveryWriter writer(memory.data(), 8, &cursor);
        for (std::uint64_t i = 0; i < 8; ++i) writer.write(numbered(i));
        cursor = 4;
        EXPECT_EQ(writer.refresh(), 4u);
        EXPECT_EQ(writer.free_count(), 4u);
        cursor = told;
        EXPECT_EQ(writer.refresh(), 4u);
        EXPECT_EQ(writer.violation().kind, ViolationKind::cursor);
        EXPECT_EQ(writer.free_count(), 4u);
    }
}

TEST(EntryRing, UntakenEntriesCanBeReadBack) {
    std::array<DeliveryEntry, 8> memory{};
    std::uint64_t cursor = 0;
    DeliveryWriter writer(memory.data(), 8, &cursor);
    for (std::uint64_t i = 0; i < 6; ++i) writer.write(numbered(i));
    cursor = 4;
    writer.refresh();
    EXPECT_EQ(writer.untaken(3), nullptr);
    ASSERT_NE(writer.untaken(4), nullptr);
    EXPECT_EQ(writer.untaken(4)->position, 4u);
    EXPECT_EQ(writer.untaken(5)->position, 5u);
    EXPECT_EQ(writer.untaken(6), nullptr);
}

TEST(EntryRing, ACommitWordOfNoLapIsAViolation) {
    std::array<DeliveryEntry, 8> memory{};
    std::uint64_t cursor = 0;
    DeliveryWriter writer(memory.data(), 8, &cursor);
    DeliveryReader reader(memory.data(), 8);
    DeliveryEntry entry;
    for (std::uint64_t i = 0; i < 8; ++i) {
        writer.write(numbered(i));
        ASSERT_EQ(reader.peek(entry), ReadStatus::ready);
        reader.take();
    }
    EXPECT_EQ(reader.peek(entry), ReadStatus::nothing);  // the last lap's word
    for (const std::uint64_t word : {std::uint64_t{2}, std::uint64_t{10}, std::uint64_t{17}, UINT64_MAX}) {
        DeliveryReader fresh = reader;
        memory[0].commit = word;
        EXPECT_EQ(fresh.peek(entry), ReadStatus::violation) << word;
        EXPECT_EQ(fresh.violation().kind, ViolationKind::commit_word);
    }
    memory[0].commit = 0;
    EXPECT_EQ(reader.peek(entry), ReadStatus::nothing);
}

class AckRing : public testing::Test {
 protected:
    AckEntry& written(std::uint8_t verb = 1, std::uint8_t flags = 0) {
        AckEntry entry;
        entry.verb = verb;
        entry.flags = flags;
        return memory_[writer_.write(entry) % memory_.size()];
    }
    ReadStatus peek() { return reader_.peek(entry_, 1000, 65'536); }

    std::array<AckEntry, 8> memory_{};
    std::uint64_t cursor_ = 0;
    AckWriter writer_{memory_.data(), 8, &cursor_};
    AckReader reader_{memory_.data(), 8};
    AckEntry entry_;
};

TEST_F(AckRing, OnlyVerbsThatExistAreRead) {
    for (unsigned verb = 0; verb < 256; ++verb) {
        std::array<AckEntry, 8> memory{};
        std::uint64_t cursor = 0;
        AckWriter writer(memory.data(), 8, &cursor);
        AckReader reader(memory.data(), 8);
        AckEntry entry;
        entry.verb = static_cast<std::uint8_t>(verb);
        writer.write(entry);
        const bool exists = (verb >= 1 && verb <= 4) || verb == kVerbBodyAgain;
        EXPECT_EQ(reader.peek(entry, 0, 65'536), exists ? ReadStatus::ready : ReadStatus::violation) << verb;
    }
}

TEST_F(AckRing, AFlagThatDoesNotExistIsAViolation) {
    written(1, 4);
    EXPECT_EQ(peek(), ReadStatus::violation);
    EXPECT_EQ(reader_.violation().kind, ViolationKind::ack_verb);
}

TEST_F(AckRing, AnEntryWaitsForThePublishesBeforeIt) {
    AckEntry& entry = written();
    entry.submit_position = 2000;
    ASSERT_EQ(peek(), ReadStatus::ready);
    EXPECT_FALSE(is_due(entry_, 1000));
    EXPECT_TRUE(is_due(entry_, 2000));
    entry.flags = kAckUnordered;
    ASSERT_EQ(peek(), ReadStatus::ready);
    EXPECT_TRUE(is_due(entry_, 1000));
}

TEST_F(AckRing, AnEntryCannotReferToAPublishThatCannotBe) {
    written().submit_position = 1000 + 65'536 + 1;
    EXPECT_EQ(peek(), ReadStatus::violation);
    EXPECT_EQ(reader_.violation().kind, ViolationKind::submit_position);
}

TEST_F(AckRing, AListLongerThanHalfTheRingIsAViolation) {
    for (int i = 0; i < 3; ++i) {
        written(1, kAckMore);
        ASSERT_EQ(peek(), ReadStatus::ready);
        reader_.take(entry_);
        EXPECT_FALSE(reader_.is_at_boundary());
    }
    written(1, kAckMore);
    EXPECT_EQ(peek(), ReadStatus::violation);
    EXPECT_EQ(reader_.violation().kind, ViolationKind::ack_list);
}

TEST_F(AckRing, AListEndsWithTheEntryThatHasNoFlag) {
    written(1, kAckMore);
    ASSERT_EQ(peek(), ReadStatus::ready);
    reader_.take(entry_);
    written(1, 0);
    ASSERT_EQ(peek(), ReadStatus::ready);
    reader_.take(entry_);
    EXPECT_TRUE(reader_.is_at_boundary());
    EXPECT_EQ(reader_.index(), 2u);
}

}  // namespace
}  // namespace pinnace::shm
