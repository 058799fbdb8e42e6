// SPDX-License-Identifier: Apache-2.0
// Waker: rings sleeping clients for a dispatcher that must make no system call (rule 20, spin mode). A
// thread that looks at a ring of wake-ups, naps while there are none, and sleeps for good while no client
// can sleep.
//
// Threads: ring() is the dispatcher's, the rest the control thread's.
#pragma once

#include <atomic>
#include <boost/lockfree/spsc_queue.hpp>
#include <cstdint>
#include <thread>

namespace pinnace::daemon {

class Waker {
 public:
    Waker();
    ~Waker();
    Waker(const Waker&) = delete;
    Waker& operator=(const Waker&) = delete;

    void ring(int wake_fd);

    // After this no wake-up that was asked for before is still to come: a descriptor may be closed.
    void drain() const;

 private:
    void run();

    boost::lockfree::spsc_queue<int, boost::lockfree::capacity<4096>> wanted_;
    std::atomic<std::uint64_t> asked_{0};
    std::atomic<std::uint64_t> done_{0};
    std::atomic<bool> stop_{false};
    std::thread thread_;  // last
};

}  // namespace pinnace::daemon
