// SPDX-License-Identifier: Apache-2.0
// Doorbells: how whoever sleeps is woken by a process that it does not trust, without a system call unless it
// sleeps.
//
// The one who goes to sleep changes a sleep word that it owns, fences, looks once more for work, and only
// then sleeps in the kernel. The one who makes work stores it, fences, and then looks at the sleep word; if
// it shows a sleep that was not rung for yet, one byte goes over a socketpair. Both fences are needed; the
// test with an infinite safety time-out proves it. A byte too many is harmless, a full socket counts as rung
// (there is a byte to wake up to), and MSG_DONTWAIT keeps a peer from blocking the ringer (architecture rule
// 5).
//
// Towards a client the sleep word is a counter, raised by each thread that gets ready to sleep; towards the
// dispatcher it is odd while it sleeps. Each ringer remembers the last value for which it rang.
//
// Ordering pairs
//   bell  the two fences, see words.h.
#pragma once

#include <cstdint>
#include <expected>
#include <string>

#include "shm/memory.h"
#include "shm/words.h"

namespace pinnace::shm {

// A connected pair: one end stays with the engine, the other goes to the client. Both are non-blocking.
struct WakePair {
    Fd engine;
    Fd client;
};
std::expected<WakePair, std::string> make_wake_pair();

// One byte, never blocking, no SIGPIPE. False: the other side has gone.
bool ring(int wake_fd);
// Takes all bytes out. False: the other side has gone.
bool drain(int wake_fd);

// The engine's bell at a client. Thread: the dispatcher; ring() may be given to another thread in spin mode.
class ClientBell {
 public:
    ClientBell(const std::uint64_t* sleep_count, int wake_fd)
        : sleep_count_(sleep_count), wake_fd_(wake_fd) {}

    // To be asked after full_fence(), which one turn needs only once for all its clients. True: ring().
    bool should_ring() {
        const std::uint64_t now = load_relaxed(*sleep_count_);  // relaxed: the fence orders it
        if (now == rung_) return false;
        rung_ = now;
        return true;
    }
    bool ring() const { return shm::ring(wake_fd_); }

 private:
    const std::uint64_t* sleep_count_;
    int wake_fd_;
    std::uint64_t rung_ = 0;
};

// A client's bell at the dispatcher. Thread: any number.
class DispatcherBell {
 public:
    DispatcherBell(const std::uint64_t* sleep, int wake_fd, bool never_sleeps)
        : sleep_(sleep), wake_fd_(wake_fd), never_sleeps_(never_sleeps) {}

    // After each commit of a frame or an entry.
    void ring_if_asleep() {
        if (never_sleeps_) return;
        full_fence();                                     // pair: bell
        const std::uint64_t now = load_relaxed(*sleep_);  // relaxed: the fence orders it
        // Relaxed: two threads that both ring do no harm; one that finds the other's mark relies on its byte.
        if ((now & 1) == 0 || now == load_relaxed(rung_)) return;
        store_relaxed(rung_, now);
        shm::ring(wake_fd_);
    }

 private:
    const std::uint64_t* sleep_;
    int wake_fd_;
    bool never_sleeps_;
    std::uint64_t rung_ = 0;
};

// The dispatcher's bed: an epoll set of all sessions' wake ends and a bell of the engine's own threads.
// Thread: add() and remove() from any; sleep() from the dispatcher; wake() from any thread of the engine.
class DispatcherSleeper {
 public:
    static std::expected<DispatcherSleeper, std::string> create(std::uint64_t* sleep_word);

    std::expected<void, std::string> add(int wake_fd);
    void remove(int wake_fd);

    // Sleeps until somebody rings or the time is over (-1: no end), unless `has_work()` says true after the
    // sleep word was set. `has_work` looks at every ring that does not ring by itself.
    template <class HasWork>
    void sleep(HasWork&& has_work, std::int64_t timeout_ns) {
        const std::uint64_t word = load_relaxed(*sleep_word_) + 1;  // relaxed: nobody else writes it
        store_relaxed(*sleep_word_, word);                          // relaxed: the fence orders it
        full_fence();                                               // pair: bell
        if (!has_work()) wait(timeout_ns);
        store_relaxed(*sleep_word_, word + 1);  // relaxed: an early or late ring does no harm
    }
    // From another thread of the engine: after storing the work for it.
    void wake();

 private:
    DispatcherSleeper(std::uint64_t* sleep_word, Fd epoll, Fd bell)
        : sleep_word_(sleep_word), epoll_(std::move(epoll)), bell_(std::move(bell)) {}
    void wait(std::int64_t timeout_ns);

    std::uint64_t* sleep_word_;
    Fd epoll_;
    Fd bell_;  // eventfd, within the engine only
};

}  // namespace pinnace::shm
