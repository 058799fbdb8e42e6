// SPDX-License-Identifier: Apache-2.0
// Splits one line of a scenario file into tokens: words, quoted texts, JSON bodies, `=>` and `<<WORD`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace pinnace::scenario {

enum class TokenKind : std::uint8_t {
    word,     // text without blanks; may hold quoted parts, as in filter='/a > 1'
    quoted,   // one quoted text and nothing else
    json,     // from `{` to its matching `}`
    arrow,    // =>
    heredoc,  // <<WORD; text is WORD
};

struct Token {
    TokenKind kind = TokenKind::word;
    std::string text;       // without the quotes
    std::size_t begin = 0;  // bytes [begin, end) of the line, quotes included
    std::size_t end = 0;
};

// The error is a whole sentence that says how to mend the line.
std::expected<std::vector<Token>, std::string> split_tokens(std::string_view line);

// Blanks are the space and the tab.
std::string_view trim_blanks(std::string_view text);

// Makes text fit for one line of output: control characters are shown as \xHH, and what is long is cut.
std::string printable(std::string_view text, std::size_t size_max = 300);

}  // namespace pinnace::scenario
