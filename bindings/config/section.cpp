// SPDX-License-Identifier: Apache-2.0
#include "bindings/config/section.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/config_parse.h"

namespace pinnace::config {

Section& Section::without_effect(std::initializer_list<std::string_view> names, std::string_view why) {
    for (const std::string_view name : names) {
        many(name, [this, why, first = true](pugi::xml_node element) mutable {
            if (first) document_.warn(element, std::string(why));
            first = false;
        });
    }
    return *this;
}

void Section::read(pugi::xml_node parent) {
    std::map<std::string_view, std::size_t> lines;  // of the first one of a name
    for (const pugi::xml_attribute attribute : parent.attributes()) {
        const std::string text = fmt::format("it has no attribute {}; take that out", attribute.name());
        unknown_ == Unknown::error ? document_.error(parent, text) : document_.warn(parent, text);
        break;
    }
    bool text_seen = false;
    for (const pugi::xml_node node : parent.children()) {
        if (node.type() != pugi::node_element) {
            if (node.type() != pugi::node_pcdata && node.type() != pugi::node_cdata) continue;
            const std::string text = "a text stands where only elements can; take it out";
            if (!text_seen)
                unknown_ == Unknown::error ? document_.error(parent, text) : document_.warn(parent, text);
            text_seen = true;
            continue;
        }
        const auto child = std::ranges::find(children_, std::string_view(node.name()), &Child::name);
        if (child == children_.end()) {
            report_unknown(node);
            continue;
        }
        const auto [first, is_first] = lines.emplace(child->name, document_.place(node).line);
        if (!is_first && !child->many) {
            document_.error(node, fmt::format("it is given twice, first in line {}; leave one of them out",
                                              first->second));
            continue;
        }
        child->read(node);
    }
}

void Section::report_unknown(pugi::xml_node node) {
    std::vector<std::string_view> names;
    for (const Child& child : children_) names.push_back(child.name);
    const std::string meant = suggestion(node.name(), names);
    if (unknown_ == Unknown::error) {
        document_.error(node,
                        fmt::format("there is no such element{}", meant.empty() ? "; take it out" : meant));
    } else {
        document_.warn(node, fmt::format("there is no such element, it is ignored{}", meant));
    }
}

Unknown unknown_in(pugi::xml_node element) {
    for (; element; element = element.parent()) {
        const std::string_view name = element.name();
        if (name == "SOW" || name == "Actions" || name == "TransactionLog") return Unknown::error;
    }
    return Unknown::warning;
}

namespace {

bool refuse(Document& document, pugi::xml_node element, const std::string& text, std::string_view expected) {
    document.error_at(document.text_place(element), element,
                      fmt::format("'{}': expected {}", text, expected));
    return false;
}

}  // namespace

bool read_text(Document& document, pugi::xml_node element, std::string& to) {
    to = document.text(element);
    if (!to.empty()) return true;
    document.error(element, "it is empty; give it a value or take it out");
    return false;
}

bool read_count(Document& document, pugi::xml_node element, std::uint64_t& to, std::uint64_t least,
                std::uint64_t most) {
    const std::string text = document.text(element);
    const auto count = parse_count(text);
    if (!count || *count < least || *count > most)
        return refuse(document, element, text, fmt::format("a whole number from {} to {}", least, most));
    to = *count;
    return true;
}

bool read_size(Document& document, pugi::xml_node element, std::uint64_t& to, std::uint64_t least,
               std::uint64_t most) {
    const std::string text = document.text(element);
    const auto size = parse_size(text);
    if (!size) return refuse(document, element, text, "a size with its unit, such as 64MiB, 1GB or 4096B");
    if (parse_count(text) && *size != 0)
        return refuse(document, element, text,
                      fmt::format("a size with its unit; for bytes write {}B", *size));
    if (*size < least || *size > most)
        return refuse(document, element, text, fmt::format("a size from {}B to {}B", least, most));
    to = *size;
    return true;
}

bool read_duration(Document& document, pugi::xml_node element, Duration& to, Duration least) {
    const std::string text = document.text(element);
    const auto duration = parse_duration(text);
    if (!duration && parse_count(text))
        return refuse(document, element, text,
                      fmt::format("a time with its unit; for seconds write {}s", text));
    if (!duration || *duration < least)
        return refuse(document, element, text, "a time such as 500ms, 30s or 1d that fits the clock");
    to = *duration;
    return true;
}

bool read_switch(Document& document, pugi::xml_node element, bool& to) {
    return read_choice<bool>(document, element, to,
                             {{"enabled", true}, {"disabled", false}, {"true", true}, {"false", false}});
}

}  // namespace pinnace::config
