// SPDX-License-Identifier: Apache-2.0
// PositionSet: positions as ranges, since those that are removed from a queue mostly follow each other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>

#include "core/types.h"

namespace pinnace {

class PositionSet {
 public:
    void add(Position first, std::uint64_t count = 1) {
        if (count == 0) return;
        Position end = first + count;
        auto at = ends_.upper_bound(first);
        if (at != ends_.begin() && std::prev(at)->second >= first) {
            --at;
            first = at->first;
        }
        while (at != ends_.end() && at->first <= end) {
            end = std::max(end, at->second);
            at = ends_.erase(at);
        }
        ends_.emplace_hint(at, first, end);
    }
    bool contains(Position position) const {
        const auto after = ends_.upper_bound(position);
        return after != ends_.begin() && position < std::prev(after)->second;
    }
    std::size_t range_count() const { return ends_.size(); }

 private:
    std::map<Position, Position> ends_;  // first to end; ranges neither overlap nor touch
};

}  // namespace pinnace
