// SPDX-License-Identifier: Apache-2.0
// Checkpoints: what is in one, what a start makes of it, and what it does without.
#include "journal/checkpoint.h"

#include <deque>
#include <set>

#include "core/record_codec.h"
#include "journal/recovery.h"
#include "tests/journal/support.h"

namespace pinnace::journal::test {
namespace {

constexpr std::uint32_t kTopic = 0;
constexpr std::uint32_t kQueue = 0;
const std::string kGolden = std::string(PINNACE_TEST_DATA) + "/golden/checkpoint_v1.bin";

std::string body_of(Position position) {
    return std::string(3000, static_cast<char>('a' + position % 26)) + std::to_string(position);
}

std::string message_head() {
    HeadBytes head;
    put_varint(head, 1);
    QueueEntry entry;
    entry.queue = kQueue;
    put_entry(head, entry);
    return as_text(head);
}

class CheckpointTest : public ::testing::Test {
 protected:
    Options options() const {
        Options options = small_options(directory.path());
        options.checkpoints = true;
        options.retention = retention;
        return options;
    }

    std::unique_ptr<Journal> open() {
        sink = RememberingSink();
        auto journal = Journal::open(options(), sink);
        EXPECT_TRUE(journal.has_value()) << journal.error().text;
        if (!journal) return nullptr;
        EXPECT_TRUE((*journal)->start().has_value());
        return std::move(*journal);
    }

    void define(Journal& journal) {
        HeadBytes head;
        put_topic_definition(head, {.name = "t", .message_type = "json"});
        put(journal, record(RecordKind::define_topic, kTopic, 0), as_text(head), "");
        head.clear();
        put_queue_definition(head, {.name = "q", .recovery_point = "epoch"});
        put(journal, record(RecordKind::define_queue, kQueue, 0), as_text(head), "");
        publish(journal);
    }

    // Messages up to this one; all but some of them are acknowledged.
    void fill(Journal& journal, Position last) {
        RecordIndex index = 0;
        for (; next <= last; ++next) {
            bodies.push_back(body_of(next));  // the journal reads it later
            index = put(journal, record(RecordKind::message, kTopic, next), message_head(), bodies.back());
            if (next % every != 0) index = put(journal, record(RecordKind::remove, kQueue, next), "", "");
            journal.feed().end_step();
            publish(journal);
            if (next % 50 == 0) await([&] { return journal.durable() >= index; });
        }
        await([&] { return journal.durable() >= index; });
    }

    // A journal of several segments and checkpoints, closed.
    void make() {
        const auto journal = open();
        ASSERT_NE(journal, nullptr);
        define(*journal);
        for (std::uint64_t generation = 1; generation <= 3; ++generation) {
            for (int i = 0; i < 50 && journal->status().checkpoint_generation < generation; ++i)
                fill(*journal, next + 20);
            await([&] { return journal->status().checkpoint_generation >= generation; });
        }
        ASSERT_TRUE(journal->close().has_value());
        // Now none is made any more.
        newest = journal->status().checkpoint_generation;
        reached = journal->status().checkpoint_segment;
    }

    std::set<Position> queued() const {
        std::set<Position> positions;
        for (const Seen& seen : sink.seen) {
            if (is_kind(seen.header, RecordKind::message) || is_kind(seen.header, RecordKind::kept))
                positions.insert(seen.header.position);
            if (is_kind(seen.header, RecordKind::remove_runs))
                decode_runs(as_bytes(seen.head), seen.header.position,
                            [&](Position first, std::uint64_t count) {
                                for (Position position = first; position < first + count; ++position)
                                    positions.erase(position);
                            });
        }
        return positions;
    }
    void expect_all_queued() const {
        std::set<Position> expected;
        for (Position position = every; position < next; position += every) expected.insert(position);
        EXPECT_EQ(queued(), expected);
    }

    std::string path(std::string_view name) const { return directory.path() + "/" + std::string(name); }
    void flip(const std::string& name, std::size_t offset) {
        std::string bytes = read_file(path(name));
        bytes.at(offset) ^= 4;
        write_file(path(name), bytes);
    }

