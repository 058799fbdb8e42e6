// SPDX-License-Identifier: Apache-2.0
// Expression: a filter, priority, group key or view field, compiled once and evaluated without allocation.
//
// How the parts fit: compile each distinct text once; bind it to the FieldSet of the topic that its messages
// come from; for each message let the topic's MessageReader fill one FieldValues from the set; then evaluate
// as many expressions as there are on it, with the thread's EvalContext.
//
//     FieldSet fields;
//     auto filter = Expression::compile("/px > 50 AND /side = 'buy'");
//     if (!filter) return refuse(filter.error().text);
//     filter->bind(fields);
//     reader.read(body, fields, values);
//     if (filter->matches(values, context)) ...
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/expr/conjunction.h"
#include "core/expr/eval_context.h"
#include "core/expr/field_set.h"
#include "core/expr/fixed_conjunction.h"
#include "core/expr/functions.h"
#include "core/expr/path.h"
#include "core/expr/program.h"
#include "core/expr/value.h"

namespace pinnace::expr {

// Bounds on what is compiled; beyond them it is a CompileError that says so.
inline constexpr std::size_t kTextSizeMax = 65'536;     // bytes of an expression
inline constexpr std::size_t kTermCountMax = 4'096;     // fields, literals and calls
inline constexpr std::size_t kDepthMax = 64;            // of parentheses, calls and prefixes in each other
inline constexpr std::size_t kLiteralSizeMax = 16'384;  // bytes of a quoted literal
inline constexpr std::size_t kArgumentCountMax = 64;    // of a call (IN is not a call: its list has no bound)

struct CompileOptions {
    FunctionSet refused = 0;        // functions that may not be used here, kChangingFunctions for example
    std::string_view place;         // where the expression stands ("Filter"), for the error of a refused one
    bool allow_aggregates = false;  // a view's fields; not built yet
};

struct CompileError {
    std::size_t column = 0;  // 1-based, in characters
    std::string expected;    // what was expected there, or what is wrong there
    // All of it, to be shown: "column 7: expected a value, found the end", then the text and the mark under
    // it, each on a line of its own.
    std::string text;
};

class Expression {
 public:
    static std::expected<Expression, CompileError> compile(std::string_view text,
                                                           const CompileOptions& options = {});

    // Enters the fields into the set; from then on values that were read with that set can be evaluated.
    // Before the first bind() only an expression that names no field can be evaluated.
    void bind(FieldSet& set);

    // What it gives for a message. A text or array of the result lives until the next evaluation with the
    // context, and no longer than the message.
    Value eval(const FieldValues& values, EvalContext& context) const;
    // True only if the result is TRUE by the three-valued rules.
    bool matches(const FieldValues& values, EvalContext& context) const;

    std::string_view text() const;
    std::span<const Path> fields() const;
    FunctionSet functions() const;  // which of the message functions it uses
    // Its value can change while the message stays as it is.
    bool changes_by_itself() const { return (functions() & kChangingFunctions) != 0; }

 private:
    explicit Expression(std::shared_ptr<const Program> program);
    [[gnu::noinline]] bool matches_fixed(const FieldValues& values, EvalContext& context) const;
    [[gnu::noinline]] bool matches_new_layout(const FieldValues& values, EvalContext& context) const;
    [[gnu::noinline]] bool matches_values(const FieldValues& values, EvalContext& context) const;
    [[gnu::noinline]] bool matches_by_machine(const FieldValues& values, EvalContext& context) const;

    std::shared_ptr<const Program> program_;
    std::vector<FieldSlot> slots_;    // by the program's own numbers of fields
    std::size_t slot_end_ = 0;        // above all of them; the largest number before bind()
    Conjunction conjunction_;         // if it is one
    mutable FixedConjunction fixed_;  // the same for the layout of the newest message of fixed layout
};

}  // namespace pinnace::expr
