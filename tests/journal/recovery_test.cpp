// SPDX-License-Identifier: Apache-2.0
// What a start makes of what is on the disk (S4), on real files that were changed by hand.
#include "journal/recovery.h"

#include "tests/journal/support.h"

namespace pinnace::journal::test {
namespace {

constexpr std::size_t kFirstBatch = 2 * kBlockSizeMin;

struct BatchAt {
    std::size_t offset;
    BatchHeader header;
};

// The batches of a segment's bytes, found without the code under test.
std::vector<BatchAt> batches_of(const std::string& bytes) {
    std::vector<BatchAt> batches;
    for (std::size_t offset = kFirstBatch; offset + sizeof(BatchHeader) <= bytes.size();) {
        BatchHeader header;
        std::memcpy(&header, bytes.data() + offset, sizeof header);
        if (header.magic != kBatchMagic || header.total_size == 0) break;
        batches.push_back({offset, header});
        offset += header.total_size;
    }
    return batches;
}

// A journal of five durable batches, the last of three blocks, without a mark, as a killed engine leaves it.
class RecoveryTest : public ::testing::Test {
 protected:
    void SetUp() override {
        RememberingSink sink;
        auto journal = Journal::open(options(), sink);
        ASSERT_TRUE(journal.has_value()) << journal.error().text;
        ASSERT_TRUE((*journal)->start().has_value());
        for (Position position = 1; position <= 5; ++position) {
            const std::string body(position == 5 ? 9000 : 100, static_cast<char>('a' + position));
            const RecordIndex last = put(**journal, record(RecordKind::message, 1, position), "head", body);
            publish(**journal, static_cast<Time>(position * 100));
            await([&] { return (*journal)->durable() >= last; });
        }
        journal->reset();
        path = directory.path() + "/" + segment_name(1);
        original = read_file(path);
        batches = batches_of(original);
        ASSERT_EQ(batches.size(), 5u);
        // The spare is not of interest here and would only have to be copied.
        std::filesystem::remove(directory.path() + "/" + segment_name(2));
    }

    Options options() const { return small_options(directory.path()); }

    // Puts the directory back to what the killed engine left, with these bytes in its segment.
    void write(const std::string& bytes) {
        for (const auto& entry : std::filesystem::directory_iterator(directory.path())) {
            std::filesystem::remove(entry.path());
        }
        write_file(path, bytes);
    }

    struct Outcome {
        std::vector<Seen> seen;
        std::optional<Recovered> recovered;
        Error error;
    };
    Outcome recover() const {
        RememberingSink sink;
        auto journal = Journal::open(options(), sink);
        Outcome outcome{std::move(sink.seen), {}, {}};
        if (journal) {
            outcome.recovered = (*journal)->recovered();
        } else {
            outcome.error = journal.error();
        }
        return outcome;
    }

