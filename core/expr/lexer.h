// SPDX-License-Identifier: Apache-2.0
// Lexer: the expression's text as tokens. The parser says with each step whether a value or an operator may
// come, since `/` begins a path in the one place and divides in the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/expr/path.h"
#include "core/expr/value.h"

namespace pinnace::expr {

enum class TokenKind : std::uint8_t {
    end,
    error,     // `expected` says what is wrong, null: it is no token at all
    number,    // `number` is its value
    text,      // quoted; decode_text() and decode_pattern() give its content
    path,      // `path`
    name,      // a keyword or a function's name
    symbol,    // ( ) ,
    operator_  // + - * / % = == != <> < <= > >=
};

enum class LexerMode : std::uint8_t { value, operator_ };

struct Token {
    TokenKind kind = TokenKind::end;
    std::size_t offset = 0;  // of its first byte
    std::string_view text;   // as it is written
    Value number;
    Path path;
    const char* expected = nullptr;
    std::size_t error_offset = 0;

    bool is(std::string_view symbol) const {
        return (kind == TokenKind::symbol || kind == TokenKind::operator_) && text == symbol;
    }
    // Whether it is this keyword, given in capitals, in any case.
    bool is_keyword(std::string_view keyword) const;
};

class Lexer {
 public:
    explicit Lexer(std::string_view text) : text_(text) {}

    Token next(LexerMode mode);
    // Where the newest token ends.
    std::size_t offset() const { return at_; }

 private:
    void skip_blanks();
    Token number();
    Token quoted(std::size_t quote);
    Token plain_path();
    Token bracketed_path();
    Token name();
    Token symbol();
    Token make(TokenKind kind, std::size_t begin) const;
    Token fail(std::size_t begin, std::size_t offset, const char* expected);

    std::string_view text_;
    std::size_t at_ = 0;
};

// The content of a quoted token: escapes undone, or taken as it is if it is raw.
std::string decode_text(std::string_view quoted);
// The same for a pattern: backslashes go to PCRE, only \' and \" are undone.
std::string decode_pattern(std::string_view quoted);

// Whether two ASCII texts are the same in any case.
bool equal_in_any_case(std::string_view left, std::string_view right);

}  // namespace pinnace::expr
