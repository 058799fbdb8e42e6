// SPDX-License-Identifier: Apache-2.0
#include "core/expr/field_set.h"

#include <algorithm>

#include "core/expr/fixed_load.h"

namespace pinnace::expr {

FieldSet::FieldSet() : nodes_(1) {}

FieldSlot FieldSet::add(const Path& path) {
    const auto known = slots_.find(path.text());
    if (known != slots_.end()) return known->second;
    // One slot beyond the bound stands for all paths that have none: it is in no tree, so it stays NULL.
    const bool is_full = paths_.size() >= kFieldCountMax;
    const auto slot = static_cast<FieldSlot>(std::min(paths_.size(), kFieldCountMax));
    if (slot == paths_.size()) paths_.push_back(path);
    if (is_full) return slot;
    slots_.emplace(path.text(), slot);
    fixed_plan_ = {};

    std::uint32_t at = 0;
    for (const PathStep& step : path.steps) {
        std::uint32_t next = 0;  // the root is nobody's child
        if (step.is_index()) {
            for (const FieldNode::Element& element : nodes_[at].elements) {
                if (element.index == step.index) next = element.node;
            }
        } else if (const FieldNode::Member* member = nodes_[at].find(step.name)) {
            next = member->node;
        }
        if (next == 0) {
            next = static_cast<std::uint32_t>(nodes_.size());
            nodes_.emplace_back();
            if (step.is_index()) {
                nodes_[at].elements.push_back({step.index, next});
            } else {
                FieldNode& node = nodes_[at];
                node.sizes_ |= std::uint64_t{1} << (step.name.size() & 63);
                node.places_.emplace(step.name, static_cast<std::uint32_t>(node.members.size()));
                const auto place = static_cast<std::uint32_t>(node.members.size());
                node.members.push_back({head_of(step.name), step.name, next, member_count_++, place});
            }
        }
        at = next;
    }
    nodes_[at].slot = slot;
    find_leaves();
    return slot;
}

void FieldSet::find_leaves() {
    for (FieldNode& node : nodes_) {
        for (FieldNode::Member& member : node.members) {
            const FieldNode& next = nodes_[member.node];
            const bool is_leaf = next.members.empty() && next.elements.empty();
            member.leaf_slot = is_leaf ? next.slot : FieldNode::kNoSlot;
        }
    }
}

const FieldNode::Member* FieldNode::find_by_hash(std::string_view name) const {
    // Most names of a message are not wanted, and their size alone tells.
    if ((sizes_ >> (name.size() & 63) & 1) == 0) return nullptr;
    const auto found = places_.find(name);
    return found == places_.end() ? nullptr : &members[found->second];
}

void FieldValues::resize(const FieldSet& set) const {
    fixed_loads_.reset();
    values_.resize(set.slot_count());
    if (occurrences_.size() < set.slot_count()) occurrences_.resize(set.slot_count());
    // Marks of former messages are below every number that this one's objects get.
    if (seen_.size() < set.member_count()) seen_.resize(set.member_count());
}

void FieldValues::add_further(std::uint32_t slot, const Value& value) const {
    std::vector<Value>& occurrences = occurrences_[slot];
    if (!values_[slot].is_gathering()) {
        occurrences.clear();
        occurrences.push_back(values_[slot]);
        values_[slot] = Value::gathering();
        repeated_.push_back(slot);
    }
    occurrences.push_back(value);
}

void FieldValues::make_arrays() const {
    for (const std::uint32_t slot : repeated_) values_[slot] = Value::array(occurrences_[slot]);
}

void FieldValues::load_fixed() const {
    repeated_.clear();
    for (std::uint32_t slot = 0; slot < values_.size(); ++slot) {
        const FixedLoad& load = (*fixed_loads_)[slot];
        values_[slot] = load_element(fixed_body_, load, 0);
        if (load.is_text) continue;
        for (std::uint32_t i = 1; i < load.count; ++i) add_further(slot, load_element(fixed_body_, load, i));
    }
    make_arrays();
    fixed_body_ = nullptr;
}

}  // namespace pinnace::expr
