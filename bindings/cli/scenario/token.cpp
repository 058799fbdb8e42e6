// SPDX-License-Identifier: Apache-2.0
#include "bindings/cli/scenario/token.h"

#include <fmt/format.h>

namespace pinnace::scenario {
namespace {

using Error = std::unexpected<std::string>;

bool is_blank(char c) { return c == ' ' || c == '\t'; }

// Behind the `}` that matches the `{` at `begin`; npos if there is none. Braces inside of JSON strings do not
// count.
std::size_t json_end(std::string_view line, std::size_t begin) {
    std::size_t depth = 0;
    bool in_string = false;
    for (std::size_t at = begin; at < line.size(); ++at) {
        const char c = line[at];
        if (in_string) {
            if (c == '\\') ++at;
            if (c == '"') in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '{') {
            ++depth;
        } else if (c == '}' && --depth == 0) {
            return at + 1;
        }
    }
    return std::string_view::npos;
}

// Reads the quoted text that begins at `at` and appends it; returns the place behind the closing quote,
// npos if there is none. '…' takes nothing specially, "…" knows \" and \\.
std::size_t read_quoted(std::string_view line, std::size_t at, std::string& out) {
    const char quote = line[at++];
    for (; at < line.size(); ++at) {
        char c = line[at];
        if (c == quote) return at + 1;
        if (quote == '"' && c == '\\' && at + 1 < line.size() &&
            (line[at + 1] == '"' || line[at + 1] == '\\')) {
            c = line[++at];
        }
        out.push_back(c);
    }
    return std::string_view::npos;
}

std::expected<Token, std::string> read_json(std::string_view line, std::size_t begin) {
    const std::size_t end = json_end(line, begin);
    if (end == std::string_view::npos) {
        return Error(
            fmt::format("expected a `}}` for the `{{` at column {}, got the end of the line; close the body, "
                        "or put it into '…' if it is not meant as JSON",
                        begin + 1));
    }
    if (end < line.size() && !is_blank(line[end])) {
        return Error(fmt::format("expected a blank behind the JSON body at column {}, got `{}`", end + 1,
                                 printable(line.substr(end), 20)));
    }
    return Token{TokenKind::json, std::string(line.substr(begin, end - begin)), begin, end};
}

std::expected<Token, std::string> read_word(std::string_view line, std::size_t begin) {
    Token token{TokenKind::word, {}, begin, begin};
    std::size_t quoted_count = 0;
    std::size_t plain_count = 0;
    std::size_t at = begin;
    while (at < line.size() && !is_blank(line[at])) {
        if (line[at] == '\'' || line[at] == '"') {
            const std::size_t quote = at;
            at = read_quoted(line, at, token.text);
            if (at == std::string_view::npos) {
                return Error(
                    fmt::format("expected a closing {} for the quote at column {}, got the end of the line",
                                line[quote], quote + 1));
            }
            ++quoted_count;
        } else {
            token.text.push_back(line[at++]);
            ++plain_count;
        }
    }
    token.end = at;
    if (plain_count == 0 && quoted_count == 1) token.kind = TokenKind::quoted;
    if (quoted_count == 0 && token.text == "=>") token.kind = TokenKind::arrow;
    if (quoted_count == 0 && token.text.starts_with("<<")) {
        token.kind = TokenKind::heredoc;
        token.text.erase(0, 2);
        if (token.text.empty()) return Error("expected a word behind `<<`, got none; write <<END");
    }
    return token;
}

}  // namespace

std::expected<std::vector<Token>, std::string> split_tokens(std::string_view line) {
    std::vector<Token> tokens;
    std::size_t at = 0;
    while (true) {
        while (at < line.size() && is_blank(line[at])) ++at;
        if (at == line.size()) return tokens;
        auto token = line[at] == '{' ? read_json(line, at) : read_word(line, at);
        if (!token) return Error(std::move(token.error()));
        at = token->end;
        tokens.push_back(std::move(*token));
    }
}

std::string_view trim_blanks(std::string_view text) {
    while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
    return text;
}

std::string printable(std::string_view text, std::size_t size_max) {
    std::string out;
    for (const char c : text.substr(0, size_max)) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7f) {
            out += fmt::format("\\x{:02x}", byte);
        } else {
            out.push_back(c);
        }
    }
    if (text.size() > size_max) out += "…";
    return out;
}

}  // namespace pinnace::scenario
