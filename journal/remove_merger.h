// SPDX-License-Identifier: Apache-2.0
// Merges the acknowledgments of a batch: single `remove` records become one `remove_runs` a queue, at the
// batch's end. That is right since a removal follows its message anyway, and nothing in the batch depends on
// one that came before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/record.h"
#include "journal/format.h"

namespace pinnace::journal {

class RemoveMerger {
 public:
    // Only these can be merged: nothing but queue and position would be lost.
    static bool accepts(const RecordHeader& header) {
        return is_kind(header, RecordKind::remove) && header.number == 0 && header.flags == 0 &&
               header.payload_size == 0 && header.publisher == kNone;
    }

    void reserve(std::size_t count) { removed_.reserve(count); }
    void add(const RecordHeader& header);
    std::size_t count() const { return removed_.size(); }
    // Forgets all but the first `count`.
    void cut(std::size_t count) { removed_.resize(count); }

    // At least the bytes that the merged records will need in a batch, index entries included.
    std::size_t byte_count_max() const { return removed_.size() * kBytesPerRemoveMax; }

    // Calls put(header, head) for each merged record and forgets all.
    template <typename Put>
    void emit(Put&& put) {
        sort();
        for (std::size_t first = 0; first < removed_.size();) first = emit_some(first, put);
        removed_.clear();
    }

 private:
    struct Removed {
        std::uint32_t queue;
        Position position;
        auto operator<=>(const Removed&) const = default;
    };
    // A queue of its own for each: an index entry, two numbers of at most 10 bytes, and the filling up to 8.
    static constexpr std::size_t kBytesPerRemoveMax = sizeof(RecordHeader) + 32;
    static constexpr std::size_t kPositionsPerRecordMax = 5000;  // so that a head holds the runs in any case

    void sort();
    std::size_t encode(std::size_t first);

    template <typename Put>
    std::size_t emit_some(std::size_t first, Put&& put) {
        const std::size_t end = encode(first);
        RecordHeader header;
        header.kind = static_cast<std::uint16_t>(RecordKind::remove_runs);
        header.subject = removed_[first].queue;
        header.position = removed_[first].position;
        header.time = time_;
        put(header, std::span<const std::byte>(head_));
        return end;
    }

    std::vector<Removed> removed_;
    bool sorted_ = true;
    Time time_ = 0;  // of the last one
    std::vector<std::byte> head_;
    std::vector<Position> positions_;
};

}  // namespace pinnace::journal
