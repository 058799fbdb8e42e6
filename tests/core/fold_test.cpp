// SPDX-License-Identifier: Apache-2.0
// What is left of records. That it gives the same state is held by the model's and the simulation's tests,
// which fold the records of each of their lives.
#include "core/fold.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "tests/support/folded.h"

namespace pinnace {
namespace {

using test::BareRecord;

RecordHeader header_of(RecordKind kind, std::uint32_t subject, Position position, Time time = 1) {
    RecordHeader header;
    header.kind = static_cast<std::uint16_t>(kind);
    header.subject = subject;
    header.position = position;
    header.time = time;
    return header;
}

BareRecord queue(std::uint32_t id, std::string_view name) {
    BareRecord record{header_of(RecordKind::define_queue, id, 0), {}, 0};
    put_queue_definition(record.head, {.name = name, .recovery_point = "epoch"});
    return record;
}

BareRecord message(Position position, std::uint32_t queue_id, Time time = 1,
                   const DedupHash* dedup = nullptr) {
    BareRecord record{header_of(RecordKind::message, 0, position, time), {}, 64};
    put_varint(record.head, 1);
    QueueEntry entry;
    entry.queue = queue_id;
    entry.has_dedup = dedup != nullptr;
    if (dedup != nullptr) entry.dedup = *dedup;
    put_entry(record.head, entry);
    return record;
}

BareRecord move(Position position, std::uint32_t from, Position origin, std::uint32_t to) {
    BareRecord record{header_of(RecordKind::move, from, position), {}, 0};
    MoveHead head;
    head.from = origin;
    head.origin = origin;
    head.topic = 0;
    put_move(record.head, head);
    QueueEntry entry;
    entry.queue = to;
    put_entry(record.head, entry);
    return record;
}

BareRecord removed(std::uint32_t queue_id, Position position, Time time = 1) {
    return {header_of(RecordKind::remove, queue_id, position, time), {}, 0};
}

std::vector<std::pair<RecordKind, Position>> left_of(const std::vector<BareRecord>& records,
                                                     Duration window = 0) {
    std::vector<BareRecord> folded;
    EXPECT_EQ(test::fold_twice(records, [window](std::string_view) { return window; }, folded), "");
    std::vector<BareRecord> once;
    EXPECT_EQ(test::fold_records(folded, [window](std::string_view) { return window; }, once), "");
    std::vector<std::pair<RecordKind, Position>> kinds;
    for (const BareRecord& record : once)
        if (record.header.position != 0)
            kinds.emplace_back(static_cast<RecordKind>(record.header.kind), record.header.position);
    return kinds;
}

using Left = std::vector<std::pair<RecordKind, Position>>;

TEST(Fold, WhatWasRemovedIsForgottenAndPositionsGoOnBehindIt) {
    EXPECT_EQ(
        left_of({queue(0, "q"), message(1, 0), message(2, 0), removed(0, 1), message(3, 0), removed(0, 3)}),
        (Left{{RecordKind::kept, 2}, {RecordKind::resume, 4}}));
}

TEST(Fold, TheRecordOfABodyStaysAsLongAsAMovedMessageNeedsIt) {
    std::vector<BareRecord> records = {queue(0, "q"), queue(1, "dead"), message(1, 0), message(2, 0),
                                       move(3, 0, 1, 1)};
    EXPECT_EQ(
        left_of(records),
        (Left{{RecordKind::kept, 1}, {RecordKind::kept, 2}, {RecordKind::move, 3}, {RecordKind::resume, 4}}));
    records.push_back(removed(1, 3));
    EXPECT_EQ(left_of(records), (Left{{RecordKind::kept, 2}, {RecordKind::resume, 4}}));
}

TEST(Fold, AnIdIsRememberedForItsWindowAndNoLonger) {
    DedupHash id{};
    id[0] = std::byte{7};
    std::vector<BareRecord> records = {queue(0, "q"), message(1, 0, 100, &id), removed(0, 1, 105)};
    EXPECT_EQ(left_of(records, 10), (Left{{RecordKind::kept, 1}, {RecordKind::resume, 2}}));
    records.push_back(removed(0, 1, 110));
    EXPECT_EQ(left_of(records, 10), (Left{{RecordKind::resume, 2}}));
}

TEST(Fold, ARecordOfAnUndefinedQueueIsRefusedAndNamed) {
    Fold fold([](std::string_view) { return Duration{0}; });
    const auto noted = fold.note(removed(3, 1).view());
    ASSERT_FALSE(noted.has_value());
    EXPECT_NE(noted.error().find("its queue is not defined"), std::string::npos);
}

TEST(PositionSet, HoldsWhatWasAddedInAnyOrder) {
    std::mt19937_64 random(1);
    for (int round = 0; round < 200; ++round) {
        PositionSet set;
        std::set<Position> all;
        for (int i = 0; i < 30; ++i) {
            const Position first = 1 + random() % 60;
            const std::uint64_t count = 1 + random() % 5;
            set.add(first, count);
            for (Position position = first; position < first + count; ++position) all.insert(position);
        }
        std::size_t ranges = 0;
        for (Position position = 0; position < 70; ++position) {
            ASSERT_EQ(set.contains(position), all.contains(position)) << position;
            if (all.contains(position) && !all.contains(position - 1)) ++ranges;
        }
        ASSERT_EQ(set.range_count(), ranges);
    }
}

}  // namespace
}  // namespace pinnace
