// SPDX-License-Identifier: Apache-2.0
// OrderedTree: records of a slab in order, through two link fields in them: a treap.
//
// 1. In order of `less` from left to right; no two nodes are equal.
// 2. No node weighs more than its parent. Weights are a hash of the key, so that the shape follows from the
//    content alone: no randomness, no balance to store, and no allocation.
// All operations take the logarithm of the size. A node is found by its key from the root, so that two links
// are enough.
#pragma once

#include <cstdint>

#include "core/check.h"
#include "core/types.h"

namespace pinnace {

// A weight for rule 2 out of a key.
inline std::uint32_t tree_weight(std::uint64_t key) {
    key *= 0x9e3779b97f4a7c15u;
    key ^= key >> 29;
    key *= 0xbf58476d1ce4e5b9u;
    return static_cast<std::uint32_t>(key >> 32);
}

// Nodes: left(i) and right(i) give references to links, less(a, b) the order, weight(i) the weight.
template <class Nodes>
class OrderedTree {
 public:
    static void insert(Nodes nodes, std::uint32_t& root, std::uint32_t node) {
        std::uint32_t* link = &root;
        const std::uint32_t weight = nodes.weight(node);
        while (*link != kNone && nodes.weight(*link) >= weight)
            link = nodes.less(node, *link) ? &nodes.left(*link) : &nodes.right(*link);
        std::uint32_t rest = *link;
        *link = node;
        std::uint32_t* smaller = &nodes.left(node);
        std::uint32_t* larger = &nodes.right(node);
        while (rest != kNone) {
            if (nodes.less(rest, node)) {
                *smaller = rest;
                smaller = &nodes.right(rest);
                rest = *smaller;
            } else {
                *larger = rest;
                larger = &nodes.left(rest);
                rest = *larger;
            }
        }
        *smaller = kNone;
        *larger = kNone;
    }

    static void erase(Nodes nodes, std::uint32_t& root, std::uint32_t node) {
        std::uint32_t* link = &root;
        while (*link != node) {
            PINNACE_CHECK(*link != kNone);
            link = nodes.less(node, *link) ? &nodes.left(*link) : &nodes.right(*link);
        }
        std::uint32_t smaller = nodes.left(node);
        std::uint32_t larger = nodes.right(node);
        while (smaller != kNone && larger != kNone) {
            if (nodes.weight(smaller) >= nodes.weight(larger)) {
                *link = smaller;
                link = &nodes.right(smaller);
                smaller = *link;
            } else {
                *link = larger;
                link = &nodes.left(larger);
                larger = *link;
            }
        }
        *link = smaller != kNone ? smaller : larger;
    }

    static std::uint32_t first(Nodes nodes, std::uint32_t root) {
        if (root == kNone) return kNone;
        while (nodes.left(root) != kNone) root = nodes.left(root);
        return root;
    }

    // In order, until `visit` says false. Goes as deep as the tree.
    template <class Visit>
    static bool for_each(Nodes nodes, std::uint32_t root, Visit& visit) {
        if (root == kNone) return true;
        return for_each(nodes, nodes.left(root), visit) && visit(root) &&
               for_each(nodes, nodes.right(root), visit);
    }
};

}  // namespace pinnace