    TemporaryDirectory directory;
    std::string path;
    std::string original;
    std::vector<BatchAt> batches;
};

TEST_F(RecoveryTest, ATailCutAtAnySectorIsDroppedAndSaid) {
    const BatchAt& last = batches.back();
    ASSERT_EQ(last.header.total_size, 3 * kBlockSizeMin);
    const std::size_t used = last.header.index_offset + last.header.index_count * sizeof(RecordHeader);
    for (std::size_t cut = 0; cut < used; cut += 512) {
        std::string bytes = original;
        std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(last.offset + cut), bytes.end(), '\0');
        write(bytes);
        const Outcome outcome = recover();
        ASSERT_TRUE(outcome.recovered.has_value()) << outcome.error.text;
        EXPECT_EQ(outcome.seen.size(), 4u);
        EXPECT_EQ(outcome.recovered->time.engine_time, 400);
        // Nothing at all of the last batch: the same as if it had never been written.
        ASSERT_EQ(outcome.recovered->torn_tail.has_value(), cut > 0) << cut;
        if (cut == 0) continue;
        EXPECT_EQ(outcome.recovered->torn_tail->file, path);
        EXPECT_EQ(outcome.recovered->torn_tail->offset, last.offset);
        EXPECT_EQ(read_file(path), bytes) << "an old byte was changed";
    }
}

TEST_F(RecoveryTest, AnySectorMissingFromTheTailIsATornTail) {
    const BatchAt& last = batches.back();
    for (std::size_t sector = 0; sector < last.header.total_size; sector += 512) {
        std::string bytes = original;
        bytes.replace(last.offset + sector, 512, std::string(512, '\0'));
        if (bytes == original) continue;
        write(bytes);
        const Outcome outcome = recover();
        ASSERT_TRUE(outcome.recovered.has_value()) << outcome.error.text;
        EXPECT_EQ(outcome.seen.size(), 4u);
        EXPECT_TRUE(outcome.recovered->torn_tail.has_value()) << sector;
    }
}

// 23: what is written after a torn tail was cut is there at the start after that.
TEST_F(RecoveryTest, WhatIsWrittenAfterATornTailSurvivesTheNextStart) {
    std::string bytes = original;
    bytes[batches.back().offset + 5000] ^= 1;
    write(bytes);
    {
        RememberingSink sink;
        auto journal = Journal::open(options(), sink);
        ASSERT_TRUE(journal.has_value());
        EXPECT_EQ((*journal)->recovered().torn_tail->batch_count, 1u);
        ASSERT_TRUE((*journal)->start().has_value());
        put(**journal, record(RecordKind::message, 1, 50), "", "later");
        publish(**journal, 900);
        ASSERT_TRUE((*journal)->close().has_value());
    }
    const Outcome outcome = recover();
    ASSERT_TRUE(outcome.recovered.has_value()) << outcome.error.text;
    ASSERT_EQ(outcome.seen.size(), 5u);
    EXPECT_EQ(outcome.seen.back().body, "later");
    EXPECT_FALSE(outcome.recovered->torn_tail.has_value());
}

// 19, 21, 35, 37: damage before the durable mark stops the start, with file and offset; nothing changes.
TEST_F(RecoveryTest, DamageInTheMiddleIsRefusedWithFileAndOffset) {
    const BatchAt& damaged = batches[2];
    const std::size_t places[] = {0,                                   // magic
                                  9,                                   // epoch
                                  18,                                  // place
                                  25,                                  // sequence
                                  76,                                  // size
                                  96,                                  // index checksum
                                  124,                                 // header checksum
                                  128,                                 // head
                                  140,                                 // body
                                  damaged.header.index_offset + 4u,    // head size
                                  damaged.header.index_offset + 12u,   // payload checksum
                                  damaged.header.index_offset + 24u};  // position
    for (const std::size_t place : places) {
        std::string bytes = original;
        bytes[damaged.offset + place] ^= 0x10;
        write(bytes);
        const Outcome outcome = recover();
        ASSERT_FALSE(outcome.recovered.has_value()) << place;
        EXPECT_EQ(outcome.error.kind, ErrorKind::damaged);
        EXPECT_EQ(outcome.error.file, path);
        EXPECT_EQ(outcome.error.offset, damaged.offset);
        EXPECT_NE(outcome.error.text.find(path), std::string::npos);
        EXPECT_NE(outcome.error.text.find(std::to_string(damaged.offset)), std::string::npos);
        EXPECT_EQ(read_file(path), bytes);
        EXPECT_FALSE(std::filesystem::exists(directory.path() + "/" + segment_name(2)));
    }
}

// 21, 31: zeros, an older batch, or the next one in place of a durable one.
TEST_F(RecoveryTest, ADurableBatchThatIsZeroOrAnotherOneIsRefused) {
    const auto replaced = [&](const std::string& block) {
        std::string bytes = original;
        bytes.replace(batches[2].offset, kBlockSizeMin, block);
        write(bytes);
        const Outcome outcome = recover();
        EXPECT_FALSE(outcome.recovered.has_value());
        EXPECT_EQ(outcome.error.kind, ErrorKind::damaged);
        EXPECT_EQ(outcome.error.offset, batches[2].offset);
    };
    replaced(std::string(kBlockSizeMin, '\0'));
    replaced(original.substr(batches[1].offset, kBlockSizeMin));
    replaced(original.substr(batches[3].offset, kBlockSizeMin));
    replaced(original.substr(0, kBlockSizeMin));
}

TEST_F(RecoveryTest, ZeroedBlockInsideOfADurableBatchIsRefused) {
    // The last batch becomes a durable one when the next life names its end.
    write(original);
    ASSERT_TRUE(recover().recovered.has_value());
    std::string bytes = original;
    bytes.replace(batches[4].offset + kBlockSizeMin, kBlockSizeMin, std::string(kBlockSizeMin, '\0'));
    write_file(path, bytes);
    const Outcome outcome = recover();
    ASSERT_FALSE(outcome.recovered.has_value());
    EXPECT_EQ(outcome.error.kind, ErrorKind::damaged);
    EXPECT_EQ(outcome.error.offset, batches[4].offset);
}

TEST_F(RecoveryTest, OneDamagedHeaderCopyIsEnoughToGoOnAndTwoAreNot) {
    for (const std::size_t damaged : {0u, kBlockSizeMin}) {
        std::string bytes = original;
        bytes[damaged + 50] ^= 1;
        write(bytes);
        const Outcome outcome = recover();
        EXPECT_TRUE(outcome.recovered.has_value()) << outcome.error.text;
        EXPECT_EQ(outcome.seen.size(), 5u);
    }
    std::string bytes = original;
    bytes[50] ^= 1;
    bytes[kBlockSizeMin + 60] ^= 1;
    write(bytes);
    const Outcome outcome = recover();
    ASSERT_FALSE(outcome.recovered.has_value());
    EXPECT_EQ(outcome.error.kind, ErrorKind::damaged);
    EXPECT_EQ(outcome.error.file, path);
}

// 17: a segment's name is only given to a file with a whole header.
TEST_F(RecoveryTest, ASegmentOfZerosOrOfNoSizeIsRefused) {
    for (const std::string& bytes : {std::string(original.size(), '\0'), std::string()}) {
        write(bytes);
        const Outcome outcome = recover();
        ASSERT_FALSE(outcome.recovered.has_value());
        EXPECT_EQ(outcome.error.kind, ErrorKind::damaged);
        EXPECT_EQ(outcome.error.file, path);
    }
}

TEST_F(RecoveryTest, AFileThatIsTooShortOrTooLongIsRefused) {
    for (const std::string& bytes :
         {original.substr(0, original.size() - kBlockSizeMin), original + std::string(512, '\0')}) {
        write(bytes);
        const Outcome outcome = recover();
        ASSERT_FALSE(outcome.recovered.has_value());
        EXPECT_EQ(outcome.error.kind, ErrorKind::damaged);
    }
}

TEST_F(RecoveryTest, AMissingSegmentIsRefusedByName) {
    write(original);
    ASSERT_TRUE(recover().recovered.has_value());
    ASSERT_TRUE(recover().recovered.has_value());
    std::filesystem::remove(directory.path() + "/" + segment_name(2));
    const Outcome outcome = recover();
    ASSERT_FALSE(outcome.recovered.has_value());
    EXPECT_NE(outcome.error.text.find(segment_name(2)), std::string::npos);
    write(original);
    ASSERT_TRUE(recover().recovered.has_value());
    std::filesystem::remove(path);
    EXPECT_FALSE(recover().recovered.has_value());
}

TEST_F(RecoveryTest, ASegmentOfAnotherJournalIsRefusedByName) {
    const TemporaryDirectory other;
    RememberingSink sink;
    ASSERT_TRUE(Journal::open(small_options(other.path()), sink).has_value());
    ASSERT_TRUE(Journal::open(small_options(other.path()), sink).has_value());
    write(original);
    std::filesystem::copy_file(other.path() + "/" + segment_name(2),
                               directory.path() + "/" + segment_name(2));
    const Outcome outcome = recover();
    ASSERT_FALSE(outcome.recovered.has_value());
    EXPECT_EQ(outcome.error.kind, ErrorKind::foreign);
    EXPECT_NE(outcome.error.text.find(segment_name(2)), std::string::npos);
}

TEST_F(RecoveryTest, ASegmentUnderAnotherNumbersNameIsRefused) {
    write(original);
    std::filesystem::rename(path, directory.path() + "/" + segment_name(7));
    const Outcome outcome = recover();
    ASSERT_FALSE(outcome.recovered.has_value());
    EXPECT_EQ(outcome.error.kind, ErrorKind::damaged);
    EXPECT_NE(outcome.error.text.find(segment_name(7)), std::string::npos);
}

TEST_F(RecoveryTest, ANewerFormatIsRefusedAsSuch) {
    std::string bytes = original;
    SegmentHeader header;
    std::memcpy(&header, bytes.data(), sizeof header);
    header.version = header.reader_version_min = kFormatVersion + 1;
    seal_header(header);
    std::memcpy(bytes.data(), &header, sizeof header);
    std::memcpy(bytes.data() + kBlockSizeMin, &header, sizeof header);
    write(bytes);
    EXPECT_EQ(recover().error.kind, ErrorKind::newer);
}

// 25: a crash in the recovery repeats it with the same result.
TEST_F(RecoveryTest, RecoveringAgainAndAgainGivesTheSame) {
    write(original);
    for (std::uint32_t life = 2; life < 6; ++life) {
        const Outcome outcome = recover();
        ASSERT_TRUE(outcome.recovered.has_value()) << outcome.error.text;
        EXPECT_EQ(outcome.recovered->incarnation, life);
        ASSERT_EQ(outcome.seen.size(), 5u);
        EXPECT_EQ(outcome.recovered->time.engine_time, 500);
        EXPECT_EQ(outcome.seen[4].body, std::string(9000, 'f'));
    }
}

TEST_F(RecoveryTest, WhatAPreparationLeftIsRemoved) {
    write(original);
    const std::string left = directory.path() + "/" + preparing_name(2);
    write_file(left, "half");
    ASSERT_TRUE(recover().recovered.has_value());
    EXPECT_FALSE(std::filesystem::exists(left));
}

// A segment that was put to use and whose header then fell back to prepared (a lost write) holds batches.
TEST_F(RecoveryTest, ASpareThatHoldsBatchesIsDamage) {
    std::string bytes = original;
    SegmentHeader header;
    std::memcpy(&header, bytes.data(), sizeof header);
    header.state = SegmentState::prepared;
    seal_header(header);
    std::memcpy(bytes.data(), &header, sizeof header);
    std::memcpy(bytes.data() + kBlockSizeMin, &header, sizeof header);
    write(bytes);
    const Outcome outcome = recover();
    ASSERT_FALSE(outcome.recovered.has_value());
    EXPECT_EQ(outcome.error.kind, ErrorKind::damaged);
}

}  // namespace
}  // namespace pinnace::journal::test
