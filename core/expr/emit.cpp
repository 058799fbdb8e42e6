// SPDX-License-Identifier: Apache-2.0
// The parser's other half: constants, fields, instructions, errors.
#include <algorithm>
#include <utility>

#include "core/expr/compile_error.h"
#include "core/expr/number.h"
#include "core/expr/parser.h"

namespace pinnace::expr {

void Parser::advance(LexerMode mode) { token_ = lexer_.next(mode); }

bool Parser::expect(const char* symbol, LexerMode mode) {
    if (!token_.is(symbol)) {
        const bool is_end = *symbol == ')';
        return fail_here(is_end ? "an operator, `,` or `)`" : "`" + std::string(symbol) + "`");
    }
    advance(mode);
    return true;
}

bool Parser::fail(std::size_t offset, std::string expected) {
    error_ = make_compile_error(program_.text, offset, std::move(expected));
    return false;
}

// What was expected in place of the newest token; what the lexer could not read speaks for itself.
bool Parser::fail_here(std::string_view expected) {
    if (token_.kind == TokenKind::error && token_.expected != nullptr) {
        return fail(token_.error_offset, token_.expected);
    }
    return fail(token_.offset, std::string(expected));
}

bool Parser::count_term(std::size_t offset) {
    if (++term_count_ <= kTermCountMax) return true;
    return fail(offset, "at most " + std::to_string(kTermCountMax) + " fields, literals and calls");
}

Instruction& Parser::emit(Operation operation, int stack_change) {
    stack_ = static_cast<std::size_t>(static_cast<int>(stack_) + stack_change);
    Instruction& made = program_.code.emplace_back();
    made.operation = operation;
    return made;
}

bool Parser::push_constant(const Value& value, Piece* piece) {
    if (stack_ >= kStackSize) return fail_here("fewer arguments in each other");
    *piece = {.begin = here(), .is_constant = true};
    emit(Operation::constant, 1).operand = static_cast<std::uint32_t>(program_.constants.size());
    program_.constants.push_back(value);
    Value number = value;
    if (value.is_text() && !parse_number(value.as_text(), &number)) number = Value();
    program_.numbers.push_back(number);
    return true;
}

bool Parser::push_text(const Token& token, Piece* piece) {
    std::string text = decode_text(token.text);
    if (text.size() > kLiteralSizeMax) {
        return fail_here("a literal of at most " + std::to_string(kLiteralSizeMax) + " bytes");
    }
    program_.literals.push_back(std::move(text));
    return push_constant(Value::text(program_.literals.back()), piece);
}

bool Parser::push_field(const Token& token, Piece* piece) {
    if (stack_ >= kStackSize) return fail_here("fewer arguments in each other");
    if (token.text.size() > kLiteralSizeMax) {
        return fail_here("a path of at most " + std::to_string(kLiteralSizeMax) + " bytes");
    }
    const auto [known, is_new] =
        fields_.emplace(token.path.text(), static_cast<std::uint16_t>(program_.paths.size()));
    if (is_new) program_.paths.push_back(token.path);
    *piece = {.begin = here(), .is_field = true};
    emit(Operation::field, 1).field = known->second;
    return true;
}

// Joins each comparison of a field with the exit behind it, and makes jumps that lead to an exit that they
// would take go to its end at once. Jumps only go forward, so one pass from the back is enough.
void Parser::thread_jumps() {
    std::vector<Instruction>& code = program_.code;
    for (std::size_t i = code.size(); i-- > 0;) {
        Instruction& jump = code[i];
        const bool exits_if_false = jump.operation == Operation::exit_if_false;
        const bool exits_if_true = jump.operation == Operation::exit_if_true;
        if (!exits_if_false && !exits_if_true) continue;
        while (jump.target < code.size() && code[jump.target].operation == jump.operation) {
            jump.target = code[jump.target].target;
        }
        // The exit stays, for jumps that lead to it; the comparison before it goes past it.
        if (i == 0 || code[i - 1].operation != Operation::compare_field) continue;
        Instruction& comparison = code[i - 1];
        comparison.operation = Operation::branch_field;
        comparison.target = jump.target;
        comparison.count = exits_if_true ? 1 : 0;
    }
}

}  // namespace pinnace::expr
