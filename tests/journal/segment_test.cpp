// SPDX-License-Identifier: Apache-2.0
#include "journal/segment.h"

#include <sys/resource.h>

#include <csignal>

#include "journal/spares.h"
#include "tests/journal/support.h"

namespace pinnace::journal::test {
namespace {

SegmentPlan plan(std::uint64_t number) {
    return {.uuid = {{1, 2, 3}},
            .segment_number = number,
            .capacity = 64u << 10,
            .block_size = kBlockSizeMin,
            .incarnation = 4,
            .epoch = 77,
            .wall_time = 5,
            .pace = {}};
}

TEST(SegmentName, IsSixteenHexDigitsAndIsParsedBack) {
    EXPECT_EQ(segment_name(0x2a), "j-000000000000002a.seg");
    EXPECT_EQ(parse_segment_name(segment_name(0xdeadbeef)), 0xdeadbeefu);
    for (const char* name : {"j-2a.seg", "j-000000000000002A.seg", "j-000000000000002a.seg~",
                             "k-000000000000002a.seg", "j-000000000000002g.seg", "j-.seg", ""}) {
        EXPECT_FALSE(parse_segment_name(name).has_value()) << name;
    }
    EXPECT_TRUE(is_preparing_name(preparing_name(9)));
    EXPECT_FALSE(is_preparing_name(segment_name(9)));
}

TEST(SegmentHeader, EveryFlippedBitIsFoundOut) {
    SegmentHeader header;
    header.segment_number = 1;
    header.capacity = 64u << 10;
    header.block_size = kBlockSizeMin;
    seal_header(header);
    SegmentHeader found;
    ASSERT_EQ(read_segment_header(std::as_bytes(std::span(&header, 1)), found), CopyVerdict::prepared);
    for (std::size_t bit = 0; bit < sizeof header * 8; ++bit) {
        std::byte bytes[sizeof header];
        std::memcpy(bytes, &header, sizeof header);
        bytes[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
        EXPECT_EQ(read_segment_header(bytes, found), CopyVerdict::bad) << bit;
    }
}

TEST(SegmentHeader, ImpossibleGeometryIsRefusedThoughTheChecksumMatches) {
    const auto with = [](auto change) {
        SegmentHeader header;
        header.segment_number = 1;
        header.capacity = 64u << 10;
        header.block_size = kBlockSizeMin;
        change(header);
        seal_header(header);
        SegmentHeader found;
        return read_segment_header(std::as_bytes(std::span(&header, 1)), found);
    };
    EXPECT_EQ(with([](auto&) {}), CopyVerdict::prepared);
    EXPECT_EQ(with([](auto& h) { h.block_size = 0; }), CopyVerdict::bad);
    EXPECT_EQ(with([](auto& h) { h.block_size = 5000; }), CopyVerdict::bad);
    EXPECT_EQ(with([](auto& h) { h.block_size = 1u << 30; }), CopyVerdict::bad);
    EXPECT_EQ(with([](auto& h) { h.capacity += 1; }), CopyVerdict::bad);
    EXPECT_EQ(with([](auto& h) { h.capacity = 0; }), CopyVerdict::bad);
    EXPECT_EQ(with([](auto& h) { h.capacity = std::uint64_t{1} << 40; }), CopyVerdict::bad);
    EXPECT_EQ(with([](auto& h) { h.segment_number = 0; }), CopyVerdict::bad);
    EXPECT_EQ(with([](auto& h) { h.state = static_cast<SegmentState>(3); }), CopyVerdict::bad);
}

TEST(Segment, IsPreparedWithItsFullSizeOfZerosUnderItsFinalName) {
    const TemporaryDirectory directory;
    const auto files = open_directory(directory.path());
    ASSERT_TRUE(files.has_value());
    const auto header = prepare_segment(**files, plan(3));
    ASSERT_TRUE(header.has_value()) << header.error().text;
    const std::string bytes = read_file(directory.path() + "/" + segment_name(3));
    ASSERT_EQ(bytes.size(), 64u << 10);
    EXPECT_EQ(bytes.substr(2 * kBlockSizeMin), std::string(bytes.size() - 2 * kBlockSizeMin, '\0'));
    const auto file = (*files)->open(segment_name(3), Access::read);
    ASSERT_TRUE(file.has_value());
    const auto found = read_segment(**files, segment_name(3), *file);
    ASSERT_TRUE(found.has_value()) << found.error().text;
    EXPECT_EQ(found->epoch, 77u);
    EXPECT_EQ(found->state, SegmentState::prepared);
    (*files)->close(*file);
    EXPECT_EQ((*files)->list()->size(), 1u);
}

// A limit on the size of files stands for a full disk: it is met where one is met.
class FileSizeLimit {
 public:
    explicit FileSizeLimit(rlim_t size) {
        ::getrlimit(RLIMIT_FSIZE, &before_);
        const rlimit limit{size, before_.rlim_max};
        old_ = std::signal(SIGXFSZ, SIG_IGN);
        ::setrlimit(RLIMIT_FSIZE, &limit);
    }
    ~FileSizeLimit() {
        ::setrlimit(RLIMIT_FSIZE, &before_);
        std::signal(SIGXFSZ, old_);
    }

 private:
    rlimit before_{};
    sighandler_t old_;
};

// 49: a full disk is met when a spare is prepared, leaves nothing behind, and ends when there is space.
TEST(Spares, AFullDiskIsSaidLeavesNothingBehindAndPasses) {
    const TemporaryDirectory directory;
    const auto files = open_directory(directory.path());
    ASSERT_TRUE(files.has_value());
    SparesOptions options;
    options.next_segment_number = 1;
    options.capacity = 64u << 10;
    options.spare_count = 2;
    Spares spares(**files, real_environment(), options, {});
    {
        const FileSizeLimit limit(20'000);
        EXPECT_FALSE(spares.prepare_one());
        EXPECT_TRUE(spares.out_of_space());
        ASSERT_TRUE(spares.error().has_value());
        EXPECT_EQ(spares.error()->kind, ErrorKind::no_space);
        EXPECT_TRUE((*files)->list()->empty());
    }
    EXPECT_TRUE(spares.prepare_one());
    EXPECT_FALSE(spares.out_of_space());
    EXPECT_TRUE(spares.prepare_one());
    EXPECT_FALSE(spares.prepare_one());
    const auto first = spares.take();
    ASSERT_TRUE(first.has_value());
    EXPECT_EQ(first->header.segment_number, 1u);
    (*files)->close(first->file);
    EXPECT_EQ(spares.take()->header.segment_number, 2u);
    EXPECT_FALSE(spares.take().has_value());
}

}  // namespace
}  // namespace pinnace::journal::test
