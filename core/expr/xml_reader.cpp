// SPDX-License-Identifier: Apache-2.0
// Reads XML with pugixml, which is more lenient than the standard; what it lets pass and we know of is
// checked here: one root element, no text beside it, known entities only, no attribute twice, the depth.
//
// The path's first step is the root element. An element without elements in it is its text; one with
// elements is NULL, as an object is. Attributes are steps that begin with @. An element that comes several
// times is an array. Memory: pugixml allocates pages for the tree.
#include <algorithm>
#include <cstring>
#include <memory>
#include <pugixml.hpp>
#include <string>

#include "core/expr/readers.h"
#include "core/expr/text_value.h"
#include "core/expr/walk.h"

namespace pinnace::expr {
namespace {

bool is_entity(std::string_view name) {
    for (const std::string_view known : {"amp", "lt", "gt", "quot", "apos"}) {
        if (name == known) return true;
    }
    if (!name.starts_with('#')) return false;
    const bool is_hex = name.starts_with("#x");
    const std::string_view digits = name.substr(is_hex ? 2 : 1);
    const std::string_view allowed = is_hex ? "0123456789abcdefABCDEF" : "0123456789";
    return !digits.empty() && digits.size() <= 7 &&
           digits.find_first_not_of(allowed) == std::string_view::npos;
}

// Whether every `&` begins an entity that needs no definition, outside of comments, CDATA and instructions.
bool has_known_entities_only(std::string_view text) {
    struct Quiet {
        std::string_view begin;
        std::string_view end;
    };
    static constexpr Quiet kQuiet[] = {{"<!--", "-->"}, {"<![CDATA[", "]]>"}, {"<?", "?>"}};
    for (std::size_t at = text.find_first_of("&<"); at != std::string_view::npos;
         at = text.find_first_of("&<", at)) {
        std::size_t next = at + 1;
        if (text[at] == '&') {
            const std::size_t end = text.find(';', at);
            if (end == std::string_view::npos || !is_entity(text.substr(at + 1, end - at - 1))) return false;
            next = end;
        }
        for (const Quiet& quiet : kQuiet) {
            if (!text.substr(at).starts_with(quiet.begin)) continue;
            const std::size_t end = text.find(quiet.end, at + quiet.begin.size());
            if (end == std::string_view::npos) return false;
            next = end;
        }
        at = next;
    }
    return true;
}

class XmlReader final : public MessageReader {
 public:
    bool read_fields(std::span<const std::byte> body, const FieldSet& set, FieldValues& values) override {
        values.reset(set);
        const std::string_view source(reinterpret_cast<const char*>(body.data()), body.size());
        // Text that follows the last tag is not in pugixml's tree, so it is looked for here.
        const std::size_t last = source.find_last_not_of(" \t\r\n");
        if (last == std::string_view::npos || source[last] != '>') return false;
        if (!has_known_entities_only(source)) return false;
        text_.assign(source);
        constexpr unsigned kOptions = pugi::parse_default | pugi::parse_fragment;
        if (!document_.load_buffer_inplace(text_.data(), text_.size(), kOptions, pugi::encoding_utf8))
            return false;
        const pugi::xml_node root = document_.first_child();
        if (root.type() != pugi::node_element || root.next_sibling() || !is_sound(root)) return false;

        joined_.clear();
        joined_.reserve(source.size());
        occurrences_.resize(set.member_count());
        visit_children(document_, set.root(), set, values);
        values.finish();
        return true;
    }

 private:
    struct Occurrence {
        pugi::xml_node parent;
        std::uint32_t count = 0;
    };

    // Depth and attributes of all elements.
    bool is_sound(pugi::xml_node root) {
        std::size_t depth = 1;
        for (pugi::xml_node node = root; node;) {
            if (depth > kMessageDepthMax || !has_distinct_attributes(node)) return false;
            if (const pugi::xml_node child = element_from(node.first_child())) {
                node = child;
                ++depth;
                continue;
            }
            while (node != root && !element_from(node.next_sibling())) {
                node = node.parent();
                --depth;
            }
            node = node == root ? pugi::xml_node() : element_from(node.next_sibling());
        }
        return true;
    }

    static pugi::xml_node element_from(pugi::xml_node node) {
        while (node && node.type() != pugi::node_element) node = node.next_sibling();
        return node;
    }

    bool has_distinct_attributes(pugi::xml_node node) {
        names_.clear();
        for (const pugi::xml_attribute attribute : node.attributes()) names_.emplace_back(attribute.name());
        std::sort(names_.begin(), names_.end());
        return std::adjacent_find(names_.begin(), names_.end()) == names_.end();
    }

    void visit_children(pugi::xml_node parent, const FieldNode& node, const FieldSet& set,
                        FieldValues& values) {
        if (node.members.empty()) return;
        for (const pugi::xml_attribute attribute : parent.attributes()) {
            attribute_name_.assign("@").append(attribute.name());
            const FieldNode::Member* const member = node.find(attribute_name_);
            if (member == nullptr) continue;
            const FieldNode& wanted = set.node(member->node);
            if (wanted.slot != FieldNode::kNoSlot) values.add(wanted.slot, value_of_text(attribute.value()));
        }
        for (pugi::xml_node child = element_from(parent.first_child()); child;
             child = element_from(child.next_sibling())) {
            const FieldNode::Member* const member = node.find(child.name());
            if (member == nullptr) continue;
            const FieldNode& wanted = set.node(member->node);
            visit(child, wanted, set, values);
            if (!wanted.elements.empty()) visit_occurrence(child, parent, *member, set, values);
        }
    }

    // The child is one of an array: those of its name under this parent.
    void visit_occurrence(pugi::xml_node child, pugi::xml_node parent, const FieldNode::Member& member,
                          const FieldSet& set, FieldValues& values) {
        Occurrence& occurrence = occurrences_[member.serial];
        if (occurrence.parent != parent) occurrence = {parent, 0};
        const std::uint32_t index = occurrence.count++;
        for (const FieldNode::Element& element : set.node(member.node).elements) {
            if (element.index == index) visit(child, set.node(element.node), set, values);
        }
    }

    void visit(pugi::xml_node element, const FieldNode& node, const FieldSet& set, FieldValues& values) {
        if (node.slot != FieldNode::kNoSlot) values.add(node.slot, text_of(element));
        visit_children(element, node, set, values);
    }

    // The text of an element; pieces around comments and CDATA are joined.
    Value text_of(pugi::xml_node element) {
        if (element_from(element.first_child())) return {};
        const pugi::xml_node first = element.first_child();
        if (!first || !first.next_sibling()) return value_of_text(first.value());
        const std::size_t begin = joined_.size();
        for (const pugi::xml_node piece : element.children()) joined_ += piece.value();
        return value_of_text(std::string_view(joined_).substr(begin));
    }

    pugi::xml_document document_;
    std::string text_;    // the body, which pugixml changes
    std::string joined_;  // texts of several pieces; never moves, since it has room for the whole body
    std::string attribute_name_;
    std::vector<std::string_view> names_;
    std::vector<Occurrence> occurrences_;  // by the member's serial number
};

}  // namespace

std::unique_ptr<MessageReader> make_xml_reader() { return std::make_unique<XmlReader>(); }

}  // namespace pinnace::expr
