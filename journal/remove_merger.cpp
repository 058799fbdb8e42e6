// SPDX-License-Identifier: Apache-2.0
#include "journal/remove_merger.h"

#include <algorithm>

#include "core/record_codec.h"

namespace pinnace::journal {

void RemoveMerger::add(const RecordHeader& header) {
    const Removed removed{header.subject, header.position};
    if (removed_.empty()) {
        sorted_ = true;
    } else if (removed < removed_.back()) {
        sorted_ = false;
    }
    removed_.push_back(removed);
    time_ = header.time;
}

void RemoveMerger::sort() {
    if (!sorted_) std::sort(removed_.begin(), removed_.end());
    removed_.erase(std::unique(removed_.begin(), removed_.end()), removed_.end());
    sorted_ = true;
}

std::size_t RemoveMerger::encode(std::size_t first) {
    positions_.clear();
    std::size_t end = first;
    while (end < removed_.size() && removed_[end].queue == removed_[first].queue &&
           positions_.size() < kPositionsPerRecordMax) {
        positions_.push_back(removed_[end++].position);
    }
    head_.clear();
    encode_runs(positions_, head_);
    return end;
}

}  // namespace pinnace::journal
