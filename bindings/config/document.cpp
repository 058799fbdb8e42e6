// SPDX-License-Identifier: Apache-2.0
#include "bindings/config/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>

namespace pinnace::config {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

std::string trimmed(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(kBlanks);
    if (begin == std::string_view::npos) return {};
    return std::string(text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1));
}

bool is_text(pugi::xml_node node) {
    return node.type() == pugi::node_pcdata || node.type() == pugi::node_cdata;
}

// What to do about a text that is no XML.
std::string hint(pugi::xml_parse_status status) {
    switch (status) {
        case pugi::status_no_document_element:
            return "there is no element; expected <Pinnace> or <AMPSConfig>";
        case pugi::status_end_element_mismatch:
            return "an element is closed that is not the innermost open one, or one is never closed; every "
                   "<Name> needs its </Name>";
        case pugi::status_bad_start_element:
        case pugi::status_unrecognized_tag:
            return "this is no tag; write &lt; for the character <";
        default:
            return "expected well-formed XML here";
    }
}

}  // namespace

std::string to_text(const Problem& problem, std::string_view file) {
    return fmt::format("{}:{}:{}: {}: {}{}{}", file, problem.place.line, problem.place.column,
                       problem.is_error ? "error" : "warning", problem.element,
                       problem.element.empty() ? "" : ": ", problem.text);
}

std::optional<std::string> process_environment(std::string_view name) {
    const char* value = std::getenv(std::string(name).c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

Document::Document(std::string_view text, Environment environment) : environment_(std::move(environment)) {
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
    lines_.push_back(0);
    for (std::size_t at = 0; at < text.size(); ++at)
        if (text[at] == '\n') lines_.push_back(at + 1);
    const auto parsed = xml_.load_buffer(text.data(), text.size(), pugi::parse_default, pugi::encoding_utf8);
    if (!parsed) {
        // The parser may have looked behind the end.
        const auto offset = std::min(parsed.offset, static_cast<std::ptrdiff_t>(text.size()));
        problems_.push_back(
            {true, place_at(offset), "", fmt::format("{}: {}", parsed.description(), hint(parsed.status))});
        return;
    }
    root_ = xml_.document_element();
    if (const auto second = root_.next_sibling(); second.type() == pugi::node_element)
        error(second, fmt::format("a second element behind <{}>; put all into one", root_.name()));
}

Place Document::place_at(std::ptrdiff_t offset) const {
    const auto at = static_cast<std::size_t>(std::max<std::ptrdiff_t>(offset, 0));
    const auto next = std::ranges::upper_bound(lines_, at);
    const auto line = static_cast<std::size_t>(next - lines_.begin());
    return {line, at - lines_[line - 1] + 1};
}

std::string Document::path(pugi::xml_node element) {
    std::string path;
    for (; element && element.parent().type() == pugi::node_element; element = element.parent())
        path = path.empty() ? element.name() : fmt::format("{}/{}", element.name(), path);
    return path.empty() && element ? element.name() : path;
}

Place Document::text_place(pugi::xml_node element) const {
    for (const pugi::xml_node child : element.children()) {
        if (!is_text(child) || child.offset_debug() < 0) continue;
        // The text as it stands in the file begins with the same blanks.
        const std::string_view value = child.value();
        const std::size_t blank = std::min(value.find_first_not_of(kBlanks), value.size());
        return place_at(child.offset_debug() + static_cast<std::ptrdiff_t>(blank));
    }
    return place(element);
}

std::string Document::text(pugi::xml_node element) {
    std::string text;
    for (const pugi::xml_node child : element.children()) {
        if (is_text(child)) text += child.value();
        if (child.type() == pugi::node_element)
            error(child, fmt::format("{} has a text and no elements; take this out", element.name()));
    }
    return expand(element, trimmed(text));
}

std::string Document::expand(pugi::xml_node element, const std::string& text) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        if (text.compare(at, 3, "$${") == 0) {
            out += "${";
            at += 3;
            continue;
        }
        if (text.compare(at, 2, "${") != 0) {
            out += text[at++];
            continue;
        }
        const std::size_t end = std::min(text.find('}', at), text.size());
        const std::string name = text.substr(at + 2, end - at - 2);
        const auto value = end == text.size() ? std::nullopt : environment_(name);
        out += value.value_or(name);
        if (!value) report_unset(element, end == text.size() ? std::string() : name);
        at = end + 1;
    }
    return out;
}

// Whatever else is wrong with the element follows from this.
void Document::report_unset(pugi::xml_node element, const std::string& name) {
    error_at(text_place(element), element,
             name.empty() ? "${ is not closed; write ${NAME}, or $${ for the characters ${"
                          : fmt::format("the environment has no variable {}; set it, or write $${{ for the "
                                        "characters ${{",
                                        name));
    unset_.push_back(element);
}

void Document::error(pugi::xml_node element, std::string text) {
    error_at(place(element), element, std::move(text));
}

void Document::error_at(Place place, pugi::xml_node element, std::string text) {
    if (std::ranges::find(unset_, element) != unset_.end()) return;
    problems_.push_back({true, place, path(element), std::move(text)});
}

void Document::warn(pugi::xml_node element, std::string text) {
    problems_.push_back({false, place(element), path(element), std::move(text)});
}

bool Document::has_errors() const { return std::ranges::any_of(problems_, &Problem::is_error); }

std::vector<Problem> Document::take_problems() {
    // By place, and at one place in the order in which they were found.
    std::vector<std::size_t> order(problems_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&](std::size_t at) { return std::pair(problems_[at].place, at); });
    std::vector<Problem> sorted;
    for (const std::size_t at : order) sorted.push_back(std::move(problems_[at]));
    problems_.clear();
    return sorted;
}

}  // namespace pinnace::config
