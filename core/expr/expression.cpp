// SPDX-License-Identifier: Apache-2.0
#include "core/expr/expression.h"

#include <algorithm>
#include <utility>

#include "core/check.h"
#include "core/expr/evaluate.h"
#include "core/expr/parser.h"
#include "core/expr/program.h"

namespace pinnace::expr {

Expression::Expression(std::shared_ptr<const Program> program) : program_(std::move(program)) {
    if (!program_->paths.empty()) slot_end_ = SIZE_MAX;
}

std::expected<Expression, CompileError> Expression::compile(std::string_view text,
                                                            const CompileOptions& options) {
    std::expected<Program, CompileError> program = Parser(text, options).run();
    if (!program) return std::unexpected(std::move(program.error()));
    return Expression(std::make_shared<const Program>(std::move(*program)));
}

void Expression::bind(FieldSet& set) {
    slots_.clear();
    slot_end_ = 0;
    for (const Path& path : program_->paths) {
        slots_.push_back(set.add(path));
        slot_end_ = std::max<std::size_t>(slot_end_, slots_.back() + std::size_t{1});
    }
    conjunction_.make(*program_, slots_.data());
}

Value Expression::eval(const FieldValues& values, EvalContext& context) const {
    PINNACE_CHECK(slot_end_ <= values.size());
    return run(*program_, slots_.data(), values.data(), context);
}

// Four functions instead of one, each of which ends with a call of the next: so the short ways save no
// register for what only the long ones need.
bool Expression::matches(const FieldValues& values, EvalContext& context) const {
    PINNACE_CHECK(slot_end_ <= values.size());
    if (!conjunction_.is_made()) return matches_by_machine(values, context);
    if (values.fixed_body() != nullptr) return matches_fixed(values, context);
    return matches_values(values, context);
}

bool Expression::matches_fixed(const FieldValues& values, EvalContext& context) const {
    if (!fixed_.is_for(values.fixed_loads())) [[unlikely]]
        return matches_new_layout(values, context);
    if (fixed_.is_made()) return fixed_.test(values.fixed_body());
    return matches_values(values, context);
}

bool Expression::matches_new_layout(const FieldValues& values, EvalContext& context) const {
    fixed_.make(conjunction_, values.fixed_loads());
    return matches_fixed(values, context);
}

bool Expression::matches_values(const FieldValues& values, EvalContext& context) const {
    const Conjunction::Answer answer = conjunction_.test(values.data());
    if (answer != Conjunction::Answer::unknown) return answer == Conjunction::Answer::yes;
    return matches_by_machine(values, context);
}

bool Expression::matches_by_machine(const FieldValues& values, EvalContext& context) const {
    return truth_of(run(*program_, slots_.data(), values.data(), context)).is_true();
}

std::string_view Expression::text() const { return program_->text; }
std::span<const Path> Expression::fields() const { return program_->paths; }
FunctionSet Expression::functions() const { return program_->functions; }

}  // namespace pinnace::expr
