// SPDX-License-Identifier: Apache-2.0
// Directory: all messages of one queue in order of position, leased ones included.
//
// Messages enter at the end, since positions grow; each one is a slot in a block of 64. A block's live slots
// are a bit mask, so that leaving is one bit. Blocks are chained in order, and in a tree by first position.
// 1. A block with no live slot is freed, but for the last one, which takes the next messages.
// 2. Two neighbours that are mostly empty are joined, so that the cost is bounded: about 5 bytes a message,
//    at worst 20.
// 3. `place` in a state is its block and slot; joining renews it.
// Entering and leaving cost the same at any depth, finding by position takes the logarithm of it.
#pragma once

#include <bit>
#include <cstdint>

#include "core/message_state.h"
#include "core/ordered_tree.h"
#include "core/slab.h"
#include "core/types.h"

namespace pinnace {

struct DirectoryBlock {
    std::uint64_t live;
    Position first;  // not above any position in it, and above all of the block before
    std::uint32_t prev, next;
    std::uint32_t left, right;
    std::uint16_t used;  // slots given out
    std::uint16_t live_count;
    std::uint32_t handles[64];

    std::uint32_t& slab_link() { return next; }
};
using BlockSlab = Slab<DirectoryBlock, 8>;

class Directory {
 public:
    [[gnu::always_inline]] void append(BlockSlab& blocks, MessageState& state, std::uint32_t handle) {
        if (tail_ == kNone || blocks[tail_].used == 64) add_block(blocks, state.position);
        DirectoryBlock& block = blocks[tail_];
        const std::uint32_t slot = block.used++;
        block.handles[slot] = handle;
        block.live |= std::uint64_t{1} << slot;
        ++block.live_count;
        state.place = tail_ << 6 | slot;
        ++count_;
    }

    [[gnu::always_inline]] void erase(BlockSlab& blocks, StateSlab& states, const MessageState& state) {
        const std::uint32_t place = state.place;
        const std::uint32_t index = place >> 6;
        DirectoryBlock& block = blocks[index];
        block.live &= ~(std::uint64_t{1} << (place & 63));
        --count_;
        if (--block.live_count <= kSparse && index != tail_) tidy(blocks, states, index);
    }

    // The message leaves soon: what erase() needs is on its way.
    static void expect_erase(const BlockSlab& blocks, const MessageState& state) {
        __builtin_prefetch(&blocks[state.place >> 6]);
    }

    // kNone: not in the queue.
    std::uint32_t find(const BlockSlab& blocks, const StateSlab& states, Position position) const;

    // The oldest one, or kNone.
    std::uint32_t first(const BlockSlab& blocks) const {
        for (std::uint32_t index = head_; index != kNone; index = blocks[index].next)
            if (blocks[index].live != 0) return blocks[index].handles[std::countr_zero(blocks[index].live)];
        return kNone;
    }

    // The newest one, or kNone.
    std::uint32_t last(const BlockSlab& blocks) const {
        for (std::uint32_t index = tail_; index != kNone; index = blocks[index].prev)
            if (blocks[index].live != 0)
                return blocks[index].handles[63 - std::countl_zero(blocks[index].live)];
        return kNone;
    }

    // In order, until `visit` says false. `visit` must not change the directory.
    template <class Visit>
    void for_each(const BlockSlab& blocks, Visit&& visit) const {
        for (std::uint32_t index = head_; index != kNone; index = blocks[index].next)
            for (std::uint64_t rest = blocks[index].live; rest != 0; rest &= rest - 1)
                if (!visit(blocks[index].handles[std::countr_zero(rest)])) return;
    }

    std::uint32_t count() const { return count_; }

 private:
    static constexpr std::uint32_t kSparse = 16;

    struct Nodes {
        BlockSlab& blocks;
        std::uint32_t& left(std::uint32_t i) const { return blocks[i].left; }
        std::uint32_t& right(std::uint32_t i) const { return blocks[i].right; }
        bool less(std::uint32_t a, std::uint32_t b) const { return blocks[a].first < blocks[b].first; }
        std::uint32_t weight(std::uint32_t i) const { return tree_weight(blocks[i].first); }
    };
    using Tree = OrderedTree<Nodes>;

    void add_block(BlockSlab& blocks, Position first);
    // What is done with a block in which little is left.
    void tidy(BlockSlab& blocks, StateSlab& states, std::uint32_t index);
    void remove_block(BlockSlab& blocks, std::uint32_t index);
    void join(BlockSlab& blocks, StateSlab& states, std::uint32_t index);

    std::uint32_t head_ = kNone;
    std::uint32_t tail_ = kNone;
    std::uint32_t root_ = kNone;
    std::uint32_t count_ = 0;
};

}  // namespace pinnace
