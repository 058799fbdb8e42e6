// SPDX-License-Identifier: Apache-2.0
// Group: the messages of one group of a fifo queue, and whether it may be served (F2-F4).
//
// 1. Its messages are a list by position through link_a and link_b, leased ones included.
// 2. `leased` of them are leased, all to `holder`; then the group is in the holder's list of groups.
// 3. A group is ready exactly if its first unleased message is due and nobody holds it (sticky: or
//    its holder may get more). The key is the instant at which it became ready, then the position of its
//    first message at that time. Cost of one group never depends on what waits in others (F5).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "core/message_state.h"
#include "core/ordered_tree.h"
#include "core/record_codec.h"
#include "core/slab.h"
#include "core/types.h"

namespace pinnace {

struct GroupText {
    char bytes[96];
    std::uint32_t link;
    std::uint32_t& slab_link() { return link; }
};
using GroupTextSlab = Slab<GroupText, 6>;

// The first line has all that a publish looks at.
struct alignas(64) Group {
    std::uint32_t head, tail;
    std::uint32_t leased;
    std::uint32_t ready_class;  // where it is ready; kNone: it is not; kStickyClass: the queue's sticky tree
    std::uint32_t more;         // the id's rest, if it is long
    std::uint8_t id_size;
    char id[43];

    std::uint64_t ready_instant;
    Position ready_position;
    Position leased_until;      // no message behind it was leased since the group was last resolved
    std::uint32_t left, right;  // in a tree; in a list the ones before and behind it
    std::uint32_t is_late;      // it is in the tree of its class, not in the list
    std::uint32_t held_prev, held_next;
    std::uint32_t holder;  // slot of the subscription; kNone: nobody

    std::uint32_t& slab_link() { return more; }
};
static_assert(sizeof(Group) == 128 && offsetof(Group, ready_instant) == 64);
static_assert(sizeof Group::id + sizeof GroupText::bytes >= kGroupSizeMax);
using GroupSlab = Slab<Group, 10>;
inline constexpr std::uint32_t kStickyClass = kNone - 1;

struct GroupsByReadiness {
    GroupSlab& groups;
    std::uint32_t& left(std::uint32_t i) const { return groups[i].left; }
    std::uint32_t& right(std::uint32_t i) const { return groups[i].right; }
    bool less(std::uint32_t a, std::uint32_t b) const {
        const Group& x = groups[a];
        const Group& y = groups[b];
        return x.ready_instant != y.ready_instant ? x.ready_instant < y.ready_instant
                                                  : x.ready_position < y.ready_position;
    }
    std::uint32_t weight(std::uint32_t i) const {
        return tree_weight(groups[i].ready_position + (groups[i].ready_instant << 32));
    }
};
using ReadyTree = OrderedTree<GroupsByReadiness>;

// The ready groups of a class, in order: a list, since nearly every group is the newest one when it becomes
// ready, and a tree of those whose place is in between.
class ReadyGroups {
 public:
    void insert(GroupSlab& groups, std::uint32_t index) {
        Group& group = groups[index];
        group.is_late = last_ != kNone && GroupsByReadiness{groups}.less(index, last_) ? 1 : 0;
        if (group.is_late) return ReadyTree::insert({groups}, late_, index);
        group.left = last_;
        group.right = kNone;
        (last_ == kNone ? first_ : groups[last_].right) = index;
        last_ = index;
    }
    void erase(GroupSlab& groups, std::uint32_t index) {
        const Group& group = groups[index];
        if (group.is_late) return ReadyTree::erase({groups}, late_, index);
        (group.left == kNone ? first_ : groups[group.left].right) = group.right;
        (group.right == kNone ? last_ : groups[group.right].left) = group.left;
    }
    // kNone: there is none.
    std::uint32_t first(GroupSlab& groups) const {
        if (late_ == kNone) return first_;
        const std::uint32_t late = ReadyTree::first({groups}, late_);
        return first_ == kNone || GroupsByReadiness{groups}.less(late, first_) ? late : first_;
    }

