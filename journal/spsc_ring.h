// SPDX-License-Identifier: Apache-2.0
// A small ring between two threads of the engine, for requests and replies. One thread pushes, one pops;
// neither waits.
//
// Ordering: `spsc pushed` (push -> pop), `spsc popped` (pop -> push).
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "journal/feed.h"

namespace pinnace::journal {

template <typename T>
class SpscRing {
 public:
    explicit SpscRing(std::size_t capacity) : slots_(std::bit_ceil(capacity)) {}

    bool push(const T& value) {
        // Relaxed: only this thread writes it.
        const std::uint64_t end = pushed_.load(std::memory_order_relaxed);
        if (end - popped_.load(std::memory_order_acquire) == slots_.size())
            return false;  // pair: spsc popped
        slots_[end & (slots_.size() - 1)] = value;
        pushed_.store(end + 1, std::memory_order_release);  // pair: spsc pushed
        return true;
    }

    bool pop(T& value) {
        // Relaxed: only this thread writes it.
        const std::uint64_t begin = popped_.load(std::memory_order_relaxed);
        if (pushed_.load(std::memory_order_acquire) == begin) return false;  // pair: spsc pushed
        value = slots_[begin & (slots_.size() - 1)];
        popped_.store(begin + 1, std::memory_order_release);  // pair: spsc popped
        return true;
    }

    // By the pushing thread.
    bool full() const {
        // Relaxed: only this thread writes it.
        return pushed_.load(std::memory_order_relaxed) -
                   popped_.load(std::memory_order_acquire) ==  // pair: spsc popped
               slots_.size();
    }

    // By the popping thread.
    bool empty() const {
        // Relaxed: only this thread writes it.
        return pushed_.load(std::memory_order_acquire) ==  // pair: spsc pushed
               popped_.load(std::memory_order_relaxed);
    }

 private:
    std::vector<T> slots_;
    alignas(kLineSize) std::atomic<std::uint64_t> pushed_{0};
    alignas(kLineSize) std::atomic<std::uint64_t> popped_{0};
};

}  // namespace pinnace::journal
