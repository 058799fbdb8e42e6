// SPDX-License-Identifier: Apache-2.0
// RoomTree: the subscriptions of one queue that share a filter, in order of subscribing, and which of them is
// served next (D6). A tournament over keys: the smallest wins, and of equal ones the earliest subscribed.
//
// 1. A key is kNoRoom, or (proportional) outstanding / limit, or 0 (fast, round-robin).
//    The quotient of whole numbers below 2^26 is exact enough as a double: different ones differ, equal ones
//    are equal, the order is kept.
// 2. Places follow the order of subscribing. Only subscribing and ending renew them.
// 3. Up to kFlatCount members there is no tournament: looking at each is less work.
// Changing a key and asking cost the logarithm of the count, so that idle subscriptions cost nothing (D11).
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/types.h"

namespace pinnace {

class RoomTree {
 public:
    static constexpr double kNoRoom = std::numeric_limits<double>::infinity();

    struct Member {
        std::uint32_t slot = kNone;  // of the subscription
        std::uint64_t order = 0;     // of subscribing
        double key = kNoRoom;
    };

    bool empty() const { return members_.empty(); }
    const std::vector<Member>& members() const { return members_; }

    // Places of all members may change; the caller renews what it keeps of them.
    void insert(std::uint32_t slot, std::uint64_t order) {
        auto at = members_.begin();
        while (at != members_.end() && at->order < order) ++at;
        members_.insert(at, Member{slot, order, kNoRoom});
        rebuild();
    }
    void erase(std::uint32_t place) {
        members_.erase(members_.begin() + place);
        rebuild();
    }

    [[gnu::always_inline]] void set(std::uint32_t place, double key) {
        members_[place].key = key;
        if (flat_) return;
        replay(place);
    }

    // The place of the smallest key, or kNone if nobody has room.
    std::uint32_t best() const {
        if (flat_) return best_of_few();
        const std::uint32_t place = winner(1);
        return members_[place].key == kNoRoom ? kNone : place;
    }

    // Its subscription, or kNone.
    [[gnu::always_inline]] std::uint32_t best_slot() const {
        const std::uint32_t place = best();
        return place == kNone ? kNone : members_[place].slot;
    }

    // The first place with room whose order is above `order`, or kNone. Keys are 0 or kNoRoom.
    std::uint32_t next_after(std::uint64_t order) const {
        std::uint32_t low = 0;
        for (std::uint32_t high = static_cast<std::uint32_t>(members_.size()); low < high;) {
            const std::uint32_t middle = (low + high) / 2;
            if (members_[middle].order <= order) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        if (low == members_.size()) return kNone;
        if (members_[low].key != kNoRoom) return low;
        if (flat_) {
            while (++low < members_.size())
                if (members_[low].key != kNoRoom) return low;
            return kNone;
        }
        for (std::uint32_t node = leaf_count_ + low; node > 1; node >>= 1) {
            if (node & 1) continue;
            const std::uint32_t place = winner(node + 1);
            if (place < members_.size() && members_[place].key != kNoRoom) return place;
        }
        return kNone;
    }

 private:
    static constexpr std::size_t kFlatCount = 6;

    std::uint32_t best_of_few() const {
        const Member* best = nullptr;
        double least = kNoRoom;
        for (const Member& member : members_) {
            if (member.key >= least) continue;
            least = member.key;
            best = &member;
            if (least == 0) break;  // nobody can have less
        }
        return best == nullptr ? kNone : static_cast<std::uint32_t>(best - members_.data());
    }

    // The winning place below a node; beyond the members if there is none.
    std::uint32_t winner(std::uint32_t node) const {
        return node >= leaf_count_ ? node - leaf_count_ : winners_[node];
    }
    void play(std::uint32_t node) {
        const std::uint32_t left = winner(2 * node);
        const std::uint32_t right = winner(2 * node + 1);
        const bool take_right = right < members_.size() && members_[right].key < members_[left].key;
        winners_[node] = take_right ? right : left;
    }
    void replay(std::uint32_t place) {
        for (std::uint32_t node = (leaf_count_ + place) >> 1; node != 0; node >>= 1) play(node);
    }
    void rebuild() {
        flat_ = members_.size() <= kFlatCount;
        leaf_count_ = std::bit_ceil(static_cast<std::uint32_t>(members_.size() | 1));
        winners_.assign(leaf_count_, 0);
        for (std::uint32_t node = leaf_count_ - 1; node != 0; --node) {
            if (winner(2 * node) >= members_.size()) {
                winners_[node] = static_cast<std::uint32_t>(members_.size());
            } else {
                play(node);
            }
        }
    }

    std::vector<Member> members_;
    std::vector<std::uint32_t> winners_;
    std::uint32_t leaf_count_ = 1;
    bool flat_ = true;
};

}  // namespace pinnace
