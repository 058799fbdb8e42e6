// SPDX-License-Identifier: Apache-2.0
#include "core/expr/compile_error.h"

#include <algorithm>
#include <utility>

namespace pinnace::expr {
namespace {

constexpr std::size_t kShownBefore = 60;  // characters of a long text that are shown around the mark
constexpr std::size_t kShownAfter = 30;

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

std::size_t character_count(std::string_view text) {
    return static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](char byte) { return !is_continuation(byte); }));
}

// What stands at the place, for "found …".
std::string found(std::string_view rest) {
    if (rest.empty()) return "the end";
    std::size_t end = 1;
    const auto is_word = [](char byte) {
        return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
               byte == '_' || is_continuation(byte) || static_cast<unsigned char>(byte) >= 0xC0;
    };
    if (is_word(rest[0])) {
        while (end < rest.size() && end < 24 && is_word(rest[end])) ++end;
    }
    while (end < rest.size() && is_continuation(rest[end])) ++end;
    return "`" + std::string(rest.substr(0, end)) + "`";
}

}  // namespace

CompileError make_compile_error(std::string_view text, std::size_t offset, std::string expected) {
    offset = std::min(offset, text.size());
    CompileError error;
    error.column = character_count(text.substr(0, offset)) + 1;
    error.text = "column " + std::to_string(error.column) + ": expected " + expected + ", found " +
                 found(text.substr(offset));
    error.expected = std::move(expected);

    std::size_t begin = offset > kShownBefore ? offset - kShownBefore : 0;
    while (begin > 0 && is_continuation(text[begin])) --begin;
    std::size_t end = std::min(text.size(), offset + kShownAfter);
    while (end < text.size() && is_continuation(text[end])) ++end;
    const std::string before = begin > 0 ? "…" : "";
    std::string shown(text.substr(begin, end - begin));
    // The mark stands under the place only if the text stays on one line.
    std::replace_if(shown.begin(), shown.end(), [](char byte) { return byte >= 0 && byte < ' '; }, ' ');
    const std::size_t blanks = character_count(text.substr(begin, offset - begin)) + (before.empty() ? 0 : 1);
    error.text += "\n    " + before + shown + (end < text.size() ? "…" : "") + "\n    " +
                  std::string(blanks, ' ') + "^";
    return error;
}

}  // namespace pinnace::expr
