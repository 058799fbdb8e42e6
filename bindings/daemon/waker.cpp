// SPDX-License-Identifier: Apache-2.0
#include "bindings/daemon/waker.h"

#include <sched.h>
#include <time.h>

#include "shm/doorbell.h"

namespace pinnace::daemon {

Waker::Waker() : thread_([this] { run(); }) {}

Waker::~Waker() {
    stop_.store(true, std::memory_order_relaxed);  // relaxed: join orders the rest
    thread_.join();
}

void Waker::ring(int wake_fd) {
    // Full: as many wake-ups as there are places are under way; this one is rung from here, which is late
    // but not lost.
    if (!wanted_.push(wake_fd)) {
        shm::ring(wake_fd);
        return;
    }
    asked_.fetch_add(1, std::memory_order_release);  // pair: wakes asked
}

void Waker::drain() const {
    const std::uint64_t asked = asked_.load(std::memory_order_acquire);   // pair: wakes asked
    while (done_.load(std::memory_order_acquire) < asked) sched_yield();  // pair: wakes done
}

void Waker::run() {
    int idle = 0;
    while (!stop_.load(std::memory_order_relaxed)) {  // relaxed: only ends the loop
        int fd = -1;
        if (wanted_.pop(fd)) {
            shm::ring(fd);
            done_.fetch_add(1, std::memory_order_release);  // pair: wakes done
            idle = 0;
        } else if (++idle < 100) {
            sched_yield();
        } else {
            // A nap and not a wait: the dispatcher must not be the one who wakes this thread.
            const timespec nap{0, idle < 20'000 ? 50'000 : 1'000'000};
            nanosleep(&nap, nullptr);
        }
    }
}

}  // namespace pinnace::daemon
