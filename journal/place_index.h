// SPDX-License-Identifier: Apache-2.0
// Where the message of a position lies (rule 12): one entry for each batch with messages, found by order.
// Only what is durable is entered, by recovery and then by the journal thread, which alone uses it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <optional>

#include "core/types.h"
#include "journal/format.h"

namespace pinnace::journal {

class PlaceIndex {
 public:
    // Batches come in order; their messages' positions only grow. 0: the batch has no messages.
    void add(Position first, Position last, Place place) {
        if (first == 0) return;
        entries_.push_back({first, place});
        last_position_ = std::max(last_position_, last);
    }
    // The last batch that was added has messages up to this one.
    void reach(Position last) { last_position_ = std::max(last_position_, last); }
    // The batch that holds the message, if any does.
    std::optional<Place> find(Position position) const {
        if (entries_.empty() || position < entries_.front().first || position > last_position_)
            return std::nullopt;
        const auto after =
            std::upper_bound(entries_.begin(), entries_.end(), position,
                             [](Position value, const Entry& entry) { return value < entry.first; });
        return std::prev(after)->place;
    }
    Position last_position() const { return last_position_; }
    std::size_t batch_count() const { return entries_.size(); }

 private:
    struct Entry {
        Position first;
        Place place;
    };
    std::deque<Entry> entries_;  // grows without moving what is there
    Position last_position_ = 0;
};

}  // namespace pinnace::journal
