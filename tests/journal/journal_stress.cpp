// SPDX-License-Identifier: Apache-2.0
// Threads against each other: feed and writer, sleeper and waker, cold reads beside writes.
#include <atomic>
#include <deque>
#include <thread>

#include "journal/sleeper.h"
#include "journal/spsc_ring.h"
#include "tests/journal/support.h"

namespace pinnace::journal::test {
namespace {

TEST(FeedStress, EveryEntryOfEveryStepArrivesInOrder) {
    Feed feed(16u << 10);
    constexpr std::uint64_t kCount = 100'000;
    std::atomic<bool> wrong{false};
    std::thread taker([&] {
        FeedCursor cursor;
        std::uint64_t in_step = 0;
        while (cursor.index < kCount) {
            const std::uint64_t end = feed.visible_end();
            if (cursor.position == end) std::this_thread::yield();
            while (cursor.position != end) {
                const FeedEntry& entry = feed.take(cursor);
                const std::size_t head_size = cursor.index * 7 % 90;
                bool good = entry.header.position == cursor.index && entry.header.head_size == head_size;
                for (std::size_t i = 0; i < entry.header.head_size; ++i) {
                    good &= entry.head()[i] == static_cast<std::byte>(cursor.index);
                }
                // Whole steps only (rule 7): the number of entries is in the last one.
                ++in_step;
                if (entry.ends_step()) good &= entry.header.number == in_step;
                if (entry.ends_step()) in_step = 0;
                if (!good) wrong.store(true);
            }
            if (in_step != 0) wrong.store(true);
            feed.release(cursor.position);
        }
    });
    for (std::uint64_t index = 1; index <= kCount;) {
        const std::uint64_t step = std::min<std::uint64_t>(index % 5 + 1, kCount - index + 1);
        await([&] { return feed.room() >= step * Feed::entry_size(90); });
        for (std::uint64_t i = 1; i <= step; ++i, ++index) {
            const std::string head(index * 7 % 90, static_cast<char>(index));
            auto header = record(RecordKind::message, 1, index);
            header.number = i;
            feed.append(header, as_bytes(head), nullptr, 0);
        }
        feed.end_step();
        if (index % 3 == 0 || index > kCount) feed.publish(static_cast<Time>(index));
    }
    feed.publish(1);
    taker.join();
    EXPECT_FALSE(wrong.load());
}

// Rule 20: with no time-out at all, a lost wake-up would never end.
TEST(SleeperStress, NoWakeUpIsLost) {
    Sleeper sleeper;
    constexpr std::uint64_t kCount = 20'000;
    SpscRing<std::uint64_t> there(1);
    SpscRing<std::uint64_t> back(1);
    std::thread sleeping([&] {
        std::uint64_t value = 0;
        while (value < kCount) {
            if (there.pop(value)) {
                await([&] { return back.push(value); });
            } else {
                sleeper.sleep_unless(-1, [&] { return !there.empty(); });
            }
        }
    });
    for (std::uint64_t value = 1; value <= kCount; ++value) {
        await([&] { return there.push(value); });
        sleeper.wake();
        std::uint64_t answer = 0;
        await([&] { return back.pop(answer); });
        ASSERT_EQ(answer, value);
    }
    sleeping.join();
}

// Publishing, rolling and cold reads at once; every body read back is the one that was written.
TEST(JournalStress, BodiesAreReadBackWhileOthersAreWritten) {
    for (const IoChoice io : {IoChoice::automatic, IoChoice::pwritev2}) {
        const TemporaryDirectory directory;
        Options options = small_options(directory.path());
        options.io = io;
        options.in_flight_max = 4;
        options.body_request_max = 8;
        RememberingSink sink;
        auto journal = Journal::open(options, sink);
        ASSERT_TRUE(journal.has_value()) << journal.error().text;
        ASSERT_TRUE((*journal)->start().has_value());
        std::deque<std::string> bodies;  // stay where they are until durable
        std::vector<std::string> answers(8);
        std::size_t asked = 0;
        std::size_t answered = 0;
        const auto take_answers = [&] {
            BodyReply reply;
            while ((*journal)->next_body(reply)) {
                ASSERT_TRUE(reply.readable);
                ASSERT_EQ(answers[reply.token], bodies[reply.position - 1]);
                ++answered;
            }
        };
        for (Position position = 1; position <= 600; ++position) {
            bodies.push_back(std::string(position * 97 % 3000, static_cast<char>('a' + position % 26)));
            put(**journal, record(RecordKind::message, 1, position), "h", bodies.back());
            publish(**journal, static_cast<Time>(position));
            const Position durable = (*journal)->durable();
            if (durable > 0 && asked - answered < answers.size()) {
                const Position wanted = position * 7919 % durable + 1;
                std::string& to = answers[asked % answers.size()];
                // Replies come in the order of the requests, so this one's string is free again.
                to.assign(bodies[wanted - 1].size(), '?');
                ASSERT_TRUE((*journal)->request_body({wanted, static_cast<std::uint32_t>(to.size()),
                                                      reinterpret_cast<std::byte*>(to.data()),
                                                      asked % answers.size()}));
                ++asked;
                (*journal)->wake();
            }
            take_answers();
        }
        await([&] {
            take_answers();
            return answered == asked;
        });
        ASSERT_TRUE((*journal)->close().has_value());
        EXPECT_EQ((*journal)->durable(), 600u);
    }
}

}  // namespace
}  // namespace pinnace::journal::test
