// SPDX-License-Identifier: Apache-2.0
#include "core/expr/parser.h"

#include <utility>

#include "core/expr/compile_error.h"
#include "core/expr/number.h"

namespace pinnace::expr {
namespace {

constexpr std::uint32_t kNullPattern = UINT32_MAX;  // an empty one: the empty text is NULL
constexpr const char* kValue = "a value (a field such as /px, a literal, a function or a parenthesis)";

Binding tighter(Binding binding) { return static_cast<Binding>(static_cast<int>(binding) + 1); }

bool comparison_of(const Token& token, Comparison* comparison) {
    if (token.kind != TokenKind::operator_) return false;
    const std::string_view text = token.text;
    if (text == "=" || text == "==")
        *comparison = Comparison::equal;
    else if (text == "!=" || text == "<>")
        *comparison = Comparison::not_equal;
    else if (text == "<")
        *comparison = Comparison::less;
    else if (text == "<=")
        *comparison = Comparison::less_equal;
    else if (text == ">")
        *comparison = Comparison::greater;
    else if (text == ">=")
        *comparison = Comparison::greater_equal;
    else
        return false;
    return true;
}

bool arithmetic_of(const Token& token, Arithmetic* operation) {
    if (token.is("+"))
        *operation = Arithmetic::add;
    else if (token.is("-"))
        *operation = Arithmetic::subtract;
    else if (token.is("*"))
        *operation = Arithmetic::multiply;
    else if (token.is("/"))
        *operation = Arithmetic::divide;
    else if (token.is("%") || token.is_keyword("MOD"))
        *operation = Arithmetic::modulo;
    else
        return false;
    return true;
}

}  // namespace

// Counts how deep parentheses, calls and prefixes lie in each other.
struct Parser::DepthGuard {
    explicit DepthGuard(Parser& parser) : parser_(parser) { ++parser_.depth_; }
    ~DepthGuard() { --parser_.depth_; }
    DepthGuard(const DepthGuard&) = delete;
    DepthGuard& operator=(const DepthGuard&) = delete;
    bool is_too_deep() const { return parser_.depth_ > kDepthMax; }

