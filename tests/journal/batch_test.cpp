// SPDX-License-Identifier: Apache-2.0
#include "journal/batch.h"

#include "core/record_codec.h"
#include "journal/files.h"
#include "tests/journal/support.h"

namespace pinnace::journal::test {
namespace {

constexpr std::uint32_t kBlock = kBlockSizeMin;

BatchStamp example_stamp() {
    BatchStamp stamp;
    stamp.epoch = 0x1122'3344'5566'7788;
    stamp.place = Place::make(3, 40'960);
    stamp.batch_sequence = 17;
    stamp.first_record_sequence = 170;
    stamp.durable_up_to = Place::make(3, 36'864);
    stamp.engine_time = 5;
    stamp.incarnation = 2;
    stamp.previous_chain = 99;
    return stamp;
}

BatchExpected expected_of(const BatchStamp& stamp) {
    return {kBlock, stamp.epoch, stamp.place, stamp.batch_sequence, stamp.previous_chain, 1u << 20};
}

struct Built {
    std::vector<std::byte> bytes;
    std::uint32_t chain = 0;
};

// A message with a head, one with a body that fills no block, an empty one.
Built example_batch() {
    BlockBuffer buffer(64u << 10);
    BatchBuilder builder(kBlock);
    builder.begin(buffer.bytes());
    const std::string body(5000, 'b');
    EXPECT_TRUE(builder.add(record(RecordKind::message, 1, 7), as_bytes("head"), as_bytes("first body")));
    EXPECT_TRUE(builder.add(record(RecordKind::message, 1, 8), {}, as_bytes(body)));
    EXPECT_TRUE(builder.add(record(RecordKind::reserve, 0, 100), {}, {}));
    builder.close();
    Built built;
    const auto bytes = builder.stamp(example_stamp(), built.chain);
    built.bytes.assign(bytes.begin(), bytes.end());
    return built;
}

BatchVerdict judge(std::span<const std::byte> bytes, const BatchExpected& expected) {
    BatchHeader header;
    const BatchVerdict verdict = read_batch_header(bytes, expected, header);
    if (verdict != BatchVerdict::good) return verdict;
    const auto view = BatchView::parse(bytes, header);
    if (!view) return view.error();
    return view->payloads_match() ? BatchVerdict::good : BatchVerdict::bad_payload;
}

BatchVerdict judge(std::span<const std::byte> bytes) { return judge(bytes, expected_of(example_stamp())); }

TEST(Batch, IsReadBackAsItWasBuilt) {
    const Built built = example_batch();
    EXPECT_EQ(built.bytes.size(), 8192u);
    BatchHeader header;
    ASSERT_EQ(read_batch_header(built.bytes, expected_of(example_stamp()), header), BatchVerdict::good);
    const auto view = BatchView::parse(built.bytes, header);
    ASSERT_TRUE(view.has_value());
    std::vector<Seen> seen;
    view->each([&](const BatchRecord& one) {
        EXPECT_TRUE(payload_matches(one));
        seen.push_back({one.header, as_text(one.head()), as_text(one.body()), {}});
        return true;
    });
    ASSERT_EQ(seen.size(), 3u);
    EXPECT_EQ(seen[0].head, "head");
    EXPECT_EQ(seen[0].body, "first body");
    EXPECT_EQ(seen[1].body, std::string(5000, 'b'));
    EXPECT_EQ(seen[2].header.position, 100u);
    EXPECT_TRUE(view->padding_is_zero());
    EXPECT_EQ(view->next_chain(), built.chain);
    EXPECT_EQ(header.durable_up_to, Place::make(3, 36'864));
}

TEST(Batch, NoTruncationIsAccepted) {
    const Built built = example_batch();
    for (std::size_t size = 0; size < built.bytes.size(); ++size) {
        ASSERT_NE(judge(std::span(built.bytes).first(size)), BatchVerdict::good) << size;
    }
}

// Every bit of header, payloads and index is covered by a checksum; the rest is looked at by padding_is_zero.
TEST(Batch, EveryFlippedBitIsFoundOut) {
    const Built built = example_batch();
    BatchHeader header;
    ASSERT_EQ(read_batch_header(built.bytes, expected_of(example_stamp()), header), BatchVerdict::good);
    for (std::size_t bit = 0; bit < built.bytes.size() * 8; ++bit) {
        auto bytes = built.bytes;
        bytes[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
        const BatchVerdict verdict = judge(bytes);
        if (verdict == BatchVerdict::good) {
            ASSERT_FALSE(BatchView::parse(bytes, header)->padding_is_zero()) << bit;
        }
        if (bit < sizeof(BatchHeader) * 8) {
            ASSERT_NE(verdict, BatchVerdict::good) << bit;
        }
    }
}

TEST(Batch, AZeroedSectorIsNeverAPartOfAGoodBatch) {
    const Built built = example_batch();
    for (std::size_t sector = 0; sector < built.bytes.size(); sector += 512) {
        auto bytes = built.bytes;
        std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(sector), 512, std::byte{0});
        if (bytes == built.bytes) continue;
        EXPECT_NE(judge(bytes), BatchVerdict::good) << sector;
    }
}

TEST(Batch, AWholeBatchOfAnotherPlaceLifeOrOrderIsNamedSo) {
    const Built built = example_batch();
    const auto with = [&](auto change) {
        BatchExpected expected = expected_of(example_stamp());
        change(expected);
        return judge(built.bytes, expected);
    };
    EXPECT_EQ(with([](auto& e) { e.epoch += 1; }), BatchVerdict::other_epoch);
    EXPECT_EQ(with([](auto& e) { e.place = Place::make(3, 0); }), BatchVerdict::wrong_place);
    EXPECT_EQ(with([](auto& e) { e.batch_sequence += 1; }), BatchVerdict::wrong_sequence);
    EXPECT_EQ(with([](auto& e) { e.previous_chain += 1; }), BatchVerdict::wrong_chain);
    EXPECT_EQ(with([](auto& e) { e.size_max = 4096; }), BatchVerdict::bad_size);
    EXPECT_EQ(judge(std::vector<std::byte>(4096)), BatchVerdict::zero);
    EXPECT_EQ(judge(std::vector<std::byte>(4096, std::byte{1})), BatchVerdict::no_magic);
}

// A checksum that happens to be zero is a checksum like others: what is there is decided by the magic alone.
TEST(Batch, AHeaderWhoseChecksumIsZeroIsAccepted) {
    BatchHeader header;
    header.total_size = kBlock;
    header.index_offset = sizeof header;
    for (header.engine_time = 1;; ++header.engine_time) {
        seal_header(header);
        if ((header.header_crc & 0xffff) == 0)
            break;  // the lower half stands for all of it, to be found in time
    }
    std::vector<std::byte> bytes(kBlock);
    std::memcpy(bytes.data(), &header, sizeof header);
    BatchHeader found;
    EXPECT_EQ(read_batch_header(bytes, {kBlock, 0, {}, 0, 0, kBlock}, found), BatchVerdict::good);
}

TEST(Batch, LengthsThatContradictEachOtherAreRefusedThoughTheChecksumsMatch) {
    const Built built = example_batch();
    BatchHeader good;
    std::memcpy(&good, built.bytes.data(), sizeof good);
    const auto with = [&](auto change) {
        auto bytes = built.bytes;
        BatchHeader header = good;
        change(header);
        seal_header(header);
        std::memcpy(bytes.data(), &header, sizeof header);
        return judge(bytes);
    };
    EXPECT_EQ(with([](BatchHeader& h) { h.total_size += kBlock; }), BatchVerdict::bad_size);
    EXPECT_EQ(with([](BatchHeader& h) { h.total_size = 0; }), BatchVerdict::bad_size);
    EXPECT_EQ(with([](BatchHeader& h) { h.body_size += 8; }), BatchVerdict::bad_size);
    EXPECT_EQ(with([](BatchHeader& h) { h.index_offset -= 8; }), BatchVerdict::bad_size);
    EXPECT_EQ(with([](BatchHeader& h) { h.index_count = 0xffff'ffff; }), BatchVerdict::bad_size);
    EXPECT_EQ(with([](BatchHeader& h) { h.header_size = 64; }), BatchVerdict::bad_size);
    EXPECT_EQ(with([](BatchHeader& h) { h.version = 2; }), BatchVerdict::newer);
    EXPECT_EQ(with([](BatchHeader& h) { h.type = static_cast<BatchType>(9); }), BatchVerdict::newer);
    EXPECT_EQ(with([](BatchHeader& h) { h.index_count -= 1; }), BatchVerdict::bad_index);
}

TEST(BatchBuilder, AStepThatDoesNotFitIsTakenBackWhole) {
    BlockBuffer buffer(2 * kBlock);
    BatchBuilder builder(kBlock);
    builder.begin(buffer.bytes());
    const std::string body(3000, 'x');
    ASSERT_TRUE(builder.add(record(RecordKind::message, 1, 1), {}, as_bytes(body)));
    const auto mark = builder.mark();
    ASSERT_TRUE(builder.add(record(RecordKind::message, 1, 2), {}, as_bytes(body)));
    ASSERT_TRUE(builder.add(record(RecordKind::remove, 5, 1), {}, {}));
    ASSERT_FALSE(builder.add(record(RecordKind::message, 1, 3), {}, as_bytes(body)));
    builder.rollback(mark);
    EXPECT_EQ(builder.record_count(), 1u);
    EXPECT_EQ(builder.last_position(), 1u);
    EXPECT_EQ(builder.close(), kBlock);
    EXPECT_EQ(builder.index_count(), 1u);
}

// Whatever is added up to the brim, closing finds room for what was promised.
TEST(BatchBuilder, SizeMaxIsNeverTooSmall) {
    BlockBuffer buffer(2 * kBlock);
    for (std::size_t seed = 0; seed < 300; ++seed) {
        BatchBuilder builder(kBlock);
        builder.begin(buffer.bytes());
        std::uint64_t state = seed;
        for (Position position = 1;; ++position) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            const std::string body(static_cast<std::size_t>(state >> 33) % (seed % 150 + 1), 'y');
            const bool removes = (state >> 20 & 3) < seed % 4;
            const auto header = removes
                                    ? record(RecordKind::remove, static_cast<std::uint32_t>(state >> 40 & 7),
                                             position * (state >> 50))
                                    : record(RecordKind::message, 1, position);
            if (!builder.add(header, {}, removes ? std::span<const std::byte>{} : as_bytes(body))) break;
        }
        const std::size_t promised = builder.size_max();
        ASSERT_LE(promised, buffer.bytes().size());
        ASSERT_LE(builder.close(), promised);
    }
}

std::vector<Seen> records_of(BatchBuilder& builder) {
    builder.close();
    std::uint32_t chain = 0;
    const auto bytes = builder.stamp(example_stamp(), chain);
    BatchHeader header;
    EXPECT_EQ(read_batch_header(bytes, expected_of(example_stamp()), header), BatchVerdict::good);
    std::vector<Seen> seen;
    BatchView::parse(bytes, header)->each([&](const BatchRecord& one) {
        seen.push_back({one.header, as_text(one.head()), as_text(one.body()), {}});
        return true;
    });
    return seen;
}

TEST(BatchBuilder, AcknowledgmentsOfAQueueBecomeOneRecordOfRunsAtTheEnd) {
    BlockBuffer buffer(64u << 10);
    BatchBuilder builder(kBlock);
    builder.begin(buffer.bytes());
    for (const Position position : {Position{12}, Position{10}, Position{11}, Position{30}}) {
        ASSERT_TRUE(
            builder.add(record(RecordKind::remove, 2, position, static_cast<Time>(position)), {}, {}));
    }
    ASSERT_TRUE(builder.add(record(RecordKind::remove, 1, 5), {}, {}));
    auto expired = record(RecordKind::remove, 2, 13);
    expired.number = 1;  // left for a reason: stays as it is
    ASSERT_TRUE(builder.add(expired, {}, {}));
    ASSERT_TRUE(builder.add(record(RecordKind::message, 1, 40), {}, as_bytes("m")));
    const std::vector<Seen> seen = records_of(builder);
    ASSERT_EQ(seen.size(), 4u);
    EXPECT_TRUE(is_kind(seen[0].header, RecordKind::remove));
    EXPECT_TRUE(is_kind(seen[1].header, RecordKind::message));
    ASSERT_TRUE(is_kind(seen[2].header, RecordKind::remove_runs));
    EXPECT_EQ(seen[2].header.subject, 1u);
    ASSERT_TRUE(is_kind(seen[3].header, RecordKind::remove_runs));
    EXPECT_EQ(seen[3].header.subject, 2u);
    EXPECT_EQ(seen[3].header.position, 10u);
    std::vector<std::pair<Position, std::uint64_t>> runs;
    ASSERT_TRUE(decode_runs(as_bytes(seen[3].head), seen[3].header.position,
                            [&](Position first, std::uint64_t count) { runs.emplace_back(first, count); }));
    EXPECT_EQ(runs, (std::vector<std::pair<Position, std::uint64_t>>{{10, 3}, {30, 1}}));
}

TEST(BatchBuilder, NothingFollowsAStopRecordInItsBatch) {
    BlockBuffer buffer(64u << 10);
    BatchBuilder builder(kBlock);
    builder.begin(buffer.bytes());
    ASSERT_TRUE(builder.add(record(RecordKind::remove, 2, 9), {}, {}));
    ASSERT_TRUE(builder.add(record(RecordKind::stop, 0, 0), {}, {}));
    const std::vector<Seen> seen = records_of(builder);
    ASSERT_EQ(seen.size(), 2u);
    EXPECT_TRUE(is_kind(seen[0].header, RecordKind::remove_runs));
    EXPECT_TRUE(is_kind(seen[1].header, RecordKind::stop));
}

TEST(BatchBuilder, RunsTooManyForOneHeadAreSeveralRecords) {
    BlockBuffer buffer(4u << 20);
    BatchBuilder builder(kBlock);
    builder.begin(buffer.bytes());
    constexpr Position kStep = Position{1} << 45;  // the longest numbers
    for (Position i = 0; i < 12'000; ++i) {
        ASSERT_TRUE(builder.add(record(RecordKind::remove, 3, 1 + i * kStep), {}, {}));
    }
    std::uint64_t count = 0;
    for (const Seen& one : records_of(builder)) {
        ASSERT_TRUE(decode_runs(as_bytes(one.head), one.header.position,
                                [&](Position, std::uint64_t run) { count += run; }));
    }
    EXPECT_EQ(count, 12'000u);
}

}  // namespace
}  // namespace pinnace::journal::test
