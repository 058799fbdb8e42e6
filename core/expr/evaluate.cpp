// SPDX-License-Identifier: Apache-2.0
#include "core/expr/evaluate.h"

#include <cmath>
#include <cstring>

#include "core/expr/bytes.h"
#include "core/expr/number.h"
#include "core/expr/replace.h"

namespace pinnace::expr {
namespace {

template <class Number>
Order order_of(Number left, Number right) {
    if (left < right) return Order::less;
    if (left == right) return Order::equal;
    return left > right ? Order::greater : Order::none;
}

// The rule of compare() beside a constant whose number is known.
bool compare_constant(Comparison comparison, const Value& value, const Value& constant, const Value& number) {
    if (value.is_null() || constant.is_null()) return false;
    if (value.is_array()) {
        for (const Value& element : value.as_array()) {
            if (compare_constant(comparison, element, constant, number)) return true;
        }
        return false;
    }
    const bool is_number_known = constant.is_text() && !value.is_text() && !number.is_null();
    return holds(comparison, order_scalars(value, is_number_known ? number : constant));
}

// The comparison of a field with a literal: of the same kind, as almost always, in a few instructions.
inline bool compare_field(const Program& program, const Instruction& instruction, const Value& value) {
    const auto comparison = static_cast<Comparison>(instruction.detail);
    const Value& constant = program.constants[instruction.operand];
    if (value.kind() == constant.kind()) {
        if (value.kind() == Kind::integer) {
            return holds(comparison, order_of(value.as_integer(), constant.as_integer()));
        }
        if (value.kind() == Kind::real)
            return holds(comparison, order_of(value.as_real(), constant.as_real()));
        const bool is_equality = comparison == Comparison::equal || comparison == Comparison::not_equal;
        if (value.is_text() && is_equality) {
            const bool is_equal = equal_bytes(value.as_text(), constant.as_text());
            return holds(comparison, is_equal ? Order::equal : Order::none);
        }
    }
    return compare_constant(comparison, value, constant, program.numbers[instruction.operand]);
}

bool is_between(const Value& value, const Value& low, const Value& high) {
    if (value.is_array()) {
        for (const Value& element : value.as_array()) {
            if (is_between(element, low, high)) return true;
        }
        return false;
    }
    return compare(Comparison::greater_equal, value, low) && compare(Comparison::less_equal, value, high);
}

bool is_nan(const Value& value) {
    if (value.is_array()) {
        for (const Value& element : value.as_array()) {
            if (is_nan(element)) return true;
        }
        return false;
    }
    return value.kind() == Kind::real && std::isnan(value.as_real());
}

bool is_like(const Value& value, const Pattern& pattern, EvalContext& context) {
    if (value.is_null()) return false;
    if (value.is_array()) {
        for (const Value& element : value.as_array()) {
            if (is_like(element, pattern, context)) return true;
        }
        return false;
    }
    const Match match = pattern.match(context.text_of(value), 0, context.patterns());
    if (match == Match::limit) ++context.counters.match_limit_count;
    return match == Match::yes;
}

bool meets(ListTest test, const Value& value, const Value& item, EvalContext& context) {
    if (test == ListTest::equal) return compare(Comparison::equal, value, item);
    if (value.is_null() || item.is_null()) return false;
    if (value.is_array()) {
        for (const Value& element : value.as_array()) {
            if (meets(test, element, item, context)) return true;
        }
        return false;
    }
    if (item.is_array()) {
        for (const Value& element : item.as_array()) {
            if (meets(test, value, element, context)) return true;
        }
        return false;
    }
    const std::string_view text = context.text_of(value);
    const std::string_view part = context.text_of(item);
    return test == ListTest::begins ? text.starts_with(part) : text.ends_with(part);
}

bool meets_constant(const Program& program, const Instruction& list, const Value& value,
                    EvalContext& context) {
    const auto test = static_cast<ListTest>(list.detail);
    for (std::uint32_t i = list.operand; i < list.operand + list.count; ++i) {
        const Value& constant = program.constants[i];
        const bool met = test == ListTest::equal
                             ? compare_constant(Comparison::equal, value, constant, program.numbers[i])
                             : meets(test, value, constant, context);
        if (met) return true;
    }
    return false;
}

Value merge(const Value& left, const Value& right, bool is_and) {
    const Value a = truth_of(left);
    const Value b = truth_of(right);
    // FALSE decides an AND, TRUE an OR, whatever the other is.
    const auto decides = [is_and](const Value& value) { return is_and ? value.is_false() : value.is_true(); };
    if (decides(a) || decides(b)) return Value::boolean(!is_and);
    if (a.is_null() || b.is_null()) return {};
    return Value::boolean(is_and);
}

Value negation(const Value& value) {
    const Value truth = truth_of(value);
    return truth.is_null() ? truth : Value::boolean(!truth.is_true());
}

Value call(const Instruction& instruction, Value* arguments, EvalContext& context) {
    const Function& function = function_at(instruction.operand);
    for (std::uint32_t i = 0; i < instruction.count; ++i) {
        if (!function.takes_arrays) arguments[i] = first_of(arguments[i]);
        if (function.null_rule == NullRule::gives_null && arguments[i].is_null()) return {};
    }
    return function.body(context, {arguments, instruction.count});
}

// The stack machine's rarer instructions: `top` is the newest value, and the new top is given back.
Value* run_rare(const Program& program, const Instruction& instruction, Value* top, EvalContext& context) {
    switch (instruction.operation) {
        case Operation::negation:
            *top = negation(*top);
            return top;
        case Operation::negate:
            *top = negate(*top);
            return top;
        case Operation::calculate:
            top[-1] = calculate(static_cast<Arithmetic>(instruction.detail), top[-1], top[0]);
            return top - 1;
        case Operation::merge_and:
        case Operation::merge_or:
            top[-1] = merge(top[-1], top[0], instruction.operation == Operation::merge_and);
            return top - 1;
        case Operation::is_null:
            *top = Value::boolean(top->is_null());
            return top;
        case Operation::is_nan:
            *top = Value::boolean(is_nan(*top));
            return top;
        case Operation::between:
            top[-2] = Value::boolean(is_between(top[-2], top[-1], top[0]));
            return top - 2;
        case Operation::like:
            *top = Value::boolean(is_like(*top, program.patterns[instruction.operand], context));
            return top;
        case Operation::call: {
            Value* const arguments = top + 1 - instruction.count;
            *arguments = call(instruction, arguments, context);
            return arguments;
        }
        case Operation::forget:
            top[1 - static_cast<std::ptrdiff_t>(instruction.count)] = Value();
            return top + 1 - instruction.count;
        case Operation::regexp_match:
            *top = regexp_match(context, program.patterns[instruction.operand], first_of(*top));
            return top;
        case Operation::regexp_replace:
            top[-1] = regexp_replace(context, program.patterns[instruction.operand], first_of(top[-1]),
                                     first_of(top[0]));
            return top - 1;
        default:
            return top;
    }
}

}  // namespace

Value run(const Program& program, const FieldSlot* slots, const Value* fields, EvalContext& context) {
    context.texts().reset();
    Value* top = context.stack();  // one below the first value, which is never read
    const Instruction* const code = program.code.data();
    const Instruction* const end = code + program.code.size();
    for (const Instruction* at = code; at != end;) {
        const Instruction& instruction = *at++;
        switch (instruction.operation) {
            case Operation::branch_field: {
                const bool result = compare_field(program, instruction, fields[slots[instruction.field]]);
                const bool is_way_out = result == (instruction.count != 0);
                if (is_way_out) *++top = Value::boolean(result);
                at = is_way_out ? code + instruction.target : at + 1;  // past the exit that it stands for
                break;
            }
            case Operation::compare_field:
                *++top =
                    Value::boolean(compare_field(program, instruction, fields[slots[instruction.field]]));
                break;
            case Operation::constant:
                *++top = program.constants[instruction.operand];
                break;
            case Operation::field:
                *++top = fields[slots[instruction.field]];
                break;
            case Operation::truth:
                *top = truth_of(*top);
                break;
            case Operation::compare:
                top[-1] =
                    Value::boolean(compare(static_cast<Comparison>(instruction.detail), top[-1], top[0]));
                --top;
                break;
            case Operation::exit_if_false:
            case Operation::exit_if_true:
                if (top->is_true() == (instruction.operation == Operation::exit_if_true)) {
                    at = code + instruction.target;
                } else {
                    --top;
                }
                break;
            case Operation::test_false:
            case Operation::test_true:
                *top = truth_of(*top);
                if (instruction.operation == Operation::test_true ? top->is_true() : top->is_false()) {
                    at = code + instruction.target;
                }
                break;
            case Operation::list_constants:
                if (!meets_constant(program, instruction, *top, context)) break;
                *top = Value::boolean(true);
                at = code + instruction.target;
                break;
            case Operation::list_item:
                --top;
                if (!meets(static_cast<ListTest>(instruction.detail), top[0], top[1], context)) break;
                *top = Value::boolean(true);
                at = code + instruction.target;
                break;
            case Operation::list_end:
                *top = Value::boolean(false);
                break;
            default:
                top = run_rare(program, instruction, top, context);
                break;
        }
    }
    return *top;
}

}  // namespace pinnace::expr
