// SPDX-License-Identifier: Apache-2.0
// Fifo: a queue in one piece of memory, which grows and never shrinks: no allocation once it is as large as
// it gets.
#pragma once

#include <bit>
#include <cstddef>
#include <type_traits>
#include <vector>

namespace pinnace::client {

template <class T>
class Fifo {
    static_assert(std::is_trivially_copyable_v<T>);

 public:
    bool empty() const { return head_ == tail_; }
    std::size_t size() const { return tail_ - head_; }
    const T& front() const { return items_[head_ & mask()]; }
    T& operator[](std::size_t index) { return items_[(head_ + index) & mask()]; }

    void push(const T& item) {
        if (size() == items_.size()) grow();
        items_[tail_++ & mask()] = item;
    }
    void pop() { ++head_; }
    void clear() { head_ = tail_; }

 private:
    std::size_t mask() const { return items_.size() - 1; }
    void grow() {
        std::vector<T> larger(items_.empty() ? 256 : items_.size() * 2);
        const std::size_t count = size();
        for (std::size_t i = 0; i < count; ++i) larger[i] = (*this)[i];
        items_.swap(larger);
        head_ = 0;
        tail_ = count;
    }

    std::vector<T> items_;
    std::size_t head_ = 0;
    std::size_t tail_ = 0;
};

}  // namespace pinnace::client
