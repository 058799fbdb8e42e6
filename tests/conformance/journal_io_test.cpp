// SPDX-License-Identifier: Apache-2.0
// One suite for every backend of JournalIo, on the disk and on tmpfs.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "journal/io_queue.h"
#include "tests/journal/support.h"

namespace pinnace::journal::test {
namespace {

struct Backend {
    const char* name;
    IoChoice choice;
    const char* directory;
};

class JournalIoTest : public ::testing::TestWithParam<Backend> {
 protected:
    static constexpr std::uint32_t kDepth = 4;
    void SetUp() override {
        if (!std::filesystem::is_directory(GetParam().directory))
            GTEST_SKIP() << "no " << GetParam().directory;
        directory.emplace(GetParam().directory);
        auto opened = open_directory(directory->path());
        ASSERT_TRUE(opened.has_value());
        files = std::move(*opened);
        auto made = make_io(GetParam().choice, kDepth, -1);
        if (!made && GetParam().choice == IoChoice::io_uring) GTEST_SKIP() << made.error().text;
        ASSERT_TRUE(made.has_value());
        io = std::move(*made);
        ASSERT_TRUE(io->start().has_value());
        const auto created = files->create("file");
        ASSERT_TRUE(created.has_value());
        file = *created;
        ASSERT_TRUE(files->fill_with_zeros(file, 4u << 20, {}).has_value());
    }
    void TearDown() override {
        io.reset();
        if (file >= 0) files->close(file);
    }

    BlockBuffer filled(std::size_t size, int seed) const {
        BlockBuffer buffer(size);
        for (std::size_t i = 0; i < size; ++i) {
            buffer.bytes()[i] = static_cast<std::byte>(i * 31 + i / 4096 + static_cast<std::size_t>(seed));
        }
        return buffer;
    }
    std::vector<IoResult> wait_for(std::size_t count) {
        std::vector<IoResult> all;
        IoResult results[8];
        while (all.size() < count) {
            const std::size_t found = io->poll(results);
            all.insert(all.end(), results, results + found);
            if (found == 0) io->wait(10'000'000);
        }
        return all;
    }
    bool holds(std::uint64_t offset, const BlockBuffer& buffer) {
        const BlockBuffer found(buffer.bytes().size());
        return files->read(file, offset, found.bytes()) == buffer.bytes().size() &&
               std::equal(found.bytes().begin(), found.bytes().end(), buffer.bytes().begin());
    }

