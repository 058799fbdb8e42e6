// SPDX-License-Identifier: Apache-2.0
#include "core/late_record.h"

#include <gtest/gtest.h>

#include <vector>

namespace pinnace {
namespace {

RecordHeader header_of(RecordKind kind) {
    RecordHeader header;
    header.kind = static_cast<std::uint16_t>(kind);
    header.position = 7;
    return header;
}

const BodyRef kInLog{LogPosition{std::uint64_t{1} << 62 | 64}, 5, nullptr};

TEST(LateRecord, KeepsAMessageThatIsExpectedUntilItLeaves) {
    LateRecord late;
    std::vector head{std::byte{1}, std::byte{2}, std::byte{3}};
    late.expect();
    ASSERT_TRUE(late.take(header_of(RecordKind::message), head, kInLog));
    head.assign(3, std::byte{0});  // it has a copy of its own
    EXPECT_TRUE(late.waits());
    EXPECT_EQ(late.header().position, 7u);
    EXPECT_EQ(std::vector(late.head().begin(), late.head().end()),
              (std::vector{std::byte{1}, std::byte{2}, std::byte{3}}));
    const BodyRef& body = late.leave();
    EXPECT_FALSE(late.waits());
    EXPECT_EQ(body.log, kInLog.log);
    EXPECT_EQ(body.size, kInLog.size);
}

TEST(LateRecord, KeepsNothingThatIsNotExpected) {
    LateRecord late;
    EXPECT_FALSE(late.take(header_of(RecordKind::message), {}, kInLog));
    late.expect();
    late.dismiss();
    EXPECT_FALSE(late.take(header_of(RecordKind::message), {}, kInLog));
    EXPECT_FALSE(late.waits());
}

TEST(LateRecord, KeepsOneRecordForEachTimeThatOneIsExpected) {
    LateRecord late;
    late.expect();
    ASSERT_TRUE(late.take(header_of(RecordKind::message), {}, kInLog));
    late.leave();
    EXPECT_FALSE(late.take(header_of(RecordKind::message), {}, kInLog));
}

TEST(LateRecord, AnotherKindIsNotKeptAndNothingBehindItEither) {
    LateRecord late;
    late.expect();
    EXPECT_FALSE(late.take(header_of(RecordKind::remove), {}, kInLog));
    EXPECT_FALSE(late.take(header_of(RecordKind::message), {}, kInLog));
    EXPECT_FALSE(late.waits());
}

TEST(LateRecord, KeepsHeadsOfUpTo32BytesAndBodiesThatLieInTheLog) {
    LateRecord late;
    late.expect();
    EXPECT_FALSE(late.take(header_of(RecordKind::message), {}, BodyRef{kCold, 5, nullptr}));
    const std::vector<std::byte> head(33);
    late.expect();
    EXPECT_FALSE(late.take(header_of(RecordKind::message), head, kInLog));
    late.expect();
    EXPECT_TRUE(late.take(header_of(RecordKind::message), std::span(head).first(32), kInLog));
    EXPECT_EQ(late.head().size(), 32u);
}

}  // namespace
}  // namespace pinnace