    TemporaryDirectory directory;
    RememberingSink sink;
    std::deque<std::string> bodies;
    Position next = 1;
    Position every = 10;  // of them stays queued
    std::uint64_t retention = 1u << 30;
    std::uint64_t newest = 0;
    std::uint64_t reached = 0;
};

TEST_F(CheckpointTest, AStartReadsTheNewestCheckpointAndWhatIsBehindIt) {
    ASSERT_NO_FATAL_FAILURE(make());
    // Nobody looks at what is before it: damage there is not met.
    flip(segment_name(1), 3 * kBlockSizeMin);
    const auto journal = open();
    ASSERT_NE(journal, nullptr);
    EXPECT_EQ(journal->recovered().checkpoint_generation, newest);
    EXPECT_TRUE(journal->recovered().remarks.empty());
    expect_all_queued();
    EXPECT_TRUE(std::ranges::any_of(sink.seen,
                                    [](const Seen& seen) { return is_kind(seen.header, RecordKind::kept); }));
    EXPECT_EQ(journal->recovered().last_position, next - 1);
}

TEST_F(CheckpointTest, BodiesOfMessagesOutOfACheckpointAreRead) {
    ASSERT_NO_FATAL_FAILURE(make());
    const auto journal = open();
    ASSERT_NE(journal, nullptr);
    for (const Position position : queued()) {
        std::string bytes(body_of(position).size(), '\0');
        BodyRequest request;
        request.position = position;
        request.size = static_cast<std::uint32_t>(bytes.size());
        request.destination = reinterpret_cast<std::byte*>(bytes.data());
        ASSERT_TRUE(journal->request_body(request));
        journal->wake();
        BodyReply reply;
        await([&] { return journal->next_body(reply); });
        EXPECT_TRUE(reply.readable) << position;
        EXPECT_EQ(bytes, body_of(position));
    }
}

TEST_F(CheckpointTest, ASegmentGoesWhenTheRetentionIsOverAndNothingInItIsNeeded) {
    retention = 0;
    every = 1'000'000;  // all are acknowledged
    ASSERT_NO_FATAL_FAILURE(make());
    EXPECT_FALSE(std::filesystem::exists(path(segment_name(1))));
    EXPECT_TRUE(std::filesystem::exists(path(segment_name(reached))));
    const auto journal = open();
    ASSERT_NE(journal, nullptr);
    EXPECT_TRUE(queued().empty());
    EXPECT_EQ(journal->recovered().last_position, next - 1);
}

TEST_F(CheckpointTest, ASegmentWithAMessageThatIsQueuedStays) {
    retention = 0;
    ASSERT_NO_FATAL_FAILURE(make());
    EXPECT_TRUE(std::filesystem::exists(path(segment_name(1))));
}

TEST_F(CheckpointTest, TwoAreKeptAndRoomForTheNextOne) {
    ASSERT_NO_FATAL_FAILURE(make());
    EXPECT_TRUE(std::filesystem::exists(path(checkpoint_name(newest))));
    EXPECT_TRUE(std::filesystem::exists(path(checkpoint_name(newest - 1))));
    EXPECT_FALSE(std::filesystem::exists(path(checkpoint_name(newest - 2))));
    EXPECT_GE(std::filesystem::file_size(path(kCheckpointReserveName)),
              std::filesystem::file_size(path(checkpoint_name(newest))));
}

TEST_F(CheckpointTest, WithoutTheNewestOneTheOneBeforeItIsUsed) {
    ASSERT_NO_FATAL_FAILURE(make());
    flip(checkpoint_name(newest), kBlockSizeMin + 200);
    const auto journal = open();
    ASSERT_NE(journal, nullptr);
    EXPECT_EQ(journal->recovered().checkpoint_generation, newest - 1);
    ASSERT_EQ(journal->recovered().remarks.size(), 1u);
    EXPECT_NE(journal->recovered().remarks[0].find(checkpoint_name(newest)), std::string::npos);
    expect_all_queued();
}

TEST_F(CheckpointTest, WithoutAnyTheWholeJournalIsRead) {
    ASSERT_NO_FATAL_FAILURE(make());
    flip(checkpoint_name(newest), 100);
    write_file(path(checkpoint_name(newest - 1)), "");
    const auto journal = open();
    ASSERT_NE(journal, nullptr);
    EXPECT_EQ(journal->recovered().checkpoint_generation, 0u);
    EXPECT_EQ(journal->recovered().remarks.size(), 2u);
    expect_all_queued();
    // One that is made anew does not take the name of one that was there.
    fill(*journal, next + 400);
    await([&] { return journal->status().checkpoint_generation > newest; });
}

TEST_F(CheckpointTest, WithoutAnyAndWithoutTheFirstSegmentsAStartIsRefused) {
    ASSERT_NO_FATAL_FAILURE(make());
    std::filesystem::remove(path(segment_name(1)));
    {
        const auto journal = open();
        ASSERT_NE(journal, nullptr);
        expect_all_queued();
    }
    for (const auto& entry : std::filesystem::directory_iterator(directory.path()))
        if (parse_checkpoint_name(entry.path().filename().string())) write_file(entry.path(), "");
    RememberingSink nothing;
    const auto refused = Journal::open(options(), nothing);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().kind, ErrorKind::damaged);
    EXPECT_NE(refused.error().text.find(segment_name(1)), std::string::npos);
    EXPECT_TRUE(nothing.seen.empty());
}

TEST_F(CheckpointTest, ASegmentThatIsMissingBehindItRefusesTheStart) {
    ASSERT_NO_FATAL_FAILURE(make());
    std::filesystem::remove(path(segment_name(reached + 1)));
    RememberingSink nothing;
    const auto refused = Journal::open(options(), nothing);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().kind, ErrorKind::damaged);
    EXPECT_NE(refused.error().text.find(segment_name(reached + 1)), std::string::npos);
}

