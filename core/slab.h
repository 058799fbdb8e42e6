// SPDX-License-Identifier: Apache-2.0
// Slab: records of one kind, named by index, in chunks that never move; freed ones are used again.
//
// 1. Memory is taken a chunk at a time, when the count of live records reaches a new maximum, and kept.
// 2. A record's place never changes, so an index stays good until it is freed.
// 3. The type is trivial and has `slab_link()`, a field that is free for the slab's use while it is freed.
// Chunks are not touched before they are used, so that room for many costs no memory until they come.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "core/check.h"
#include "core/types.h"

namespace pinnace {

template <class T, unsigned kChunkBits = 16>
class Slab {
    static_assert(std::is_trivial_v<T>);

 public:
    static constexpr std::uint32_t kChunkCount = 1u << kChunkBits;

    // The record's content is whatever the last user left.
    std::uint32_t allocate() {
        ++live_count_;
        if (free_ != kNone) {
            const std::uint32_t index = free_;
            free_ = (*this)[index].slab_link();
            return index;
        }
        if (high_ == capacity()) grow();
        return high_++;
    }
    void free(std::uint32_t index) { free(index, (*this)[index]); }
    void free(std::uint32_t index, T& record) {
        record.slab_link() = free_;
        free_ = index;
        --live_count_;
    }
    T& operator[](std::uint32_t index) { return chunks_[index >> kChunkBits][index & (kChunkCount - 1)]; }
    const T& operator[](std::uint32_t index) const {
        return chunks_[index >> kChunkBits][index & (kChunkCount - 1)];
    }
    // It is needed soon, and may be far away: a record is one to three cache lines.
    void prefetch(std::uint32_t index) const {
        const char* record = reinterpret_cast<const char*>(&(*this)[index]);
        __builtin_prefetch(record);
        __builtin_prefetch(record + sizeof(T) - 1);
    }
    // Whether the index was ever given out; what a peer says is checked with this first.
    bool contains(std::uint32_t index) const { return index < high_; }
    void reserve(std::uint32_t count) {
        while (capacity() < count) grow();
    }
    std::uint64_t capacity() const { return static_cast<std::uint64_t>(chunks_.size()) << kChunkBits; }
    std::uint32_t live_count() const { return live_count_; }
    // Memory of all records that were ever in use at once.
    std::size_t byte_count() const { return static_cast<std::size_t>(high_) * sizeof(T); }

 private:
    void grow() {
        PINNACE_CHECK(capacity() + kChunkCount < kNone);
        chunks_.push_back(std::make_unique_for_overwrite<T[]>(kChunkCount));
    }

    std::vector<std::unique_ptr<T[]>> chunks_;
    std::uint32_t free_ = kNone;
    std::uint32_t high_ = 0;
    std::uint32_t live_count_ = 0;
};

}  // namespace pinnace
