// SPDX-License-Identifier: Apache-2.0
// Pins: how a reader asks the log's writer to leave a few slots alone while it reads a large body in place.
//
// A pin is one word in the client's page. Pinning: store the word, full_fence(), then look at the slots'
// generations again. Reuse: store the new generation, full_fence(), then look at the pins (architecture rule
// 13). One of the two sees the other, so a reader that found the old generation after pinning is safe.
//
// A pin is a courtesy: the engine bounds how much of an area one session may hold, and when a whole lap is
// pinned it goes on regardless. LogView::is_valid() tells; nothing breaks but the view.
//
// Ordering pairs
//   pin       the two fences, see words.h.
//   unpinned  a pin word's release to 0, acquire in PinBoard: the reader's last look at the body.
#pragma once

#include <cstdint>
#include <vector>

#include "core/types.h"
#include "shm/layout.h"
#include "shm/words.h"

namespace pinnace::shm {

// Area in the upper 2 bits, number of slots in the next 14, number of the first slot in the lower 48.
struct PinnedSlots {
    Area area = Area::cold;
    std::uint64_t first_slot = 0;
    std::uint64_t slot_count = 0;

    constexpr std::uint64_t word() const {
        return (static_cast<std::uint64_t>(area) << 62) | (slot_count << 48) | first_slot;
    }
    static constexpr PinnedSlots from_word(std::uint64_t word) {
        return {static_cast<Area>(word >> 62), word & ((std::uint64_t{1} << 48) - 1), (word >> 48) & 0x3fff};
    }
    constexpr bool covers(Area asked, std::uint64_t slot) const {
        return area == asked && slot - first_slot < slot_count;
    }
    friend constexpr bool operator==(const PinnedSlots&, const PinnedSlots&) = default;
};

// All sessions' pins, as the dispatcher sees them. Thread: the dispatcher.
class PinBoard {
 public:
    // A session's pin words, in memory that its client writes.
    void add(const std::uint64_t* pins) { sessions_.push_back(pins); }
    void remove(const std::uint64_t* pins) { std::erase(sessions_, pins); }
    // Room for this many sessions, so that add() does not allocate.
    void reserve(std::size_t session_count) { sessions_.reserve(session_count); }

    // Whether an honest pin covers the slot: one that spans no more slots than `span_max`, among the first of
    // its session that make up `session_max` slots of the area.
    bool is_pinned(Area area, std::uint64_t slot, std::uint64_t span_max, std::uint64_t session_max) const;

 private:
    std::vector<const std::uint64_t*> sessions_;
};

}  // namespace pinnace::shm
