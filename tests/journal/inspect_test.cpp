// SPDX-License-Identifier: Apache-2.0
#include "journal/inspect.h"

#include <algorithm>

#include "journal/segment.h"
#include "tests/journal/support.h"

namespace pinnace::journal::test {
namespace {

class InspectTest : public ::testing::Test {
 protected:
    void SetUp() override {
        RememberingSink sink;
        auto journal = Journal::open(small_options(directory.path()), sink);
        ASSERT_TRUE(journal.has_value());
        ASSERT_TRUE((*journal)->start().has_value());
        const std::string body(10'000, 'm');
        for (Position position = 1; position <= 60; ++position) {
            put(**journal, record(RecordKind::message, 1, position), "", body);
            put(**journal, record(RecordKind::remove, 2, position), "", "");
            publish(**journal);
        }
        ASSERT_TRUE((*journal)->close().has_value());
        journal->reset();
        path = directory.path() + "/" + segment_name(1);
        ASSERT_TRUE(std::filesystem::exists(directory.path() + "/" + segment_name(3)));
    }

    VerifyResult verified() {
        lines.clear();
        const auto result =
            verify(directory.path(), [this](std::string_view line) { lines.emplace_back(line); });
        EXPECT_TRUE(result.has_value()) << result.error().text;
        return result.value_or(VerifyResult{});
    }

    void flip(std::size_t offset) {
        std::string bytes = read_file(path);
        bytes[offset] ^= 4;
        write_file(path, bytes);
    }

    TemporaryDirectory directory;
    std::string path;
    std::vector<std::string> lines;
};

TEST_F(InspectTest, AWholeJournalIsSaidToBeWhole) {
    const VerifyResult result = verified();
    EXPECT_TRUE(result.findings.empty());
    EXPECT_GE(result.segment_count, 3u);
    EXPECT_GE(result.record_count, 61u);  // acknowledgments are merged
    ASSERT_EQ(lines.size(), 1u);
    EXPECT_NE(lines[0].find("whole"), std::string::npos);
}

TEST_F(InspectTest, DamageIsNamedWithFileAndOffsetAndTheRestIsStillCounted) {
    const VerifyResult before = verified();
    flip(2 * kBlockSizeMin + 300);
    const VerifyResult result = verified();
    ASSERT_EQ(result.findings.size(), 1u);
    EXPECT_EQ(result.findings[0].kind, FindingKind::damage);
    EXPECT_EQ(result.findings[0].file, path);
    EXPECT_EQ(result.findings[0].offset, 2u * kBlockSizeMin);
    EXPECT_TRUE(result.damaged());
    EXPECT_EQ(result.batch_count, before.batch_count - 1);
    EXPECT_NE(lines[0].find(path), std::string::npos);
}

TEST_F(InspectTest, ADamagedHeaderCopyAndFillingThatIsNotZeroAreRemarks) {
    flip(kBlockSizeMin + 40);
    EXPECT_EQ(verified().findings.size(), 1u);
    flip(kBlockSizeMin + 40);
    flip(3000);  // the rest of the first header block
    EXPECT_EQ(verified().findings.size(), 1u);
    flip(3000);
    BatchHeader header;
    std::memcpy(&header, read_file(path).data() + 2 * kBlockSizeMin, sizeof header);
    flip(2 * kBlockSizeMin + header.total_size - 1);
    const VerifyResult result = verified();
    ASSERT_EQ(result.findings.size(), 1u);
    EXPECT_EQ(result.findings[0].kind, FindingKind::warning);
    EXPECT_FALSE(result.damaged());
}

TEST_F(InspectTest, AMissingSegmentAndAForeignFileAreNamed) {
    std::filesystem::remove(directory.path() + "/" + segment_name(2));
    write_file(directory.path() + "/notes.txt", "hello");
    const VerifyResult result = verified();
    EXPECT_TRUE(result.damaged());
    const auto names = [&](const std::string& name) {
        return std::ranges::any_of(
            lines, [&](const std::string& line) { return line.find(name) != std::string::npos; });
    };
    EXPECT_TRUE(names(segment_name(2)));
    EXPECT_TRUE(names("notes.txt"));
}

TEST_F(InspectTest, ADumpShowsTheRecordsAskedFor) {
    DumpOptions options;
    options.batches = false;
    options.first = options.last = 7;
    options.body_size_max = 5;
    std::vector<std::string> shown;
    ASSERT_TRUE(dump(directory.path(), options, [&](std::string_view line) {
                    shown.emplace_back(line);
                }).has_value());
    ASSERT_GE(shown.size(), 1u);
    EXPECT_NE(shown[0].find("message position 7 "), std::string::npos) << shown[0];
    EXPECT_NE(shown[0].find("body 10000 mmmmm..."), std::string::npos) << shown[0];
}

TEST_F(InspectTest, AJournalInUseIsNotLookedAt) {
    RememberingSink sink;
    const auto journal = Journal::open(small_options(directory.path()), sink);
    ASSERT_TRUE(journal.has_value());
    const auto result = verify(directory.path(), [](std::string_view) {});
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().kind, ErrorKind::in_use);
}

}  // namespace
}  // namespace pinnace::journal::test
