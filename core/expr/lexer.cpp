// SPDX-License-Identifier: Apache-2.0
#include "core/expr/lexer.h"

#include "core/expr/number.h"

namespace pinnace::expr {
namespace {

bool is_digit(char character) { return character >= '0' && character <= '9'; }
bool is_blank(char character) {
    return character == ' ' || character == '\t' || character == '\n' || character == '\r';
}
bool is_name_start(char character) {
    return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') ||
           character == '_';
}
char upper(char character) {
    return character >= 'a' && character <= 'z' ? static_cast<char>(character - 'a' + 'A') : character;
}

// The value of a hexadecimal digit, -1 if it is none.
int hex_digit(char character) {
    if (is_digit(character)) return character - '0';
    const char capital = upper(character);
    return capital >= 'A' && capital <= 'F' ? capital - 'A' + 10 : -1;
}

bool is_raw(std::string_view quoted) { return quoted[0] == 'r' || quoted[0] == 'R'; }
std::string_view inside(std::string_view quoted) {
    const std::size_t skipped = is_raw(quoted) ? 2 : 1;
    return quoted.substr(skipped, quoted.size() - skipped - 1);
}

// Appends what the escape at `at` (a backslash) stands for; gives the offset behind it.
std::size_t decode_escape(std::string_view content, std::size_t at, std::string* out) {
    const char escaped = content[at + 1];
    if (escaped == 'x' && at + 3 < content.size()) {
        const int high = hex_digit(content[at + 2]);
        const int low = hex_digit(content[at + 3]);
        if (high >= 0 && low >= 0) {
            out->push_back(static_cast<char>(high * 16 + low));
            return at + 4;
        }
    }
    out->push_back(escaped == 'n' ? '\n' : escaped == 't' ? '\t' : escaped);
    return at + 2;
}

}  // namespace

bool equal_in_any_case(std::string_view left, std::string_view right) {
    if (left.size() != right.size()) return false;
    for (std::size_t i = 0; i < left.size(); ++i) {
        if (upper(left[i]) != upper(right[i])) return false;
    }
    return true;
}

bool Token::is_keyword(std::string_view keyword) const {
    return kind == TokenKind::name && equal_in_any_case(text, keyword);
}

std::string decode_text(std::string_view quoted) {
    const std::string_view content = inside(quoted);
    if (is_raw(quoted)) return std::string(content);
    std::string out;
    for (std::size_t at = 0; at < content.size();) {
        if (content[at] == '\\' && at + 1 < content.size()) {
            at = decode_escape(content, at, &out);
        } else {
            out.push_back(content[at++]);
        }
    }
    return out;
}

std::string decode_pattern(std::string_view quoted) {
    const std::string_view content = inside(quoted);
    if (is_raw(quoted)) return std::string(content);
    std::string out;
    for (std::size_t at = 0; at < content.size(); ++at) {
        out.push_back(content[at]);
        if (content[at] != '\\' || at + 1 >= content.size()) continue;
        ++at;
        if (content[at] == '\'' || content[at] == '"') out.pop_back();
        out.push_back(content[at]);
    }
    return out;
}

Token Lexer::make(TokenKind kind, std::size_t begin) const {
    Token token;
    token.kind = kind;
    token.offset = begin;
    token.text = text_.substr(begin, at_ - begin);
    return token;
}

Token Lexer::fail(std::size_t begin, std::size_t offset, const char* expected) {
    at_ = text_.size();
    Token token = make(TokenKind::error, begin);
    token.expected = expected;
    token.error_offset = offset;
    return token;
}

void Lexer::skip_blanks() {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
}

Token Lexer::next(LexerMode mode) {
    skip_blanks();
    if (at_ >= text_.size()) return make(TokenKind::end, at_);
    const char first = text_[at_];
    const char second = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
    if (mode == LexerMode::value) {
        if (first == '/') return plain_path();
        if (first == '[') return bracketed_path();
        if (is_digit(first) || (first == '.' && is_digit(second))) return number();
        if (first == '\'' || first == '"') return quoted(at_);
        if ((first == 'r' || first == 'R') && (second == '\'' || second == '"')) return quoted(at_ + 1);
    }
    if (is_name_start(first)) return name();
    return symbol();
}

Token Lexer::number() {
    const std::size_t begin = at_;
    const auto digits = [this] {
        while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
    };
    digits();
    if (at_ < text_.size() && text_[at_] == '.') {
        ++at_;
        digits();
    }
    if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
        ++at_;
        if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) ++at_;
        digits();
    }
    Token token = make(TokenKind::number, begin);
    const bool is_glued = at_ < text_.size() && (is_name_start(text_[at_]) || text_[at_] == '.');
    if (is_glued || !parse_number(token.text, &token.number)) return fail(begin, at_, "the rest of a number");
    return token;
}

Token Lexer::quoted(std::size_t quote) {
    const std::size_t begin = at_;
    const bool raw = quote != begin;
    for (at_ = quote + 1; at_ < text_.size(); ++at_) {
        if (text_[at_] == text_[quote]) {
            ++at_;
            return make(TokenKind::text, begin);
        }
        if (text_[at_] == '\\' && !raw) ++at_;
    }
    return fail(begin, text_.size(),
                text_[quote] == '"' ? "`\"`, the end of the quoted text" : "`'`, the end of the quoted text");
}

Token Lexer::plain_path() {
    const std::size_t begin = at_;
    while (at_ < text_.size()) {
        if (text_[at_] == '/' || is_path_character(text_[at_])) {
            ++at_;
        } else if (text_[at_] == '[') {
            while (at_ < text_.size() && text_[at_] != ']' && !is_blank(text_[at_])) ++at_;
            if (at_ < text_.size() && text_[at_] == ']') ++at_;
        } else {
            break;
        }
    }
    Token token = make(TokenKind::path, begin);
    std::size_t offset = 0;
    if (!parse_path(token.text, &token.path, &offset, &token.expected)) {
        return fail(begin, begin + offset, token.expected);
    }
    return token;
}

// `[/a name with blanks[0]/b]`: ends at the bracket that closes the first one.
Token Lexer::bracketed_path() {
    const std::size_t begin = at_;
    std::size_t depth = 0;
    for (; at_ < text_.size(); ++at_) {
        if (text_[at_] == '[') ++depth;
        if (text_[at_] == ']' && --depth == 0) break;
    }
    if (at_ >= text_.size()) return fail(begin, text_.size(), "`]`, the end of the path");
    ++at_;
    Token token = make(TokenKind::path, begin);
    const std::string_view path = token.text.substr(1, token.text.size() - 2);
    std::size_t offset = 0;
    if (!parse_path(path, &token.path, &offset, &token.expected)) {
        return fail(begin, begin + 1 + offset, token.expected);
    }
    return token;
}

Token Lexer::name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && (is_name_start(text_[at_]) || is_digit(text_[at_]))) ++at_;
    return make(TokenKind::name, begin);
}

Token Lexer::symbol() {
    const std::size_t begin = at_;
    const std::string_view rest = text_.substr(at_);
    for (const std::string_view two : {"==", "!=", "<>", "<=", ">="}) {
        if (rest.starts_with(two)) {
            at_ += 2;
            return make(TokenKind::operator_, begin);
        }
    }
    ++at_;
    if (std::string_view("(),").find(rest[0]) != std::string_view::npos)
        return make(TokenKind::symbol, begin);
    if (std::string_view("+-*/%=<>").find(rest[0]) != std::string_view::npos) {
        return make(TokenKind::operator_, begin);
    }
    return fail(begin, begin, nullptr);
}

}  // namespace pinnace::expr
