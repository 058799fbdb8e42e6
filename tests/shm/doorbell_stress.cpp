// SPDX-License-Identifier: Apache-2.0
// Lost wake-ups: one message a sleep, in both directions, and not one time-out to fall back on. A lost
// wake-up hangs the test, and the test's own limit tells.
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <thread>

#include "tests/shm/test_engine.h"

namespace pinnace::shm::test {
namespace {

std::uint64_t cycle_count() {
    const char* given = std::getenv("PINNACE_WAKE_CYCLES");
    if (given != nullptr) return std::strtoull(given, nullptr, 10);
    return PINNACE_TSAN ? 1'000 : 4'000;
}

// Rule 17: a session whose answer ring is full is not read; its client rings when it has taken half of it.
bool has_room(ServerSession& session) {
    if (session.answers().free_count() == 0) session.answers().refresh();
    return session.answers().free_count() != 0;
}

// The engine's side: sleeps whenever there is nothing, answers each frame with an answer entry.
void serve(TestEngine& engine, std::span<ServerSession* const> sessions, std::uint64_t total) {
    auto sleeper = DispatcherSleeper::create(&engine.regions->control().dispatcher_sleep);
    ASSERT_TRUE(sleeper.has_value());
    for (ServerSession* session : sessions) ASSERT_TRUE(sleeper->add(session->wake_fd()).has_value());
    std::uint64_t done = 0;
    while (done < total) {
        bool found = false;
        for (ServerSession* session : sessions) {
            SubmitFrame frame;
            if (!has_room(*session) || session->submit().peek(frame) != ReadStatus::ready) continue;
            session->submit().take(frame);
            AnswerEntry answer;
            answer.number = frame.header.number;
            session->answers().write(answer);
            session->publish_persisted(frame.end);
            found = true;
            ++done;
        }
        if (found) {
            full_fence();
            for (ServerSession* session : sessions) {
                if (session->bell().should_ring()) session->bell().ring();
            }
        } else {
            sleeper->sleep(  // not a wait: the dispatcher's bed, which is what is tested
                [&] {
                    for (ServerSession* session : sessions) {
                        if (session->submit().is_ready() && has_room(*session)) return true;
                    }
                    return false;
                },
                -1);
        }
    }
    for (ServerSession* session : sessions) sleeper->remove(session->wake_fd());
}

void ping(ClientSession& client, std::uint64_t cycles) {
    Random random(seed());
    for (std::uint64_t i = 0; i < cycles; ++i) {
        PublishItem item;
        item.fields.number = i;
        ASSERT_TRUE(client.publish({&item, 1}, -1).has_value());
        // Now and then late, so that either side meets the other at every stage of falling asleep.
        for (std::uint64_t spin = random.below(400); spin > 0; --spin) cpu_pause();
        ASSERT_EQ(client.wait([&] { return client.has_answer(); }, -1), WaitResult::ready);
        AnswerEntry answer;
        ASSERT_EQ(client.take(answer), ReadStatus::ready);
        ASSERT_EQ(answer.number, i);
    }
}

TEST(DoorbellStress, NoWakeUpIsLostBetweenTwoSleepers) {
    TestEngine engine;
    Pair pair = connect(engine);
    ASSERT_TRUE(pair.client) << pair.error.text;
    ServerSession* session = pair.server.get();
    const std::uint64_t cycles = cycle_count();
    std::thread dispatcher([&] { serve(engine, {&session, 1}, cycles); });
    ping(*pair.client, cycles);
    dispatcher.join();
}

TEST(DoorbellStress, NoWakeUpIsLostAmongSeveralClients) {
    TestEngine engine;
    std::vector<Pair> pairs;
    std::vector<ServerSession*> sessions;
    for (int i = 0; i < 3; ++i) {
        pairs.push_back(connect(engine));
        ASSERT_TRUE(pairs.back().client) << pairs.back().error.text;
        sessions.push_back(pairs.back().server.get());
    }
    const std::uint64_t cycles = cycle_count() / 4;
    std::thread dispatcher([&] { serve(engine, sessions, cycles * pairs.size()); });
    std::vector<std::thread> clients;
    for (Pair& pair : pairs) clients.emplace_back([&] { ping(*pair.client, cycles); });
    for (std::thread& client : clients) client.join();
    dispatcher.join();
}

// Two threads of one client sleep at the same time, for different things; one of them polls for both.
TEST(DoorbellStress, NoWakeUpIsLostBetweenThreadsOfOneClient) {
    TestEngine engine;
    Pair pair = connect(engine);
    ASSERT_TRUE(pair.client) << pair.error.text;
    ServerSession* session = pair.server.get();
    const std::uint64_t cycles = cycle_count() / 2;
    std::thread dispatcher([&] { serve(engine, {&session, 1}, cycles); });
    std::atomic<std::uint64_t> answered{0};
    std::thread answers([&] {
        ClientSession& client = *pair.client;
        for (std::uint64_t i = 0; i < cycles; ++i) {
            ASSERT_EQ(client.wait([&] { return client.has_answer(); }, -1), WaitResult::ready);
            AnswerEntry answer;
            ASSERT_EQ(client.take(answer), ReadStatus::ready);
            answered.fetch_add(1, std::memory_order_relaxed);
        }
    });
    for (std::uint64_t i = 0; i < cycles; ++i) {
        PublishItem item;
        item.fields.number = i;
        const auto end = pair.client->publish({&item, 1}, -1);
        ASSERT_TRUE(end.has_value());
        // The persisted mark; the other thread waits for the answer.
        ASSERT_EQ(pair.client->wait([&] { return pair.client->submit_persisted() >= *end; }, -1),
                  WaitResult::ready);
    }
    answers.join();
    dispatcher.join();
    EXPECT_EQ(answered.load(), cycles);
}

// H3 of the notes: signals without SA_RESTART at every system call change nothing.
TEST(DoorbellStress, SignalsDisturbNothing) {
    struct sigaction action = {};
    action.sa_handler = [](int) {};
    struct sigaction old = {};
    ASSERT_EQ(sigaction(SIGUSR1, &action, &old), 0);
    TestEngine engine;
    Pair pair = connect(engine);
    ASSERT_TRUE(pair.client) << pair.error.text;
    ServerSession* session = pair.server.get();
    const std::uint64_t cycles = cycle_count() / 4;
    std::atomic<bool> is_done{false};
    std::thread dispatcher([&] { serve(engine, {&session, 1}, cycles); });
    std::thread client([&] { ping(*pair.client, cycles); });
    std::thread signals([&] {
        while (!is_done.load(std::memory_order_relaxed)) {
            pthread_kill(dispatcher.native_handle(), SIGUSR1);
            pthread_kill(client.native_handle(), SIGUSR1);
            const auto pause = std::chrono::microseconds(100);
            std::this_thread::sleep_for(pause);  // not a wait: the rate of the signals
        }
    });
    // Joined only when nobody signals them any more.
    while (pair.client->submit_persisted() < cycles * 64) std::this_thread::yield();
    is_done.store(true, std::memory_order_relaxed);
    signals.join();
    client.join();
    dispatcher.join();
    sigaction(SIGUSR1, &old, nullptr);
}

}  // namespace
}  // namespace pinnace::shm::test
