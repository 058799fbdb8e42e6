// SPDX-License-Identifier: Apache-2.0
// walk(): goes down a message and the tree of wanted fields together, the same for every nested format.
//
// A format gives a View, a cheap handle on one value of the message, with:
//   Shape look(Value* value)               scalar, object or array; of a scalar also its value
//   for_each_member(f)                     f(name, View) for each, in order, until it gives false; the
//                                          name is a text, or a FieldName where its head is at hand
//   for_each_element(f)                    likewise f(View)
// The message is known to be well-formed and no deeper than kMessageDepthMax.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/expr/field_set.h"
#include "core/expr/value.h"

namespace pinnace::expr {

inline constexpr std::size_t kMessageDepthMax = 128;  // deeper is malformed

enum class Shape : std::uint8_t { scalar, object, array };

template <class View>
class Walk {
 public:
    Walk(const FieldSet& set, FieldValues& values) : set_(set), values_(values) {}

    void visit(const View& view, const FieldNode& node) {
        Value value;
        const Shape shape = view.look(&value);
        if (shape == Shape::array) {
            visit_array(view, node);
            return;
        }
        // A path that ends at an object is NULL, but keeps its place among the elements of an array.
        if (node.slot != FieldNode::kNoSlot) values_.add(node.slot, value);
        if (shape == Shape::object && !node.members.empty()) visit_object(view, node);
        // What is no array is an array of one element.
        for (const FieldNode::Element& element : node.elements) {
            if (element.index == 0) visit(view, set_.node(element.node));
        }
    }

 private:
    static constexpr std::size_t kMarkCount = 64;

    void visit_object(const View& view, const FieldNode& node) {
        if (node.members.size() > kMarkCount) {
            visit_large_object(view, node);
            return;
        }
        std::uint64_t missing = ~std::uint64_t{0} >> (kMarkCount - node.members.size());
        view.for_each_member([&](const auto& name, const View& member_view) {
            const FieldNode::Member* const member = node.find(name);
            if (member == nullptr) return true;
            // Of a name that comes twice the first one counts.
            const std::uint64_t mark = std::uint64_t{1} << member->place;
            if ((missing & mark) == 0) return true;
            missing ^= mark;
            visit_member(member_view, *member);
            return missing != 0;
        });
    }

    // As visit_object(), for more members than a word has bits.
    void visit_large_object(const View& view, const FieldNode& node) {
        const std::uint64_t object = values_.next_object();
        view.for_each_member([&](const auto& name, const View& member_view) {
            const FieldNode::Member* const member = node.find(name);
            if (member == nullptr || !values_.mark(member->serial, object)) return true;
            visit_member(member_view, *member);
            return true;
        });
    }

    // Most fields are scalars at the end of their paths.
    void visit_member(const View& view, const FieldNode::Member& member) {
        Value value;
        if (member.leaf_slot != FieldNode::kNoSlot && view.look(&value) == Shape::scalar) {
            values_.add(member.leaf_slot, value);
        } else {
            visit(view, set_.node(member.node));
        }
    }

    void visit_array(const View& view, const FieldNode& node) {
        const bool wants_all = node.slot != FieldNode::kNoSlot || !node.members.empty();
        std::uint32_t index = 0;
        view.for_each_element([&](const View& element_view) {
            if (wants_all) visit_whole(element_view, node);
            for (const FieldNode::Element& element : node.elements) {
                if (element.index == index) visit(element_view, set_.node(element.node));
            }
            ++index;
            return true;
        });
        // An empty array is NULL, which keeps its place too.
        if (index == 0 && node.slot != FieldNode::kNoSlot) values_.add(node.slot, Value());
    }

    // As visit(), but for an element of an array: the node's indices were meant for the array itself.
    void visit_whole(const View& view, const FieldNode& node) {
        Value value;
        const Shape shape = view.look(&value);
        if (shape == Shape::array) {
            std::size_t count = 0;
            view.for_each_element([&](const View& element) {
                visit_whole(element, node);
                ++count;
                return true;
            });
            if (count == 0 && node.slot != FieldNode::kNoSlot) values_.add(node.slot, Value());
            return;
        }
        if (node.slot != FieldNode::kNoSlot) values_.add(node.slot, value);
        if (shape == Shape::object && !node.members.empty()) visit_object(view, node);
    }

    const FieldSet& set_;
    FieldValues& values_;
};

}  // namespace pinnace::expr
