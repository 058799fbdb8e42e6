// SPDX-License-Identifier: Apache-2.0
// PendingDeliveries: deliveries of one subscription that wait for a body to be read (architecture rule 16).
// They leave in the order of the decisions; a delivery whose body is in memory waits behind one whose body
// is not.
#pragma once

#include <deque>

#include "core/effects.h"

namespace pinnace {

class PendingDeliveries {
 public:
    enum class State : std::uint8_t { wanted, asked, ready, unreadable };
    struct Entry {
        Delivery delivery;
        State state = State::wanted;
        LogPosition log;          // where the body lies, once ready
        bool needs_room = false;  // it found the ring full (a barrier, B2, or again): it has no place yet
        bool again = false;       // the subscriber has it already and asked for the body once more
        std::uint64_t asked = 0;  // again: the number of the entry that asked
    };

    bool empty() const { return entries_.empty(); }
    std::size_t count() const { return entries_.size(); }
    Entry& front() { return entries_.front(); }
    void pop() {
        entries_.pop_front();
        ++first_;
    }
    void push(const Entry& entry) { entries_.push_back(entry); }
    void clear() {
        first_ += static_cast<std::uint32_t>(entries_.size());
        entries_.clear();
    }

    // Entries keep their number while others leave; numbers of entries that have left are not found.
    std::uint32_t first() const { return first_; }
    std::uint32_t end() const { return first_ + static_cast<std::uint32_t>(entries_.size()); }
    Entry* find(std::uint32_t number) {
        const std::uint32_t index = number - first_;
        return index < entries_.size() ? &entries_[index] : nullptr;
    }

 private:
    std::deque<Entry> entries_;
    std::uint32_t first_ = 0;
};

}  // namespace pinnace