 private:
    Parser& parser_;
};

Parser::Parser(std::string_view text, const CompileOptions& options) : options_(options), lexer_(text) {
    program_.text = text;
}

std::expected<Program, CompileError> Parser::run() {
    if (program_.text.size() > kTextSizeMax) {
        fail(0, "an expression of at most " + std::to_string(kTextSizeMax) + " bytes");
        return std::unexpected(std::move(error_));
    }
    Piece piece;
    advance(LexerMode::value);
    bool ok = parse(Binding::none, &piece);
    if (ok && token_.kind != TokenKind::end) ok = fail_here("an operator or the end");
    if (!ok) return std::unexpected(std::move(error_));
    thread_jumps();
    return std::move(program_);
}

// --- Values

bool Parser::parse(Binding least, Piece* piece) {
    if (!parse_value(piece)) return false;
    while (true) {
        const Binding binding = binding_of_operator();
        if (binding == Binding::none || binding < least) return true;
        if (!parse_operator(piece)) return false;
    }
}

bool Parser::parse_value(Piece* piece) {
    switch (token_.kind) {
        case TokenKind::number: {
            if (!count_term(token_.offset) || !push_constant(token_.number, piece)) return false;
            advance(LexerMode::operator_);
            return true;
        }
        case TokenKind::text: {
            if (!count_term(token_.offset) || !push_text(token_, piece)) return false;
            advance(LexerMode::operator_);
            return true;
        }
        case TokenKind::path: {
            if (!count_term(token_.offset) || !push_field(token_, piece)) return false;
            advance(LexerMode::operator_);
            return true;
        }
        case TokenKind::name:
            return parse_name(piece);
        default:
            break;
    }
    if (token_.is("(")) return parse_parenthesis(piece);
    if (token_.is("-") || token_.is("+")) return parse_sign(piece);
    return fail_here(kValue);
}

bool Parser::parse_name(Piece* piece) {
    if (token_.is_keyword("NOT")) return parse_not(piece);
    const bool is_true = token_.is_keyword("TRUE");
    if (is_true || token_.is_keyword("FALSE") || token_.is_keyword("NULL")) {
        const bool is_null = token_.is_keyword("NULL");
        if (!count_term(token_.offset)) return false;
        if (!push_constant(is_null ? Value() : Value::boolean(is_true), piece)) return false;
        piece->is_truth = true;
        piece->is_boolean = !is_null;
        advance(LexerMode::operator_);
        return true;
    }
    return parse_call(piece);
}

bool Parser::parse_sign(Piece* piece) {
    const DepthGuard guard(*this);
    if (guard.is_too_deep()) return fail_here("at most " + std::to_string(kDepthMax) + " levels");
    const bool is_minus = token_.is("-");
    advance(LexerMode::value);
    if (!parse(Binding::sign, piece)) return false;
    if (piece->is_constant) {
        // A literal with a sign is one constant.
        const std::uint32_t index = program_.code.back().operand;
        Value& constant = program_.constants[index];
        constant = is_minus ? negate(constant) : number_of(constant);
        program_.numbers[index] = constant;
        *piece = {.begin = piece->begin, .is_constant = true};
        return true;
    }
    // +a is a number as well: 0 + a would do, but twice the other sign is as good and needs no constant.
    emit(Operation::negate, 0);
    if (!is_minus) emit(Operation::negate, 0);
    *piece = {.begin = piece->begin};
    return true;
}

bool Parser::parse_not(Piece* piece) {
    const DepthGuard guard(*this);
    if (guard.is_too_deep()) return fail_here("at most " + std::to_string(kDepthMax) + " levels");
    advance(LexerMode::value);
    if (!parse(Binding::not_, piece)) return false;
    emit(Operation::negation, 0);
    *piece = {.begin = piece->begin, .is_boolean = piece->is_boolean, .is_truth = true};
    return true;
}

bool Parser::parse_parenthesis(Piece* piece) {
    const DepthGuard guard(*this);
    if (guard.is_too_deep()) return fail_here("at most " + std::to_string(kDepthMax) + " levels");
    advance(LexerMode::value);
    return parse(Binding::none, piece) && expect(")", LexerMode::operator_);
}

bool Parser::parse_call(Piece* piece) {
    const DepthGuard guard(*this);
    if (guard.is_too_deep()) return fail_here("at most " + std::to_string(kDepthMax) + " levels");
    const std::size_t offset = token_.offset;
    const Function* function = find_function(token_.text);
    if (function == nullptr) return fail_here(kValue);
    if ((function->bit & options_.refused) != 0) {
        return fail(offset, "no " + std::string(function->name) + " in " + std::string(options_.place) +
                                ", since its value can change while the message stays as it is");
    }
    if (function->is_aggregate) {
        return fail(offset, "no aggregate: " + std::string(function->name) + " is for the fields of a view");
    }
    if (!count_term(offset)) return false;
    advance(LexerMode::value);
    if (!token_.is("(")) return fail_here("`(` after " + std::string(function->name));
    advance(LexerMode::value);

    piece->begin = here();
    std::uint32_t count = 0;
    std::uint32_t pattern = 0;
    if (!parse_arguments(*function, &count, &pattern)) return false;
    if (count == 0 && stack_ >= kStackSize) return fail(offset, "fewer arguments in each other");
    program_.functions |= function->bit;
    if (function->pattern_argument == 0) {
        Instruction& call = emit(Operation::call, 1 - static_cast<int>(count));
        call.operand = function_index(*function);
        call.count = count;
    } else if (pattern == kNullPattern) {
        emit(Operation::forget, 1 - static_cast<int>(count)).count = count;
    } else if (function->argument_count_max == 2) {
        emit(Operation::regexp_match, 0).operand = pattern;
    } else {
        emit(Operation::regexp_replace, -1).operand = pattern;
    }
    *piece = {.begin = piece->begin};
    return true;
}

// From behind the opening parenthesis to behind the closing one. `count` is of those on the stack.
bool Parser::parse_arguments(const Function& function, std::uint32_t* count, std::uint32_t* pattern) {
    std::uint32_t given = 0;
    const std::uint32_t least = function.argument_count_min;
    const std::uint32_t most =
        function.argument_count_max == 255 ? kArgumentCountMax : function.argument_count_max;
    while (!(given == 0 && token_.is(")"))) {
        if (given == most) {
            return fail_here("`)`: " + std::string(function.name) + " takes at most " + std::to_string(most));
        }
        ++given;
        if (given == function.pattern_argument) {
            if (!parse_pattern(pattern)) return false;
        } else {
            Piece argument;
            if (!parse(Binding::none, &argument)) return false;
            ++*count;
        }
        if (!token_.is(",")) break;
        advance(LexerMode::value);
    }
    if (given < least && token_.is(")")) {
        return fail_here("more arguments: " + std::string(function.name) + " takes at least " +
                         std::to_string(least));
    }
    return expect(")", LexerMode::operator_);
}

// --- Operators

Binding Parser::binding_of_operator() const {
    if (token_.is_keyword("OR")) return Binding::or_;
    if (token_.is_keyword("AND")) return Binding::and_;
    Comparison comparison{};
    if (comparison_of(token_, &comparison) || is_comparison_word() || token_.is_keyword("NOT")) {
        return Binding::comparison;
    }
    Arithmetic operation{};
    if (!arithmetic_of(token_, &operation)) return Binding::none;
    return operation == Arithmetic::add || operation == Arithmetic::subtract ? Binding::sum
                                                                             : Binding::product;
}

bool Parser::is_comparison_word() const {
    for (const std::string_view word : {"BETWEEN", "IN", "LIKE", "BEGINS", "ENDS", "IS"}) {
        if (token_.is_keyword(word)) return true;
    }
    return false;
}

bool Parser::parse_operator(Piece* left) {
    if (token_.is_keyword("AND") || token_.is_keyword("OR"))
        return parse_logic(left, token_.is_keyword("AND"));
    Arithmetic operation{};
    if (arithmetic_of(token_, &operation)) {
        return parse_arithmetic(left, operation, binding_of_operator());
    }
    return parse_comparison(left);
}

bool Parser::parse_logic(Piece* left, bool is_and) {
    advance(LexerMode::value);
    const Binding binding = is_and ? Binding::and_ : Binding::or_;
    const std::uint32_t jump = here();
    if (left->is_boolean) {
        emit(is_and ? Operation::exit_if_false : Operation::exit_if_true, -1);
    } else {
        emit(is_and ? Operation::test_false : Operation::test_true, 0);
    }
    Piece right;
    if (!parse(tighter(binding), &right)) return false;
    if (!left->is_boolean) {
        emit(is_and ? Operation::merge_and : Operation::merge_or, -1);
    } else if (!right.is_truth) {
        emit(Operation::truth, 0);
    }
    program_.code[jump].target = here();
    *left = {.begin = left->begin, .is_boolean = left->is_boolean && right.is_boolean, .is_truth = true};
    return true;
}

bool Parser::parse_arithmetic(Piece* left, Arithmetic operation, Binding binding) {
    advance(LexerMode::value);
    Piece right;
    if (!parse(tighter(binding), &right)) return false;
    emit(Operation::calculate, -1).detail = static_cast<std::uint8_t>(operation);
    *left = {.begin = left->begin};
    return true;
}

bool Parser::parse_comparison(Piece* left) {
    const bool is_negated = token_.is_keyword("NOT");
    if (is_negated) advance(LexerMode::operator_);
    Comparison comparison{};
    bool ok = true;
    if (comparison_of(token_, &comparison))
        ok = parse_relation(left, comparison);
    else if (token_.is_keyword("BETWEEN"))
        ok = parse_between(left);
    else if (token_.is_keyword("LIKE"))
        ok = parse_like();
    else if (token_.is_keyword("IN"))
        ok = parse_list(ListTest::equal);
    else if (token_.is_keyword("BEGINS"))
        ok = parse_list(ListTest::begins);
    else if (token_.is_keyword("ENDS"))
        ok = parse_list(ListTest::ends);
    else if (token_.is_keyword("IS") && !is_negated)
        ok = parse_is(left);
    else
        return fail_here("LIKE, IN, BETWEEN, BEGINS WITH or ENDS WITH");
    if (!ok) return false;
    if (is_negated) emit(Operation::negation, 0);
    *left = {.begin = left->begin, .is_boolean = true, .is_truth = true};
    return true;
}

bool Parser::parse_relation(Piece* left, Comparison comparison) {
    advance(LexerMode::value);
    Piece right;
    if (!parse(tighter(Binding::comparison), &right)) return false;
    fuse(*left, right, comparison);
    return true;
}

// The commonest comparison, a field with a literal, is one instruction.
void Parser::fuse(const Piece& left, const Piece& right, Comparison comparison) {
    const bool is_mirrored = left.is_constant && right.is_field;
    if (!is_mirrored && !(left.is_field && right.is_constant)) {
        emit(Operation::compare, -1).detail = static_cast<std::uint8_t>(comparison);
        return;
    }
    const Instruction second = program_.code.back();
    program_.code.pop_back();
    const Instruction first = program_.code.back();
    program_.code.pop_back();
    stack_ -= 2;
    Instruction& fused = emit(Operation::compare_field, 1);
    fused.detail = static_cast<std::uint8_t>(is_mirrored ? mirrored(comparison) : comparison);
    fused.field = is_mirrored ? second.field : first.field;
    fused.operand = is_mirrored ? first.operand : second.operand;
}

bool Parser::parse_between(Piece* left) {
    advance(LexerMode::value);
    Piece low;
    Piece high;
    if (!parse(tighter(Binding::comparison), &low)) return false;
    if (!token_.is_keyword("AND")) return fail_here("AND and the upper bound of BETWEEN");
    advance(LexerMode::value);
    if (!parse(tighter(Binding::comparison), &high)) return false;
    emit(Operation::between, -2);
    *left = {.begin = left->begin};
    return true;
}

bool Parser::parse_like() {
    advance(LexerMode::value);
    std::uint32_t pattern = 0;
    if (!parse_pattern(&pattern)) return false;
    if (pattern == kNullPattern)
        emit(Operation::list_end, 0);  // beside NULL everything is FALSE
    else
        emit(Operation::like, 0).operand = pattern;
    return true;
}

bool Parser::parse_pattern(std::uint32_t* index) {
    if (token_.kind != TokenKind::text) return fail_here("a pattern in quotes");
    if (!count_term(token_.offset)) return false;
    const std::string pattern = decode_pattern(token_.text);
    if (pattern.size() > kLiteralSizeMax) {
        return fail_here("a pattern of at most " + std::to_string(kLiteralSizeMax) + " bytes");
    }
    if (pattern.empty()) {
        *index = kNullPattern;
        advance(LexerMode::operator_);
        return true;
    }
    auto compiled = Pattern::compile(pattern);
    if (!compiled) {
        const std::size_t quote = token_.text.find(token_.text.back());
        return fail(
            token_.offset + quote + 1 + std::min(compiled.error().offset, token_.text.size() - quote - 2),
            "a valid pattern (" + compiled.error().text + ")");
    }
    *index = static_cast<std::uint32_t>(program_.patterns.size());
    program_.patterns.push_back(std::move(*compiled));
    advance(LexerMode::operator_);
    return true;
}

// IN (a, b), BEGINS WITH (a, b): literals that follow each other are one instruction.
bool Parser::parse_list(ListTest test) {
    if (test != ListTest::equal) {
        advance(LexerMode::operator_);
        if (!token_.is_keyword("WITH")) return fail_here("WITH");
    }
    advance(LexerMode::value);
    if (!expect("(", LexerMode::value)) return false;
    std::vector<std::uint32_t> jumps;
    while (true) {
        Piece item;
        if (!parse(Binding::none, &item)) return false;
        if (item.is_constant) {
            const std::uint32_t constant = program_.code.back().operand;
            program_.code.pop_back();
            --stack_;
            Instruction* group = program_.code.empty() ? nullptr : &program_.code.back();
            if (!jumps.empty() && jumps.back() + 1 == here() &&
                group->operation == Operation::list_constants) {
                ++group->count;
            } else {
                jumps.push_back(here());
                Instruction& made = emit(Operation::list_constants, 0);
                made.detail = static_cast<std::uint8_t>(test);
                made.operand = constant;
                made.count = 1;
            }
        } else {
            jumps.push_back(here());
            emit(Operation::list_item, -1).detail = static_cast<std::uint8_t>(test);
            jumps.back() = here() - 1;
        }
        if (!token_.is(",")) break;
        advance(LexerMode::value);
    }
    emit(Operation::list_end, 0);
    for (const std::uint32_t jump : jumps) program_.code[jump].target = here();
    return expect(")", LexerMode::operator_);
}

bool Parser::parse_is(Piece* left) {
    advance(LexerMode::operator_);
    const bool is_negated = token_.is_keyword("NOT");
    if (is_negated) advance(LexerMode::operator_);
    if (token_.is_keyword("NULL"))
        emit(Operation::is_null, 0);
    else if (token_.is_keyword("NAN"))
        emit(Operation::is_nan, 0);
    else
        return fail_here(is_negated ? "NULL or NAN" : "NULL, NAN or NOT");
    if (is_negated) emit(Operation::negation, 0);
    *left = {.begin = left->begin};
    advance(LexerMode::operator_);
    return true;
}

}  // namespace pinnace::expr
