// SPDX-License-Identifier: Apache-2.0
#include "core/directory.h"

#include <array>

namespace pinnace {

std::uint32_t Directory::find(const BlockSlab& blocks, const StateSlab& states, Position position) const {
    std::uint32_t found = kNone;
    for (std::uint32_t index = root_; index != kNone;) {
        if (blocks[index].first <= position) {
            found = index;
            index = blocks[index].right;
        } else {
            index = blocks[index].left;
        }
    }
    if (found == kNone) return kNone;
    std::array<std::uint8_t, 64> slots;
    std::uint32_t count = 0;
    for (std::uint64_t rest = blocks[found].live; rest != 0; rest &= rest - 1)
        slots[count++] = static_cast<std::uint8_t>(std::countr_zero(rest));
    std::uint32_t low = 0;
    for (std::uint32_t high = count; low < high;) {
        const std::uint32_t middle = (low + high) / 2;
        if (states[blocks[found].handles[slots[middle]]].position < position) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == count) return kNone;
    const std::uint32_t handle = blocks[found].handles[slots[low]];
    return states[handle].position == position ? handle : kNone;
}

void Directory::add_block(BlockSlab& blocks, Position first) {
    const std::uint32_t old_tail = tail_;
    const std::uint32_t index = blocks.allocate();
    DirectoryBlock& block = blocks[index];
    block.live = 0;
    block.first = first;
    block.prev = old_tail;
    block.next = kNone;
    block.used = 0;
    block.live_count = 0;
    (old_tail == kNone ? head_ : blocks[old_tail].next) = index;
    tail_ = index;
    Tree::insert(Nodes{blocks}, root_, index);
    // It was kept for new messages only.
    if (old_tail != kNone && blocks[old_tail].live_count == 0) remove_block(blocks, old_tail);
}

void Directory::tidy(BlockSlab& blocks, StateSlab& states, std::uint32_t index) {
    const DirectoryBlock& block = blocks[index];
    if (block.live_count == 0) {
        remove_block(blocks, index);
    } else if (block.next != tail_ && blocks[block.next].live_count <= kSparse) {
        join(blocks, states, index);
    } else if (block.prev != kNone && blocks[block.prev].live_count <= kSparse) {
        join(blocks, states, block.prev);
    }
}

void Directory::remove_block(BlockSlab& blocks, std::uint32_t index) {
    Tree::erase(Nodes{blocks}, root_, index);
    const DirectoryBlock& block = blocks[index];
    (block.prev == kNone ? head_ : blocks[block.prev].next) = block.next;
    (block.next == kNone ? tail_ : blocks[block.next].prev) = block.prev;
    blocks.free(index);
}

// Joins a block with the next one.
void Directory::join(BlockSlab& blocks, StateSlab& states, std::uint32_t index) {
    DirectoryBlock& block = blocks[index];
    std::uint32_t count = 0;
    std::array<std::uint32_t, 64> handles;
    for (const std::uint32_t from : {index, block.next})
        for (std::uint64_t rest = blocks[from].live; rest != 0; rest &= rest - 1)
            handles[count++] = blocks[from].handles[std::countr_zero(rest)];
    remove_block(blocks, block.next);
    block.used = block.live_count = static_cast<std::uint16_t>(count);
    block.live = (std::uint64_t{1} << count) - 1;
    for (std::uint32_t slot = 0; slot < count; ++slot) {
        block.handles[slot] = handles[slot];
        states[handles[slot]].place = index << 6 | slot;
    }
}

}  // namespace pinnace
