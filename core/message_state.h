// SPDX-License-Identifier: Apache-2.0
// MessageState: what a queue knows of one of its messages. One record a message and queue, in a slab; all
// indexes are links in it, but for the directory (core/directory.h). 80 bytes, since D11 counts them.
#pragma once

#include <cstdint>
#include <type_traits>

#include "core/slab.h"
#include "core/types.h"

namespace pinnace {

// Where a message is. Each one has its way out (core/leaving.cpp).
enum class Stage : std::uint8_t {
    free = 0,     // no message
    entering,     // its record must be durable first (rule 11)
    delayed,      // not due yet (DL1)
    fresh,        // available, in the list of its lane
    returned,     // available, in the tree of its lane
    grouped,      // in a group that decides (F)
    barrier,      // waits for all earlier ones (B1)
    handing,      // leased, but to be handed over only once a record is durable (M1, X6)
    leased,       // with its holder
    outstanding,  // at most once: handed over, not yet acknowledged (M2)
};

inline bool is_available(Stage stage) { return stage == Stage::fresh || stage == Stage::returned; }
inline bool is_leased(Stage stage) { return stage == Stage::handing || stage == Stage::leased; }

struct MessageState {
    Position position;         // 0 while it is free
    std::uint64_t log;         // LogPosition::bits of the body
    Time published;            // engine time of the publish, or of the move
    Time when;                 // deadline of the timer, if `timed`; else the due time of a delayed one
    std::uint64_t lease : 40;  // counter of the current lease; at most once, before: the ordinal
    std::uint64_t deliveries : 24;
    std::uint32_t size;  // of the body
    std::uint32_t place;
    std::uint32_t link_a;  // lane's list or tree, or the holder's list, as the stage says
    std::uint32_t link_b;
    std::uint32_t timer_prev;
    std::uint32_t timer_next;
    SubscriptionId holder;  // who has it, or had it last (D10); kNone: nobody
    std::uint32_t lane;
    std::uint32_t extra;       // index of its MessageExtra, or kNone; `group_only`: of its group
    std::uint32_t route : 17;  // its topic and queue
    std::uint32_t stage_bits : 4;
    std::uint32_t untaken : 4;      // returns in a row that the client had not taken (L11)
    std::uint32_t timed : 1;        // its timer is in the wheel
    std::uint32_t purged : 1;       // leaves instead of returning (A5)
    std::uint32_t cold : 1;         // the delivery waits for its body (D12)
    std::uint32_t recovered : 1;    // from a life that ended uncleanly (X6)
    std::uint32_t barrier : 1;      // B1
    std::uint32_t handed_over : 1;  // at most once: its ordinal is below what was handed over
    std::uint32_t group_only : 1;   // it has a group, and nothing else that only some have

    Stage stage() const { return static_cast<Stage>(stage_bits); }
    void set_stage(Stage stage) { stage_bits = static_cast<std::uint32_t>(stage) & 0xf; }
    std::uint32_t& slab_link() { return link_a; }
};
static_assert(sizeof(MessageState) == 80 && std::is_trivial_v<MessageState>);

inline constexpr std::uint32_t kRouteCountMax = 1u << 17;
inline constexpr std::uint64_t kDeliveriesMax = (1u << 24) - 1;
inline constexpr std::uint32_t kUntakenMax = 10;  // L11: more in a row count

// What only some messages have.
struct MessageExtra {
    Time expiry;      // kNever: none
    Time due;         // of a delayed one; while it is leased: the period, if a renewal changed it, else 0
    Position origin;  // of the record with the body, if it was moved; 0: its own
    std::uint32_t cancels;
    std::uint32_t group;  // kNone: none

    std::uint32_t& slab_link() { return group; }
};

using StateSlab = Slab<MessageState>;
using ExtraSlab = Slab<MessageExtra, 12>;

}  // namespace pinnace