    std::optional<TemporaryDirectory> directory;
    std::unique_ptr<Files> files;
    std::unique_ptr<JournalIo> io;
    Files::Handle file = -1;
};

TEST_P(JournalIoTest, SaysWhichBackendItIs) {
    const bool uring = GetParam().choice == IoChoice::io_uring;
    EXPECT_EQ(io->name(), uring ? "io_uring" : "pwritev2 (asked for)");
}

TEST_P(JournalIoTest, WritesTheBytesWhereTheyBelong) {
    const BlockBuffer buffer = filled(64u << 10, 1);
    ASSERT_TRUE(io->submit({file, 7, false, true, 128u << 10, buffer.bytes()}));
    const auto results = wait_for(1);
    EXPECT_EQ(results[0].token, 7u);
    EXPECT_EQ(results[0].result, 64 << 10);
    EXPECT_TRUE(holds(128u << 10, buffer));
    const BlockBuffer zeros(4096);
    std::memset(zeros.bytes().data(), 0, 4096);
    EXPECT_TRUE(holds((128u << 10) - 4096, zeros));
    EXPECT_TRUE(holds(192u << 10, zeros));
}

TEST_P(JournalIoTest, TakesAsManyAsItsDepthAndRefusesMore) {
    std::vector<BlockBuffer> buffers;
    for (std::uint32_t i = 0; i < kDepth; ++i) {
        buffers.push_back(filled(256u << 10, static_cast<int>(i)));
        ASSERT_TRUE(io->submit({file, i, false, true, std::uint64_t{i} << 18, buffers[i].bytes()}));
    }
    EXPECT_FALSE(io->submit({file, 99, false, true, 0, buffers[0].bytes()}));
    std::set<std::uint64_t> tokens;
    for (const IoResult& result : wait_for(kDepth)) {
        EXPECT_EQ(result.result, 256 << 10);
        tokens.insert(result.token);
    }
    EXPECT_EQ(tokens.size(), kDepth);
    for (std::uint32_t i = 0; i < kDepth; ++i) EXPECT_TRUE(holds(std::uint64_t{i} << 18, buffers[i]));
    EXPECT_TRUE(io->submit({file, 99, false, true, 0, buffers[0].bytes()}));
    wait_for(1);
}

TEST_P(JournalIoTest, SyncsAndWritesWithoutDurabilityReportTheirResults) {
    const BlockBuffer buffer = filled(4096, 1);
    ASSERT_TRUE(io->submit({file, 1, false, false, 0, buffer.bytes()}));
    EXPECT_EQ(wait_for(1)[0].result, 4096);
    ASSERT_TRUE(io->submit({file, 2, true, false, 0, {}}));
    EXPECT_EQ(wait_for(1)[0].result, 0);
}

TEST_P(JournalIoTest, ErrorsAreReportedAsMinusErrno) {
    const BlockBuffer buffer = filled(4096, 1);
    ASSERT_TRUE(io->submit({-1, 1, false, true, 0, buffer.bytes()}));
    EXPECT_EQ(wait_for(1)[0].result, -EBADF);
    const int read_only = ::open((directory->path() + "/file").c_str(), O_RDONLY | O_CLOEXEC);
    ASSERT_TRUE(io->submit({read_only, 2, false, true, 0, buffer.bytes()}));
    EXPECT_EQ(wait_for(1)[0].result, -EBADF);
    ::close(read_only);
}

TEST_P(JournalIoTest, PollingWithNothingUnderWayFindsNothing) {
    IoResult results[4];
    EXPECT_EQ(io->poll(results), 0u);
    io->wait(1'000'000'000'000);
    EXPECT_EQ(io->poll(results), 0u);
}

TEST_P(JournalIoTest, ManyWritesThroughTheQueueAllArriveOnce) {
    IoQueue queue(*io, kDepth, 4096);
    std::vector<BlockBuffer> buffers;
    for (int i = 0; i < static_cast<int>(kDepth); ++i) buffers.push_back(filled(8192, i));
    std::set<std::uint32_t> free = {0, 1, 2, 3};
    std::uint64_t started = 0;
    std::uint64_t finished = 0;
    while (finished < 300) {
        while (!free.empty() && started < 300) {
            const std::uint32_t slot = *free.begin();
            free.erase(free.begin());
            queue.write(slot, file, started++ % 500 * 8192, buffers[slot].bytes(), true);
        }
        for (const IoDone& done : queue.poll()) {
            EXPECT_EQ(done.os_error, 0);
            free.insert(done.slot);
            ++finished;
        }
        if (queue.busy()) queue.wait(1'000'000);
    }
    EXPECT_FALSE(queue.busy());
    EXPECT_EQ(queue.stale_count(), 0u);
}

// The whole journal over each backend: the same records come back.
TEST_P(JournalIoTest, AJournalOverItIsRecovered) {
    const std::string path = directory->path() + "/journal";
    std::vector<std::string> bodies;
    for (std::size_t i = 0; i < 150; ++i)
        bodies.push_back(std::string(i * 397 % 12'000, static_cast<char>('a' + i % 26)));
    {
        Options options = small_options(path);
        options.io = GetParam().choice;
        options.in_flight_max = 3;
        RememberingSink sink;
        auto journal = Journal::open(options, sink);
        ASSERT_TRUE(journal.has_value()) << journal.error().text;
        ASSERT_TRUE((*journal)->start().has_value());
        for (std::size_t i = 0; i < bodies.size(); ++i) {
            put(**journal, record(RecordKind::message, 1, i + 1), "head", bodies[i]);
            publish(**journal);
        }
        ASSERT_TRUE((*journal)->close().has_value());
    }
    RememberingSink sink;
    const auto journal = Journal::open(small_options(path), sink);
    ASSERT_TRUE(journal.has_value()) << journal.error().text;
    ASSERT_EQ(sink.seen.size(), bodies.size());
    for (std::size_t i = 0; i < bodies.size(); ++i) EXPECT_EQ(sink.seen[i].body, bodies[i]);
}

INSTANTIATE_TEST_SUITE_P(All, JournalIoTest,
                         ::testing::Values(Backend{"UringOnDisk", IoChoice::io_uring, "/var/tmp"},
                                           Backend{"UringOnTmpfs", IoChoice::io_uring, "/dev/shm"},
                                           Backend{"PwriteOnDisk", IoChoice::pwritev2, "/var/tmp"},
                                           Backend{"PwriteOnTmpfs", IoChoice::pwritev2, "/dev/shm"}),
                         [](const auto& one) { return one.param.name; });

TEST(JournalIoChoice, TheEnvironmentForcesTheFallbackAndTheNameSaysWhy) {
    ::setenv("PINNACE_NO_IO_URING", "1", 1);
    const auto io = make_io(IoChoice::automatic, 2, -1);
    ::unsetenv("PINNACE_NO_IO_URING");
    ASSERT_TRUE(io.has_value());
    EXPECT_EQ((*io)->name(), "pwritev2 (PINNACE_NO_IO_URING is set)");
}

}  // namespace
}  // namespace pinnace::journal::test
