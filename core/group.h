// SPDX-License-Identifier: Apache-2.0
// Group: the messages of one group of a fifo queue, and whether it may be served (F2-F4).
//
// 1. Its messages are a list by position through link_a and link_b, leased ones included.
// 2. `leased` of them are leased, all to `holder`; then the group is in the holder's list of groups.
// 3. A group is in a ready tree exactly if its first unleased message is due and nobody holds it (sticky: or
//    its holder may get more). The key is the instant at which it became ready, then the position of its
//    first message at that time. Cost of one group never depends on what waits in others (F5).
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "core/ordered_tree.h"
#include "core/slab.h"
#include "core/types.h"

namespace pinnace {

struct GroupText {
    char bytes[96];
    std::uint32_t link;
    std::uint32_t& slab_link() { return link; }
};
using GroupTextSlab = Slab<GroupText, 6>;

struct Group {
    std::uint64_t ready_instant;
    Position ready_position;
    Position leased_until;  // no message behind it was leased since the group was last resolved
    std::uint32_t head, tail;
    std::uint32_t leased;
    std::uint32_t next;  // in its bucket
    std::uint32_t left, right;
    std::uint32_t held_prev, held_next;
    std::uint32_t holder;       // slot of the subscription; kNone: nobody
    std::uint32_t ready_class;  // whose tree it is in; kNone: none; kStickyClass: the queue's sticky tree
    std::uint32_t more;         // the id's rest, if it is long
    std::uint8_t id_size;
    char id[31];

    std::uint32_t& slab_link() { return next; }
};
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

// Ids to groups of one queue: buckets of chains, doubled as it grows.
class GroupTable {
 public:
    // kNone: there is none of that id.
    std::uint32_t find(const GroupSlab& groups, const GroupTextSlab& texts, std::string_view id) const {
        if (buckets_.empty()) return kNone;
        std::uint32_t at = buckets_[hash(id) & (buckets_.size() - 1)];
        while (at != kNone && !same(groups[at], texts, id)) at = groups[at].next;
        return at;
    }
    std::uint32_t add(GroupSlab& groups, GroupTextSlab& texts, std::string_view id) {
        if (count_ >= buckets_.size()) grow(groups, texts);
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
        std::uint32_t& bucket = buckets_[hash(id) & (buckets_.size() - 1)];
        group.next = bucket;
        bucket = index;
        ++count_;
        return index;
    }
    void remove(GroupSlab& groups, GroupTextSlab& texts, std::uint32_t index) {
        char buffer[128];
        std::uint32_t* link = &buckets_[hash(id_of(groups[index], texts, buffer)) & (buckets_.size() - 1)];
        while (*link != index) link = &groups[*link].next;
        *link = groups[index].next;
        if (groups[index].more != kNone) texts.free(groups[index].more);
        groups.free(index);
        --count_;
    }
    static std::string_view id_of(const Group& group, const GroupTextSlab& texts, char (&buffer)[128]) {
        const std::size_t inside = group.id_size < sizeof group.id ? group.id_size : sizeof group.id;
        std::memcpy(buffer, group.id, inside);
        if (group.more != kNone)
            std::memcpy(buffer + inside, texts[group.more].bytes, group.id_size - inside);
        return {buffer, group.id_size};
    }
    std::size_t byte_count() const { return buckets_.size() * sizeof(std::uint32_t); }

 private:
    static std::uint64_t hash(std::string_view id) {
        std::uint64_t value = 0xcbf29ce484222325u;
        for (const char c : id) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
        return value ^ value >> 29;
    }
    static bool same(const Group& group, const GroupTextSlab& texts, std::string_view id) {
        if (group.id_size != id.size()) return false;
        const std::size_t inside = id.size() < sizeof group.id ? id.size() : sizeof group.id;
        return std::memcmp(group.id, id.data(), inside) == 0 &&
               (group.more == kNone ||
                std::memcmp(texts[group.more].bytes, id.data() + inside, id.size() - inside) == 0);
    }
    void grow(GroupSlab& groups, const GroupTextSlab& texts) {
        std::vector<std::uint32_t> former(buckets_.empty() ? 64 : buckets_.size() * 2, kNone);
        former.swap(buckets_);
        for (std::uint32_t at : former)
            while (at != kNone) {
                const std::uint32_t next = groups[at].next;
                char buffer[128];
                std::uint32_t& bucket =
                    buckets_[hash(id_of(groups[at], texts, buffer)) & (buckets_.size() - 1)];
                groups[at].next = bucket;
                bucket = at;
                at = next;
            }
    }

    std::vector<std::uint32_t> buckets_;
    std::size_t count_ = 0;
};

}  // namespace pinnace
