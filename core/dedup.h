// SPDX-License-Identifier: Apache-2.0
// DedupTable: ids that were stored within a window, as 128-bit hashes, with the first one's position (U1-U4).
//
// 1. `order` holds all ids in the order of their times, so that they leave on time from its front.
// 2. The table is open addressing with linear probing, at most half full; removing closes the gap.
#pragma once

#include <cstring>
#include <vector>

#include "core/record_codec.h"
#include "core/ring_buffer.h"
#include "core/types.h"

namespace pinnace {

class DedupTable {
 public:
    struct Entry {
        DedupHash hash;
        Position position;  // 0: free
        Time time;
    };

    // The first one of that id, or null.
    const Entry* find(const DedupHash& hash) const {
        if (entries_.empty()) return nullptr;
        for (std::size_t at = start(hash);; at = (at + 1) & (entries_.size() - 1)) {
            if (entries_[at].position == 0) return nullptr;
            if (entries_[at].hash == hash) return &entries_[at];
        }
    }
    // An id that is in here must have been removed first.
    void add(const DedupHash& hash, Position position, Time time) {
        if (2 * (order_.size() + 1) > entries_.size()) grow();
        put({hash, position, time});
        order_.push(hash);
    }
    // Ids whose window is over by `now`.
    void expire(Time now, Duration window) {
        while (!order_.empty() && now - find(order_.front())->time >= window) {
            remove(order_.front());
            order_.pop();
        }
    }
    // The newest one: its publish was refused after all.
    void take_back() {
        remove(order_[order_.size() - 1]);
        order_.pop_back();
    }
    std::size_t count() const { return order_.size(); }
    template <class Visit>
    void for_each(Visit&& visit) const {
        for (std::size_t index = 0; index < order_.size(); ++index) visit(*find(order_[index]));
    }

 private:
    std::size_t start(const DedupHash& hash) const {
        std::uint64_t value = 0;
        std::memcpy(&value, hash.data(), sizeof value);
        return value & (entries_.size() - 1);
    }
    void put(const Entry& entry) {
        std::size_t at = start(entry.hash);
        while (entries_[at].position != 0) at = (at + 1) & (entries_.size() - 1);
        entries_[at] = entry;
    }
    void remove(const DedupHash& hash) {
        const std::size_t mask = entries_.size() - 1;
        std::size_t hole = start(hash);
        while (entries_[hole].hash != hash) hole = (hole + 1) & mask;
        for (std::size_t at = (hole + 1) & mask; entries_[at].position != 0; at = (at + 1) & mask) {
            if (((at - start(entries_[at].hash)) & mask) < ((at - hole) & mask)) continue;
            entries_[hole] = entries_[at];
            hole = at;
        }
        entries_[hole] = Entry{};
    }
    void grow() {
        std::vector<Entry> former(entries_.empty() ? 64 : 2 * entries_.size());
        former.swap(entries_);
        for (const Entry& entry : former)
            if (entry.position != 0) put(entry);
    }

    std::vector<Entry> entries_;
    RingBuffer<DedupHash> order_;
};

// The id given or, by content, the SHA-256 of the body in lower-case hex, as the same kind of hash (U2).
DedupHash dedup_hash(std::string_view id);
DedupHash dedup_hash_of_body(const std::byte* data, std::size_t size);

// F1, U1: 1 to 128 of the ASCII letters, digits and _ . : -
bool is_id(std::string_view id);

}  // namespace pinnace
