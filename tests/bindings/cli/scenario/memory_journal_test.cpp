// SPDX-License-Identifier: Apache-2.0
#include "bindings/cli/scenario/memory_journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/record_codec.h"

namespace pinnace::scenario {
namespace {

using ::testing::ElementsAre;

std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

RecordHeader header(RecordKind kind, Position position) {
    RecordHeader out;
    out.kind = static_cast<std::uint16_t>(kind);
    out.subject = 3;
    out.position = position;
    return out;
}

// "KIND:POSITION:HEAD:BODY" of all records, in order.
std::vector<std::string> replayed(const MemoryJournal& journal) {
    std::vector<std::string> out;
    const auto text = [](const std::byte* data, std::size_t size) {
        return std::string(reinterpret_cast<const char*>(data), size);
    };
    const auto done = journal.replay([&](const RecordView& record) -> std::expected<void, std::string> {
        out.push_back(std::to_string(record.header.kind) + ":" + std::to_string(record.header.position) +
                      ":" + text(record.head.data(), record.head.size()) + ":" +
                      text(record.body.data, record.body.size));
        return {};
    });
    EXPECT_TRUE(done) << done.error();
    return out;
}

TEST(MemoryJournal, RecordsComeBackInOrderOverSeveralFlushes) {
    MemoryJournal journal;
    journal.append(header(RecordKind::message, 1), bytes("head"), bytes("body"));
    journal.append(header(RecordKind::counts, 1), bytes("c"), {});
    journal.flush(5);
    journal.append(header(RecordKind::message, 2), {}, bytes(std::string(100'000, 'x')));
    journal.flush(6);
    const auto all = replayed(journal);
    ASSERT_EQ(all.size(), 3u);
    EXPECT_EQ(all[0], "1:1:head:body");
    EXPECT_EQ(all[1], "9:1:c:");
    EXPECT_EQ(all[2].size(), 5 + 100'000u);
}

TEST(MemoryJournal, WhatWasNotFlushedIsLostWithTheLife) {
    MemoryJournal journal;
    journal.append(header(RecordKind::message, 1), {}, bytes("a"));
    journal.flush(1);
    journal.append(header(RecordKind::message, 2), {}, bytes("b"));
    journal.begin_life();
    journal.flush(2);
    EXPECT_THAT(replayed(journal), ElementsAre("1:1::a"));
}

TEST(MemoryJournal, AcknowledgmentsComeBackAsRuns) {
    MemoryJournal journal;
    for (const Position position : {1u, 2u, 3u, 7u}) {
        journal.append(header(RecordKind::remove, position), {}, {});
    }
    journal.flush(1);
    std::vector<Position> removed;
    const auto done = journal.replay([&](const RecordView& record) -> std::expected<void, std::string> {
        EXPECT_EQ(record.header.kind, static_cast<std::uint16_t>(RecordKind::remove_runs));
        EXPECT_TRUE(
            decode_runs(record.head, record.header.position, [&](Position first, std::uint64_t count) {
                for (std::uint64_t i = 0; i < count; ++i) removed.push_back(first + i);
            }));
        return {};
    });
    EXPECT_TRUE(done);
    EXPECT_THAT(removed, ElementsAre(1, 2, 3, 7));
}

TEST(MemoryJournal, ABodyIsReadBackByItsPosition) {
    MemoryJournal journal;
    journal.append(header(RecordKind::message, 4), bytes("h"), bytes("four"));
    journal.append(header(RecordKind::message, 5), {}, bytes("five"));
    journal.flush(1);
    const auto body = journal.read_body(5);
    ASSERT_TRUE(body);
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(body->data()), body->size()), "five");
    EXPECT_FALSE(journal.read_body(6));
}

TEST(MemoryJournal, ARecordThatCannotBeAppliedEndsTheReplay) {
    MemoryJournal journal;
    journal.append(header(RecordKind::message, 4), {}, bytes("four"));
    journal.append(header(RecordKind::message, 5), {}, bytes("five"));
    journal.flush(1);
    int count = 0;
    const auto done = journal.replay([&](const RecordView&) -> std::expected<void, std::string> {
        ++count;
        return std::unexpected("no");
    });
    EXPECT_EQ(done.error(), "no");
    EXPECT_EQ(count, 1);
}

}  // namespace
}  // namespace pinnace::scenario
