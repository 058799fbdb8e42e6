// SPDX-License-Identifier: Apache-2.0
#include "journal/io_queue.h"

#include <cerrno>
#include <deque>
#include <functional>

#include "tests/journal/support.h"

namespace pinnace::journal::test {
namespace {

// Gives the results that a test wants.
class ScriptedIo final : public JournalIo {
 public:
    std::expected<void, int> start() override { return {}; }
    bool submit(const IoRequest& request) override {
        if (refuse > 0) {
            --refuse;
            return false;
        }
        requests.push_back(request);
        results.push_back({request.token, answer(request)});
        return true;
    }
    std::size_t poll(std::span<IoResult> to) override {
        std::size_t count = 0;
        while (count < to.size() && !results.empty()) {
            to[count++] = results.front();
            results.pop_front();
        }
        return count;
    }
    void wait(std::int64_t) override {}
    std::string_view name() const override { return "scripted"; }

    std::function<std::int32_t(const IoRequest&)> answer = [](const IoRequest& request) {
        return static_cast<std::int32_t>(request.bytes.size());
    };
    std::deque<IoResult> results;
    std::vector<IoRequest> requests;
    int refuse = 0;
};

class IoQueueTest : public ::testing::Test {
 protected:
    // Polls until the slot has an outcome, a bounded number of times.
    int outcome() {
        for (int i = 0; i < 1000; ++i) {
            const auto done = queue.poll();
            if (!done.empty()) return done.front().os_error;
        }
        return -1;
    }
    ScriptedIo io;
    IoQueue queue{io, 4, 4096};
    std::vector<std::byte> bytes = std::vector<std::byte>(5 * 4096);
};

TEST_F(IoQueueTest, AWholeWriteIsDoneAtOnce) {
    queue.write(1, 9, 8192, bytes, true);
    EXPECT_EQ(outcome(), 0);
    ASSERT_EQ(io.requests.size(), 1u);
    EXPECT_TRUE(io.requests[0].dsync);
    EXPECT_EQ(io.requests[0].offset, 8192u);
    EXPECT_FALSE(queue.busy());
}

TEST_F(IoQueueTest, AShortWriteGoesOnAtTheLastWholeBlockWithTheSameDurability) {
    std::size_t step = 0;
    const std::vector<std::int32_t> shorts = {4096 + 512, 4096, 3 * 4096};
    io.answer = [&](const IoRequest&) { return shorts[step++]; };
    queue.write(0, 9, 0, bytes, true);
    EXPECT_EQ(outcome(), 0);
    ASSERT_EQ(io.requests.size(), 3u);
    EXPECT_EQ(io.requests[1].offset, 4096u);
    EXPECT_EQ(io.requests[1].bytes.size(), 4u * 4096);
    EXPECT_EQ(io.requests[2].offset, 8192u);
    EXPECT_TRUE(io.requests[1].dsync && io.requests[2].dsync);
}

TEST_F(IoQueueTest, ErrorsThatPassAreTriedAgainABoundedNumberOfTimes) {
    for (const int error : {EAGAIN, EINTR, ENOMEM, EBUSY}) {
        int count = 0;
        io.answer = [&](const IoRequest& request) {
            return ++count < 50 ? -error : static_cast<std::int32_t>(request.bytes.size());
        };
        queue.write(0, 9, 0, bytes, true);
        EXPECT_EQ(outcome(), 0) << error;
        io.answer = [&](const IoRequest&) { return -error; };
        io.requests.clear();
        queue.write(0, 9, 0, bytes, true);
        EXPECT_EQ(outcome(), error);
        EXPECT_LE(io.requests.size(), IoQueue::kTriesMax + 1);
    }
}

TEST_F(IoQueueTest, OtherErrorsAreReportedAtOnce) {
    for (const int error : {EIO, ENOSPC, EROFS, ENODEV, ECANCELED, EINVAL}) {
        io.answer = [&](const IoRequest&) { return -error; };
        io.requests.clear();
        queue.write(2, 9, 0, bytes, true);
        EXPECT_EQ(outcome(), error);
        EXPECT_EQ(io.requests.size(), 1u);
    }
}

TEST_F(IoQueueTest, AWriteOfNothingTwiceIsAnError) {
    io.answer = [](const IoRequest&) { return 0; };
    queue.write(0, 9, 0, bytes, true);
    EXPECT_EQ(outcome(), EIO);
    EXPECT_EQ(io.requests.size(), 2u);
}

TEST_F(IoQueueTest, AWriteThatNeverCompletesABlockIsAnErrorInTheEnd) {
    io.answer = [](const IoRequest&) { return 100; };
    queue.write(0, 9, 0, bytes, true);
    EXPECT_EQ(outcome(), EIO);
}

TEST_F(IoQueueTest, AResultOfAFormerRequestIsIgnoredAndCounted) {
    queue.write(0, 9, 0, bytes, true);
    EXPECT_EQ(outcome(), 0);
    const std::uint64_t old_token = io.requests[0].token;
    io.answer = [](const IoRequest&) { return -EAGAIN; };
    queue.write(0, 9, 0, bytes, true);
    io.results.clear();
    io.results.push_back({old_token, -EIO});
    io.results.push_back({77, 0});
    EXPECT_TRUE(queue.poll().empty());
    EXPECT_EQ(queue.stale_count(), 2u);
    io.results.push_back({io.requests.back().token, static_cast<std::int32_t>(bytes.size())});
    EXPECT_EQ(outcome(), 0);
}

TEST_F(IoQueueTest, ARequestThatWasNotTakenIsSubmittedLater) {
    io.refuse = 3;
    queue.write(0, 9, 0, bytes, true);
    EXPECT_TRUE(queue.busy());
    EXPECT_EQ(outcome(), 0);
}

TEST_F(IoQueueTest, ASyncHasNoBytesAndItsErrorCounts) {
    io.answer = [](const IoRequest& request) { return request.sync ? -EIO : 0; };
    queue.sync(3, 9);
    EXPECT_EQ(outcome(), EIO);
}

}  // namespace
}  // namespace pinnace::journal::test
