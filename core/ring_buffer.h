// SPDX-License-Identifier: Apache-2.0
// RingBuffer: a queue of plain values that keeps its memory; grows by doubling when it is full.
#pragma once

#include <cstddef>
#include <type_traits>
#include <vector>

namespace pinnace {

template <class T>
class RingBuffer {
    static_assert(std::is_trivially_copyable_v<T>);

 public:
    bool empty() const { return begin_ == end_; }
    std::size_t size() const { return end_ - begin_; }
    T& front() { return items_[begin_ & (items_.size() - 1)]; }
    const T& operator[](std::size_t index) const { return items_[(begin_ + index) & (items_.size() - 1)]; }
    void push(const T& item) {
        if (size() == items_.size()) grow();
        items_[end_++ & (items_.size() - 1)] = item;
    }
    void pop() { ++begin_; }
    void pop_back() { --end_; }

 private:
    void grow() {
        std::vector<T> larger(items_.empty() ? 16 : items_.size() * 2);
        for (std::size_t index = 0; index < size(); ++index) larger[index] = (*this)[index];
        end_ = size();
        begin_ = 0;
        items_.swap(larger);
    }

    std::vector<T> items_;  // a power of two
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
};

}  // namespace pinnace
