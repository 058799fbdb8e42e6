// SPDX-License-Identifier: Apache-2.0
#include "core/expr/path.h"

#include <charconv>

namespace pinnace::expr {
namespace {

bool is_digit(char character) { return character >= '0' && character <= '9'; }

// An index in brackets that begins at `*at`; moves behind it. False: not a whole number below 2^32.
bool parse_index(std::string_view text, std::size_t* at, std::uint32_t* index) {
    std::size_t end = *at + 1;
    while (end < text.size() && is_digit(text[end])) ++end;
    if (end >= text.size() || text[end] != ']') return false;
    const auto [stop, error] = std::from_chars(text.data() + *at + 1, text.data() + end, *index);
    if (error != std::errc{} || stop != text.data() + end) return false;
    *at = end + 1;
    return true;
}

}  // namespace

bool is_path_character(char character) {
    if ((character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z')) return true;
    if (is_digit(character) || static_cast<unsigned char>(character) >= 0x80) return true;
    return std::string_view("_-.:@$#").find(character) != std::string_view::npos;
}

bool parse_path(std::string_view text, Path* path, std::size_t* offset, const char** expected) {
    path->steps.clear();
    std::size_t at = 0;
    do {
        *offset = at;
        *expected = "`/` and the name of a field";
        if (at >= text.size() || text[at] != '/') return false;
        const std::size_t begin = ++at;
        while (at < text.size() && text[at] != '/' && text[at] != '[' && text[at] != ']') ++at;
        *offset = begin;
        *expected = "the name of a field";
        if (at == begin) return false;
        path->steps.push_back({std::string(text.substr(begin, at - begin)), 0});
        while (at < text.size() && text[at] == '[') {
            std::uint32_t index = 0;
            *offset = at + 1;
            *expected = "an index and `]`";
            if (!parse_index(text, &at, &index)) return false;
            path->steps.push_back({{}, index});
        }
    } while (at < text.size());
    return true;
}

std::string Path::text() const {
    std::string text;
    bool is_plain = true;
    for (const PathStep& step : steps) {
        if (step.is_index()) {
            text += '[' + std::to_string(step.index) + ']';
            continue;
        }
        text += '/' + step.name;
        for (const char character : step.name) is_plain = is_plain && is_path_character(character);
    }
    return is_plain ? text : '[' + text + ']';
}

}  // namespace pinnace::expr
