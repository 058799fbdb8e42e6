// SPDX-License-Identifier: Apache-2.0
// A writer process is killed with SIGKILL at random instants, again and again, on the same directory:
// nothing that it had seen durable is ever missing. PINNACE_KILL_ROUNDS sets the number of rounds.
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <deque>
#include <random>

#include "journal/segment.h"
#include "tests/journal/support.h"

namespace pinnace::journal::test {
namespace {

// Shared with the child: how far it has seen the journal durable.
struct Shared {
    std::atomic<std::uint64_t> durable_position{0};
    std::atomic<std::uint64_t> started{0};
};

std::string body_of(Position position) {
    return std::string(position * 7919 % 6000, static_cast<char>('a' + position % 26));
}

Options kill_options(const std::string& directory, IoChoice io) {
    Options options = small_options(directory);
    options.io = io;
    options.in_flight_max = 4;
    options.lock_wait_ns = 10'000'000'000;
    return options;
}

// Publishes as fast as it can until it is killed.
[[noreturn]] void write_for_ever(const Options& options, Shared& shared) {
    RememberingSink sink;
    auto journal = Journal::open(options, sink);
    if (!journal || !(*journal)->start()) ::_exit(3);
    const Position recovered = (*journal)->recovered().last_position;
    Position next = recovered + 1;
    std::deque<std::string> bodies;
    std::deque<RecordIndex> indexes;
    Position first = next;
    shared.started.store(1);
    while (true) {
        bodies.push_back(body_of(next));
        indexes.push_back(put(**journal, record(RecordKind::message, 1, next), "h", bodies.back()));
        if (next % 3 == 0) put(**journal, record(RecordKind::remove, 2, next - 1), "", "");
        publish(**journal, static_cast<Time>(next));
        ++next;
        const RecordIndex durable = (*journal)->durable();
        while (!indexes.empty() && indexes.front() <= durable) {
            shared.durable_position.store(first++);
            indexes.pop_front();
            bodies.pop_front();
        }
    }
}

class KillTest : public ::testing::TestWithParam<IoChoice> {
 protected:
    KillTest() {
        void* memory =
            ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        shared = new (memory) Shared;
    }
    ~KillTest() override { ::munmap(shared, sizeof(Shared)); }

    void write_and_kill(std::mt19937& random) {
        shared->started.store(0);
        const pid_t child = ::fork();
        ASSERT_GE(child, 0);
        if (child == 0) write_for_ever(kill_options(directory.path(), GetParam()), *shared);
        int status = 0;
        await([&] { return shared->started.load() != 0 || ::waitpid(child, &status, WNOHANG) != 0; });
        ASSERT_EQ(shared->started.load(), 1u) << "the writer could not begin: " << status;
        // Any instant from the first record to some rolls later.
        const std::uint64_t instant = shared->durable_position.load() + random() % 300;
        await([&] { return shared->durable_position.load() >= instant; });
        ASSERT_EQ(::kill(child, SIGKILL), 0);
        ASSERT_EQ(::waitpid(child, &status, 0), child);
    }

    // Every record in order, up to one that is not before what was seen durable.
    void check() {
        RememberingSink sink;
        const auto journal = Journal::open(kill_options(directory.path(), GetParam()), sink);
        ASSERT_TRUE(journal.has_value()) << journal.error().text;
        Position expected = 1;
        for (const Seen& seen : sink.seen) {
            if (!is_kind(seen.header, RecordKind::message)) continue;
            ASSERT_EQ(seen.header.position, expected);
            ASSERT_EQ(seen.body, body_of(expected));
            ++expected;
        }
        ASSERT_GE(expected - 1, shared->durable_position.load());
        ASSERT_EQ((*journal)->recovered().last_position, expected - 1);
    }

    TemporaryDirectory directory;
    Shared* shared = nullptr;
};

TEST_P(KillTest, NothingThatWasDurableIsMissingAfterAKill) {
    const char* seed = std::getenv("PINNACE_SEED");
    const char* rounds = std::getenv("PINNACE_KILL_ROUNDS");
    std::mt19937 random(seed == nullptr ? 1 : static_cast<unsigned>(std::strtoul(seed, nullptr, 0)));
    const int count = rounds == nullptr ? 12 : std::atoi(rounds);
    for (int round = 0; round < count; ++round) {
        ASSERT_NO_FATAL_FAILURE(write_and_kill(random)) << round;
        if (round % 3 == 2) {
            ASSERT_NO_FATAL_FAILURE(check()) << round;
        }
    }
    check();
}

INSTANTIATE_TEST_SUITE_P(All, KillTest, ::testing::Values(IoChoice::automatic, IoChoice::pwritev2),
                         [](const auto& one) {
                             return one.param == IoChoice::automatic ? "Automatic" : "Pwritev2";
                         });

}  // namespace
}  // namespace pinnace::journal::test
