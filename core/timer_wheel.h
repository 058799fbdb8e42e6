// SPDX-License-Identifier: Apache-2.0
// TimerWheel: deadlines of message states, exact to the nanosecond, at a constant cost.
//
// Levels of 64 slots, each level 64 times as coarse as the one below. A deadline lies at the level of the
// highest digit (of 6 bits) in which it differs from the wheel's own time, in the slot of that digit.
// 1. No deadline lies before the wheel's time: what is late is filed as due now.
// 2. The level and slot of a state follow from its deadline and the wheel's time alone; the time moves only
//    so that this stays true: to the start of the first slot in use, whose states are then filed anew, or
//    to any time before that.
// 3. At level 0 a slot is one nanosecond.
// A state is linked through timer_prev and timer_next, its deadline is `when`, `timed` says it is in here.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "core/check.h"
#include "core/message_state.h"
#include "core/types.h"

namespace pinnace {

class TimerWheel {
 public:
    TimerWheel() {
        for (auto& level : heads_) level.fill(kNone);
    }

    void insert(StateSlab& states, std::uint32_t index, Time deadline) {
        insert(states, states[index], index, deadline);
    }
    void erase(StateSlab& states, std::uint32_t index) { erase(states, states[index]); }

    // The same with the state looked up already.
    [[gnu::always_inline]] void insert(StateSlab& states, MessageState& state, std::uint32_t index,
                                       Time deadline) {
        state.when = deadline < time_ ? time_ : deadline;
        state.timed = 1;
        link(states, state, index);
        ++count_;
    }

    [[gnu::always_inline]] void erase(StateSlab& states, MessageState& state) {
        state.timed = 0;
        --count_;
        if (state.timer_next != kNone) states[state.timer_next].timer_prev = state.timer_prev;
        if (state.timer_prev != kNone) {
            states[state.timer_prev].timer_next = state.timer_next;
            return;
        }
        const Place place = place_of(state.when);
        heads_[place.level][place.slot] = state.timer_next;
        if (state.timer_next == kNone) unmark(place);
    }

    // The first deadline, or a time before it at which take_due moves on; kNever: none.
    Time next() const {
        if (used_levels_ == 0) return kNever;
        const auto level = static_cast<unsigned>(std::countr_zero(used_levels_));
        return slot_start({level, static_cast<unsigned>(std::countr_zero(used_slots_[level]))});
    }

    // Moves the time to next(), which must not lie behind `limit`, and appends what is due exactly then to
    // `due`, in no particular order. False: nothing more up to `limit`, which is the wheel's time now.
    bool take_due(StateSlab& states, Time limit, std::vector<std::uint32_t>& due) {
        const Time start = next();
        if (start > limit) {
            if (limit > time_) time_ = limit;
            return false;
        }
        const auto level = static_cast<unsigned>(std::countr_zero(used_levels_));
        const Place place{level, static_cast<unsigned>(std::countr_zero(used_slots_[level]))};
        std::uint32_t index = heads_[place.level][place.slot];
        heads_[place.level][place.slot] = kNone;
        unmark(place);
        time_ = start;
        while (index != kNone) {
            MessageState& state = states[index];
            const std::uint32_t following = state.timer_next;
            if (state.when == start) {
                state.timed = 0;
                --count_;
                due.push_back(index);
            } else {
                link(states, state, index);
            }
            index = following;
        }
        return true;
    }

    std::uint32_t count() const { return count_; }

 private:
    static constexpr unsigned kBits = 6;
    static constexpr unsigned kLevels = 11;  // 66 bits

    struct Place {
        unsigned level;
        unsigned slot;
    };

    [[gnu::always_inline]] Place place_of(Time deadline) const {
        const auto value = static_cast<std::uint64_t>(deadline);
        const std::uint64_t differing = value ^ static_cast<std::uint64_t>(time_);
        const unsigned level = (static_cast<unsigned>(std::bit_width(differing | 1)) - 1) / kBits;
        return {level, static_cast<unsigned>(value >> (level * kBits)) & 63u};
    }

    Time slot_start(Place place) const {
        const unsigned shift = place.level * kBits;
        const std::uint64_t above = ~std::uint64_t{0} << (shift + kBits >= 64 ? 63 : shift + kBits);
        const std::uint64_t kept = static_cast<std::uint64_t>(time_) & (shift + kBits >= 64 ? 0 : above);
        return static_cast<Time>(kept | (static_cast<std::uint64_t>(place.slot) << shift));
    }

    [[gnu::always_inline]] void link(StateSlab& states, MessageState& state, std::uint32_t index) {
        const Place place = place_of(state.when);
        std::uint32_t& head = heads_[place.level][place.slot];
        state.timer_prev = kNone;
        state.timer_next = head;
        if (head != kNone) states[head].timer_prev = index;
        head = index;
        used_slots_[place.level] |= std::uint64_t{1} << place.slot;
        used_levels_ |= 1u << place.level;
    }

    [[gnu::always_inline]] void unmark(Place place) {
        used_slots_[place.level] &= ~(std::uint64_t{1} << place.slot);
        if (used_slots_[place.level] == 0) used_levels_ &= ~(1u << place.level);
    }

    Time time_ = 0;
    std::uint32_t used_levels_ = 0;
    std::uint32_t count_ = 0;
    std::array<std::uint64_t, kLevels> used_slots_{};
    std::array<std::array<std::uint32_t, 64>, kLevels> heads_;
};

}  // namespace pinnace
