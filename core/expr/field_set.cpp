// SPDX-License-Identifier: Apache-2.0
#include "core/expr/field_set.h"

#include <algorithm>

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
                nodes_[at].members.push_back({step.name, next, member_count_++});
            }
        }
        at = next;
    }
    nodes_[at].slot = slot;
    return slot;
}

void FieldValues::reset(const FieldSet& set) {
    const std::size_t count = set.slot_count();
    values_.resize(count);
    std::fill(values_.begin(), values_.end(), Value());
    if (counts_.size() < count) {
        counts_.resize(count);
        occurrences_.resize(count);
    }
    std::fill(counts_.begin(), counts_.end(), std::uint8_t{0});
    // Marks of former messages are below every number that this one's objects get.
    if (seen_.size() < set.member_count()) seen_.resize(set.member_count());
    repeated_.clear();
    is_well_formed_ = false;
}

void FieldValues::add(std::uint32_t slot, const Value& value) {
    if (counts_[slot] == 0) {
        counts_[slot] = 1;
        values_[slot] = value;
        return;
    }
    std::vector<Value>& occurrences = occurrences_[slot];
    if (counts_[slot] == 1) {
        counts_[slot] = 2;
        repeated_.push_back(slot);
        occurrences.clear();
        occurrences.push_back(values_[slot]);
    }
    occurrences.push_back(value);
}

void FieldValues::finish() {
    for (const std::uint32_t slot : repeated_) values_[slot] = Value::array(occurrences_[slot]);
    is_well_formed_ = true;
}

}  // namespace pinnace::expr
