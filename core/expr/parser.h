// SPDX-License-Identifier: Apache-2.0
// Parser: a Pratt parser that writes the program as it reads the text. The order in which it meets operands
// and operators is the order in which a stack machine needs them, so there is no tree in between.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/expr/expression.h"
#include "core/expr/lexer.h"
#include "core/expr/number.h"
#include "core/expr/program.h"

namespace pinnace::expr {

// How tightly operators bind; a higher one takes its operands first.
enum class Binding : std::uint8_t { none, or_, and_, not_, comparison, sum, product, sign };

class Parser {
 public:
    Parser(std::string_view text, const CompileOptions& options);

    std::expected<Program, CompileError> run();

 private:
    // A part of the program that leaves one value on the stack.
    struct Piece {
        std::uint32_t begin = 0;   // its first instruction
        bool is_boolean = false;   // always TRUE or FALSE
        bool is_truth = false;     // always TRUE, FALSE or NULL
        bool is_constant = false;  // one `constant` instruction
        bool is_field = false;     // one `field` instruction
    };
    struct DepthGuard;

    // Each is false after an error; the error is then in error_.
    bool parse(Binding least, Piece* piece);
    bool parse_value(Piece* piece);
    bool parse_name(Piece* piece);
    bool parse_sign(Piece* piece);
    bool parse_not(Piece* piece);
    bool parse_parenthesis(Piece* piece);
    bool parse_call(Piece* piece);
    bool parse_arguments(const Function& function, std::uint32_t* count, std::uint32_t* pattern);
    bool parse_operator(Piece* left);
    bool parse_logic(Piece* left, bool is_and);
    bool parse_arithmetic(Piece* left, Arithmetic operation, Binding binding);
    bool parse_comparison(Piece* left);
    bool parse_relation(Piece* left, Comparison comparison);
    bool parse_between(Piece* left);
    bool parse_like();
    bool parse_list(ListTest test);
    bool parse_is(Piece* left);
    bool parse_pattern(std::uint32_t* index);

    Binding binding_of_operator() const;
    bool is_comparison_word() const;
    bool expect(const char* symbol, LexerMode mode);
    bool fail(std::size_t offset, std::string expected);
    bool fail_here(std::string_view expected);
    void advance(LexerMode mode);

    bool push_constant(const Value& value, Piece* piece);
    bool push_text(const Token& token, Piece* piece);
    bool push_field(const Token& token, Piece* piece);
    bool count_term(std::size_t offset);
    Instruction& emit(Operation operation, int stack_change);
    std::uint32_t here() const { return static_cast<std::uint32_t>(program_.code.size()); }
    void fuse(const Piece& left, const Piece& right, Comparison comparison);
    void fuse_branch(bool exits_if_true);
    void thread_jumps();

    CompileOptions options_;
    Lexer lexer_;
    Token token_;
    Program program_;
    CompileError error_;
    std::unordered_map<std::string, std::uint16_t> fields_;
    std::size_t depth_ = 0;
    std::size_t term_count_ = 0;
    std::size_t stack_ = 0;
};

}  // namespace pinnace::expr
