// SPDX-License-Identifier: Apache-2.0
// Functions that choose, functions of arrays, and functions of the message itself.
#include <cmath>

#include "core/expr/function_bodies.h"
#include "core/expr/number.h"

namespace pinnace::expr::bodies {
namespace {

double seconds(std::int64_t time_ns) { return static_cast<double>(time_ns) / 1e9; }

Arguments elements_of(const Value& value, Arguments arguments) {
    return value.is_array() ? value.as_array() : arguments.first(1);
}

}  // namespace

Value if_(EvalContext&, Arguments arguments) {
    return truth_of(arguments[0]).is_true() ? arguments[1] : arguments[2];
}

Value coalesce(EvalContext&, Arguments arguments) {
    for (const Value& argument : arguments) {
        if (!argument.is_null()) return argument;
    }
    return {};
}

Value nullif(EvalContext&, Arguments arguments) {
    return compare(Comparison::equal, arguments[0], arguments[1]) ? Value() : arguments[0];
}

// All elements, NULLs too, since they keep their place.
Value array_count(EvalContext&, Arguments arguments) {
    return Value::integer(static_cast<std::int64_t>(elements_of(arguments[0], arguments).size()));
}

// The three below skip NULLs, as aggregates do.
Value array_min(EvalContext& context, Arguments arguments) {
    return least(context, elements_of(arguments[0], arguments));
}

Value array_max(EvalContext& context, Arguments arguments) {
    return greatest(context, elements_of(arguments[0], arguments));
}

Value array_sum(EvalContext&, Arguments arguments) {
    Value sum;
    for (const Value& element : elements_of(arguments[0], arguments)) {
        if (element.is_null()) continue;
        sum = sum.is_null() ? number_of(element) : calculate(Arithmetic::add, sum, element);
    }
    return sum;
}

Value bookmark(EvalContext& context, Arguments) { return Value::text(context.facts.bookmark); }
Value topic_name(EvalContext& context, Arguments) { return Value::text(context.facts.topic); }
Value correlation_id(EvalContext& context, Arguments) { return Value::text(context.facts.correlation_id); }
Value message_size(EvalContext& context, Arguments) { return Value::unsigned_integer(context.facts.size); }

Value unix_timestamp(EvalContext& context, Arguments) { return Value::real(seconds(context.facts.now_ns)); }

Value last_leased(EvalContext& context, Arguments) {
    if (!context.facts.in_queue || !context.facts.was_leased) return {};
    return Value::real(seconds(context.facts.last_leased_ns));
}

Value lease_count(EvalContext& context, Arguments) {
    return context.facts.in_queue ? Value::integer(context.facts.lease_count) : Value();
}

}  // namespace pinnace::expr::bodies
