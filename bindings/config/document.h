// SPDX-License-Identifier: Apache-2.0
// Document: an XML file with the places of its elements, and what was found wrong with it.
//
// 1. Every problem has a line and a column (in bytes, both from 1), the element's path, what is wrong and
//    how to mend it. Problems are kept in the order of their places.
// 2. `${NAME}` in a text is the value of NAME in the environment, `$${` is `${`. Values are not expanded
//    again, and cannot add elements.
// 3. No text crashes the reader, and none makes it read another file: entities of a DOCTYPE are not expanded.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <pugixml.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace pinnace::config {

struct Place {
    std::size_t line = 1;
    std::size_t column = 1;
    auto operator<=>(const Place&) const = default;
};

struct Problem {
    bool is_error = true;
    Place place;
    std::string element;  // its path, SOW/Queue/LeasePeriod
    std::string text;     // may have several lines (an expression with a mark under the place)
};

// `FILE:LINE:COLUMN: error: ELEMENT: TEXT`
std::string to_text(const Problem& problem, std::string_view file);

using Environment = std::function<std::optional<std::string>(std::string_view name)>;
std::optional<std::string> process_environment(std::string_view name);

class Document {
 public:
    // The text's root; empty if it is no XML, which is then a problem.
    Document(std::string_view text, Environment environment);
    Document(const Document&) = delete;
    Document& operator=(const Document&) = delete;

    pugi::xml_node root() const { return root_; }
    Place place(pugi::xml_node node) const { return place_at(node.offset_debug()); }
    // The whole text of an element, trimmed and expanded. Unknown variables are problems.
    std::string text(pugi::xml_node element);
    // Where that text begins.
    Place text_place(pugi::xml_node element) const;
    static std::string path(pugi::xml_node element);

    void error(pugi::xml_node element, std::string text);
    void error_at(Place place, pugi::xml_node element, std::string text);
    void warn(pugi::xml_node element, std::string text);
    bool has_errors() const;
    std::vector<Problem> take_problems();

 private:
    Place place_at(std::ptrdiff_t offset) const;
    std::string expand(pugi::xml_node element, const std::string& text);
    void report_unset(pugi::xml_node element, const std::string& name);

    pugi::xml_document xml_;
    pugi::xml_node root_;
    std::vector<std::size_t> lines_;  // where each begins
    Environment environment_;
    std::vector<Problem> problems_;
    std::vector<pugi::xml_node> unset_;  // elements with a variable that is not set
};

}  // namespace pinnace::config
