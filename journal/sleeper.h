// SPDX-License-Identifier: Apache-2.0
// Sleeping until another thread has something: no wake-up is lost, and a waker pays for a system call only if
// somebody sleeps (rule 20).
//
// The sleeper says that it sleeps, reads the count of wakes, looks for work once more, and only then waits,
// and not if the count has moved. The waker publishes its work, moves the count, and looks for a sleeper. All
// four are sequentially consistent: either the waker sees the sleeper, or the sleeper sees the count (and
// with it the work) in its last look.
#pragma once

#include <atomic>
#include <cstdint>

namespace pinnace::journal {

class Sleeper {
 public:
    // Any thread, after what it did for the sleeper to find.
    void wake() {
        // seq_cst: see above; the store of the count must not pass the look at `asleep_`. pair: sleeper
        count_.fetch_add(1, std::memory_order_seq_cst);              // pair: sleeper
        if (asleep_.load(std::memory_order_seq_cst)) wake_asleep();  // pair: sleeper
    }

    // The sleeping thread. `has_work` looks once more. timeout_ns -1: none.
    template <typename HasWork>
    void sleep_unless(std::int64_t timeout_ns, HasWork&& has_work) {
        // seq_cst: see above; the store must not pass the look at the count. pair: sleeper
        asleep_.store(true, std::memory_order_seq_cst);                      // pair: sleeper
        const std::uint32_t count = count_.load(std::memory_order_seq_cst);  // pair: sleeper
        if (!has_work()) wait(count, timeout_ns);
        // Relaxed: a wake too many does no harm.
        asleep_.store(false, std::memory_order_relaxed);
    }

 private:
    void wake_asleep();
    void wait(std::uint32_t count, std::int64_t timeout_ns);

    std::atomic<std::uint32_t> count_{0};
    std::atomic<bool> asleep_{false};
};

}  // namespace pinnace::journal
