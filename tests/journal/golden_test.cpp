// SPDX-License-Identifier: Apache-2.0
// The bytes of version 1, kept for ever: what is written today is the same, what was written then is read.
#include <cstdlib>

#include "journal/recovery.h"
#include "tests/journal/support.h"

namespace pinnace::journal::test {
namespace {

constexpr std::uint32_t kBlock = kBlockSizeMin;
const std::string kGolden = std::string(PINNACE_TEST_DATA) + "/golden/journal_v1.bin";

void append(std::string& segment, BatchBuilder& builder, BatchStamp& stamp) {
    const std::uint32_t size = builder.close();
    stamp.place = Place::make(1, segment.size());
    std::uint32_t chain = 0;
    segment += as_text(builder.stamp(stamp, chain));
    stamp.durable_up_to = Place::make(1, segment.size());
    stamp.previous_chain = chain;
    stamp.first_record_sequence += stamp.type == BatchType::data ? builder.index_count() : 0;
    ++stamp.batch_sequence;
    stamp.engine_time += 1'000;
    EXPECT_EQ(size % kBlock, 0u);
}

std::string golden_segment() {
    SegmentHeader header;
    for (std::uint8_t i = 0; i < 16; ++i) header.uuid.bytes[i] = i;
    header.segment_number = 1;
    header.epoch = 0x0123'4567'89ab'cdef;
    header.capacity = 6 * kBlock;
    header.block_size = kBlock;
    header.incarnation = 1;
    header.state = SegmentState::active;
    header.reason = SegmentReason::create;
    header.first_batch_sequence = 1;
    header.created_wall_time = 1'800'000'000'000'000'000;
    std::string segment(2 * kBlock, '\0');
    encode_header_blocks(header, std::as_writable_bytes(std::span(segment)));

    BatchStamp stamp;
    stamp.epoch = header.epoch;
    stamp.batch_sequence = 1;
    stamp.durable_up_to = Place::make(1, 2 * kBlock);
    stamp.engine_time = 1'800'000'000'000'000'000;
    stamp.boot_time = 12'345;
    stamp.boot_id_hash = 0xfeed'f00d;
    stamp.wall_time = 1'800'000'000'000'000'001;
    stamp.incarnation = 1;
    const BlockBuffer buffer(4 * kBlock);
    BatchBuilder builder(kBlock);
    builder.begin(buffer.bytes());
    EXPECT_TRUE(builder.add(record(RecordKind::define_topic, 1, 0), as_bytes("orders"), {}));
    auto message = record(RecordKind::message, 1, 1);
    message.publisher = 7;
    message.number = 3;
    EXPECT_TRUE(builder.add(message, as_bytes("decisions"), as_bytes(R"({"id":1})")));
    append(segment, builder, stamp);
    builder.begin(buffer.bytes());
    EXPECT_TRUE(builder.add(record(RecordKind::remove, 2, 1), {}, {}));
    auto expired = record(RecordKind::remove, 2, 9);
    expired.number = 1;
    EXPECT_TRUE(builder.add(expired, {}, {}));
    append(segment, builder, stamp);
    builder.begin(buffer.bytes());
    stamp.type = BatchType::mark;
    stamp.flags = kBatchClean;
    append(segment, builder, stamp);
    segment.resize(header.capacity, '\0');
    return segment;
}

TEST(Golden, TheBytesWrittenTodayAreThoseOfVersionOne) {
    if (const char* write = std::getenv("PINNACE_WRITE_GOLDEN"); write != nullptr)
        write_file(kGolden, golden_segment());
    EXPECT_TRUE(read_file(kGolden) == golden_segment())
        << "the format has changed, or " << kGolden << " is not there";
}

TEST(Golden, VersionOneIsRead) {
    const TemporaryDirectory directory;
    write_file(directory.path() + "/" + segment_name(1), read_file(kGolden));
    RememberingSink sink;
    const auto journal = Journal::open(small_options(directory.path()), sink);
    ASSERT_TRUE(journal.has_value()) << journal.error().text;
    ASSERT_EQ(sink.seen.size(), 4u);
    EXPECT_EQ(sink.seen[0].head, "orders");
    EXPECT_EQ(sink.seen[1].head, "decisions");
    EXPECT_EQ(sink.seen[1].body, R"({"id":1})");
    EXPECT_EQ(sink.seen[1].header.publisher, 7u);
    EXPECT_TRUE(is_kind(sink.seen[2].header, RecordKind::remove));
    EXPECT_TRUE(is_kind(sink.seen[3].header, RecordKind::remove_runs));
    const Recovered& recovered = (*journal)->recovered();
    EXPECT_EQ(recovered.incarnation, 2u);
    EXPECT_EQ(recovered.time.engine_time, 1'800'000'000'000'002'000);
    EXPECT_EQ(recovered.time.boot_id_hash, 0xfeed'f00du);
    EXPECT_FALSE(recovered.torn_tail.has_value());
}

}  // namespace
}  // namespace pinnace::journal::test
