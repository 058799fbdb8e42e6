// SPDX-License-Identifier: Apache-2.0
// DurableMarks: which of a session's ring positions become durable with which record. One entry a turn; when
// the list is full the newest entry is moved on, so that the report comes later and never too early (T8,
// L13).
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "core/types.h"

namespace pinnace {

class DurableMarks {
 public:
    struct Mark {
        RecordIndex index = 0;
        std::uint64_t submit_position = 0;
        std::uint64_t ack_count = 0;
    };

    void add(const Mark& mark) {
        if (tail_ - head_ == entries_.size()) {
            entries_[(tail_ - 1) % entries_.size()] = mark;
            return;
        }
        entries_[tail_++ % entries_.size()] = mark;
    }

    // The newest mark whose record is durable; forgets it and the older ones.
    std::optional<Mark> take(RecordIndex durable) {
        std::optional<Mark> newest;
        while (head_ != tail_ && entries_[head_ % entries_.size()].index <= durable) {
            newest = entries_[head_++ % entries_.size()];
        }
        return newest;
    }

    bool empty() const { return head_ == tail_; }

 private:
    std::array<Mark, 256> entries_;
    std::uint64_t head_ = 0;
    std::uint64_t tail_ = 0;
};

}  // namespace pinnace
