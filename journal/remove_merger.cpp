// SPDX-License-Identifier: Apache-2.0
#include "journal/remove_merger.h"

#include <algorithm>

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

namespace {

void put_varint(std::vector<std::byte>& out, std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out.push_back(static_cast<std::byte>(value | 0x80));
    out.push_back(static_cast<std::byte>(value));
}

void encode_runs(std::span<const Position> sorted, std::vector<std::byte>& out) {
    Position end = sorted.front();
    for (std::size_t i = 0; i < sorted.size();) {
        std::size_t next = i + 1;
        while (next < sorted.size() && sorted[next] == sorted[next - 1] + 1) ++next;
        put_varint(out, sorted[i] - end);
        put_varint(out, next - i);
        end = sorted[next - 1] + 1;
        i = next;
    }
}

}  // namespace

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
