// SPDX-License-Identifier: Apache-2.0
// Path: the absolute path of a field, taken apart once: /items[0]/qty is items, index 0, qty.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pinnace::expr {

struct PathStep {
    std::string name;         // empty: an index
    std::uint32_t index = 0;  // zero-based, of the elements that the steps before reach

    bool is_index() const { return name.empty(); }
    bool operator==(const PathStep&) const = default;
};

struct Path {
    std::vector<PathStep> steps;

    bool operator==(const Path&) const = default;
    // The path as it is written, in brackets if it has a character that a plain path has not.
    std::string text() const;
};

// What a step of a path that is not in brackets is made of: letters, digits, `_ - . : @ $ #`, and every byte
// above ASCII, so that names in UTF-8 work.
bool is_path_character(char character);

// Reads `text` as a whole path, without brackets around it (blanks are then allowed in it). False and
// `*offset` (where) and `*expected` (what was expected there) if it is none.
bool parse_path(std::string_view text, Path* path, std::size_t* offset, const char** expected);

}  // namespace pinnace::expr