 private:
    std::uint32_t first_ = kNone;
    std::uint32_t last_ = kNone;
    std::uint32_t late_ = kNone;  // root
};

// Ids to groups of one queue: open addressing, at most three quarters full. An entry has the hash beside the
// index, so that a publish looks at its own group alone.
class GroupTable {
 public:
    // kNone: there is none of that id.
    std::uint32_t find(const GroupSlab& groups, const GroupTextSlab& texts, std::string_view id) const {
        if (entries_.empty()) return kNone;
        const std::uint32_t wanted = hash(id);
        for (std::size_t at = wanted & mask();; at = (at + 1) & mask()) {
            const Entry& entry = entries_[at];
            if (entry.index == kNone) return kNone;
            if (entry.hash == wanted && same(groups[entry.index], texts, id)) return entry.index;
        }
    }
    // A message of that group comes soon. Each step fetches what the next one reads.
    void expect_entry(std::string_view id) const {
        if (!entries_.empty()) __builtin_prefetch(&entries_[hash(id) & mask()]);
    }
    void expect_group(const GroupSlab& groups, std::string_view id) const {
        if (const std::uint32_t index = likely(id); index != kNone) __builtin_prefetch(&groups[index]);
    }
    void expect_tail(const GroupSlab& groups, const StateSlab& states, std::string_view id) const {
        const std::uint32_t index = likely(id);
        if (index != kNone) __builtin_prefetch(&states[groups[index].tail].link_b, 1);
    }
    std::uint32_t add(GroupSlab& groups, GroupTextSlab& texts, std::string_view id) {
        if (count_ * 4 >= entries_.size() * 3) grow();
        const std::uint32_t index = groups.allocate();
        Group& group = groups[index];
        group = {};
        group.head = group.tail = group.holder = group.ready_class = group.more = kNone;
        group.held_prev = group.held_next = kNone;
        group.id_size = static_cast<std::uint8_t>(id.size());
        const std::size_t inside = id.size() < sizeof group.id ? id.size() : sizeof group.id;
        std::memcpy(group.id, id.data(), inside);
        if (inside < id.size()) {
            group.more = texts.allocate();
            std::memcpy(texts[group.more].bytes, id.data() + inside, id.size() - inside);
        }
        put({hash(id), index});
        ++count_;
        return index;
    }
    void remove(GroupSlab& groups, GroupTextSlab& texts, std::uint32_t index) {
        char buffer[kGroupSizeMax];
        std::size_t hole = hash(id_of(groups[index], texts, buffer)) & mask();
        while (entries_[hole].index != index) hole = (hole + 1) & mask();
        // Those behind it that would not be found over the hole move into it.
        for (std::size_t at = hole;;) {
            at = (at + 1) & mask();
            if (entries_[at].index == kNone) break;
            const std::size_t distance = (at - entries_[at].hash) & mask();
            if (distance < ((at - hole) & mask())) continue;
            entries_[hole] = entries_[at];
            hole = at;
        }
        entries_[hole].index = kNone;
        if (groups[index].more != kNone) texts.free(groups[index].more);
        groups.free(index);
        --count_;
    }
    static std::string_view id_of(const Group& group, const GroupTextSlab& texts,
                                  char (&buffer)[kGroupSizeMax]) {
        const std::size_t inside = group.id_size < sizeof group.id ? group.id_size : sizeof group.id;
        std::memcpy(buffer, group.id, inside);
        if (group.more != kNone)
            std::memcpy(buffer + inside, texts[group.more].bytes, group.id_size - inside);
        return {buffer, group.id_size};
    }
    std::size_t byte_count() const { return entries_.size() * sizeof(Entry); }

 private:
    struct Entry {
        std::uint32_t hash;
        std::uint32_t index;  // kNone: the entry is free
    };

    std::size_t mask() const { return entries_.size() - 1; }
    // Eight bytes at a time; the length tells those apart that differ in zeros behind.
    static std::uint32_t hash(std::string_view id) {
        std::uint64_t value = id.size();
        for (std::size_t at = 0; at < id.size(); at += sizeof(std::uint64_t)) {
            std::uint64_t word = 0;
            std::memcpy(&word, id.data() + at, std::min(sizeof word, id.size() - at));
            value = (value ^ word) * 0x9e3779b97f4a7c15u;
            value ^= value >> 32;
        }
        return static_cast<std::uint32_t>(value * 0xbf58476d1ce4e5b9u >> 32);
    }
    // The first one of that hash, unless others lie before it; kNone: perhaps it is elsewhere.
    std::uint32_t likely(std::string_view id) const {
        if (entries_.empty()) return kNone;
        const std::uint32_t wanted = hash(id);
        const Entry& entry = entries_[wanted & mask()];
        return entry.hash == wanted ? entry.index : kNone;
    }
    static bool same(const Group& group, const GroupTextSlab& texts, std::string_view id) {
        if (group.id_size != id.size()) return false;
        const std::size_t inside = id.size() < sizeof group.id ? id.size() : sizeof group.id;
        return std::memcmp(group.id, id.data(), inside) == 0 &&
               (group.more == kNone ||
                std::memcmp(texts[group.more].bytes, id.data() + inside, id.size() - inside) == 0);
    }
    void put(Entry entry) {
        std::size_t at = entry.hash & mask();
        while (entries_[at].index != kNone) at = (at + 1) & mask();
        entries_[at] = entry;
    }
    void grow() {
        std::vector<Entry> former(entries_.empty() ? 64 : entries_.size() * 2, Entry{0, kNone});
        former.swap(entries_);
        for (const Entry& entry : former)
            if (entry.index != kNone) put(entry);
    }

    std::vector<Entry> entries_;
    std::size_t count_ = 0;
};

}  // namespace pinnace