TEST_F(CheckpointTest, EveryByteOfItIsChecked) {
    ASSERT_NO_FATAL_FAILURE(make());
    const std::string name = checkpoint_name(newest);
    const std::string whole = read_file(path(name));
    CheckpointHeader header;
    std::memcpy(&header, whole.data(), sizeof header);
    auto files = open_existing_directory(directory.path());
    ASSERT_TRUE(files.has_value());
    ASSERT_TRUE(read_checkpoint(**files, newest, nullptr).has_value());
    std::string bytes = whole.substr(0, header.size);
    std::uint64_t padding = 0;
    for (std::size_t at = 0; at < bytes.size(); at += at < 1024 ? 1 : 7) {
        bytes[at] ^= 0x20;
        write_file(path(name), bytes);
        const auto read = read_checkpoint(**files, newest, nullptr);
        bytes[at] ^= 0x20;
        // Only zeros that fill a block up say nothing.
        if (read) ++padding;
        ASSERT_TRUE(!read || bytes[at] == '\0') << at;
    }
    EXPECT_LT(padding, bytes.size() / 2);
    for (std::size_t size = 0; size < bytes.size(); size += 512) {
        write_file(path(name), bytes.substr(0, size));
        ASSERT_FALSE(read_checkpoint(**files, newest, nullptr).has_value()) << size;
    }
}

// The bytes of version 1, kept for ever.
TEST(CheckpointGolden, TheBytesWrittenTodayAreThoseOfVersionOne) {
    const TemporaryDirectory directory;
    auto files = open_existing_directory(directory.path());
    ASSERT_TRUE(files.has_value());
    {
        CheckpointWriter writer(**files, 0x0123'4567'89ab'cdef);
        writer.record(record(RecordKind::define_queue, kQueue, 0), as_bytes("queue"));
        auto kept = record(RecordKind::kept, kTopic, 7);
        kept.number = 64;
        writer.next_place(Place::make(1, 2 * kBlockSizeMin));
        writer.record(kept, as_bytes("head"));
        writer.record(record(RecordKind::resume, kNone, 9), {});
        CheckpointHeader header;
        for (std::uint8_t i = 0; i < 16; ++i) header.uuid.bytes[i] = i;
        header.generation = 1;
        header.segment_number = 1;
        header.segment_epoch = 0xfeed'f00d;
        header.end = Place::make(1, 5 * kBlockSizeMin);
        header.batch_sequence = 4;
        header.record_sequence = 8;
        header.chain = 0x1234'5678;
        header.incarnation = 1;
        header.engine_time = 1'800'000'000'000'000'000;
        header.last_position = 8;
        ASSERT_TRUE(writer.finish(header).has_value());
    }
    const std::string written = read_file(directory.path() + "/" + checkpoint_name(1));
    if (const char* write = std::getenv("PINNACE_WRITE_GOLDEN"); write != nullptr)
        write_file(kGolden, written);
    EXPECT_TRUE(read_file(kGolden) == written) << "the format has changed, or " << kGolden << " is not there";
    EXPECT_TRUE(read_checkpoint(**files, 1, nullptr).has_value());
}

}  // namespace
}  // namespace pinnace::journal::test
