// SPDX-License-Identifier: Apache-2.0
// Functions of numbers. A text counts as the number that it is, NaN if it is none; integers stay integers
// where the result is whole by nature.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/expr/function_bodies.h"
#include "core/expr/number.h"

namespace pinnace::expr::bodies {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Applies `function` to a double; an integer is its own floor, ceiling and rounding.
template <class Function>
Value of_doubles_only(const Value& argument, Function function) {
    const Value number = number_of(argument);
    return number.kind() == Kind::real ? Value::real(function(number.as_real())) : number;
}

template <class Function>
Value of_any(const Value& argument, Function function) {
    return Value::real(function(as_double(number_of(argument))));
}

bool is_nan(const Value& number) { return number.kind() == Kind::real && std::isnan(number.as_real()); }

// The argument that stands in this order to all the others; NULLs are skipped, NaN is stronger than numbers.
Value extreme(Arguments arguments, Order order) {
    Value best;
    for (const Value& argument : arguments) {
        const Value number = number_of(argument);
        if (number.is_null()) continue;
        if (is_nan(number)) return number;
        if (best.is_null() || order_numbers(number, best) == order) best = number;
    }
    return best;
}

}  // namespace

Value abs(EvalContext&, Arguments arguments) {
    const Value number = number_of(arguments[0]);
    if (number.kind() == Kind::real) return Value::real(std::fabs(number.as_real()));
    const bool is_negative = number.kind() == Kind::integer && number.as_integer() < 0;
    return is_negative ? negate(number) : number;
}

Value ceiling(EvalContext&, Arguments arguments) {
    return of_doubles_only(arguments[0], [](double value) { return std::ceil(value); });
}

Value floor(EvalContext&, Arguments arguments) {
    return of_doubles_only(arguments[0], [](double value) { return std::floor(value); });
}

// ROUND(number[, places]): half away from zero; negative places round before the point.
Value round(EvalContext&, Arguments arguments) {
    const Value number = number_of(arguments[0]);
    if (arguments.size() == 1) {
        return of_doubles_only(number, [](double value) { return std::round(value); });
    }
    const double places = as_double(number_of(arguments[1]));
    if (std::isnan(places)) return Value::real(kNan);
    if (places >= 0 && number.kind() != Kind::real) return number;
    const double value = as_double(number);
    const double scale = std::pow(10.0, std::trunc(std::clamp(places, -400.0, 400.0)));
    // Beyond the digits that a double has there is nothing to round; beyond its size nothing is left.
    if (scale == 0) return Value::real(0);
    const double scaled = value * scale;
    if (!std::isfinite(scaled) || !std::isfinite(scale)) return Value::real(value);
    return Value::real(std::round(scaled) / scale);
}

Value sqrt(EvalContext&, Arguments arguments) {
    return of_any(arguments[0], [](double value) { return std::sqrt(value); });
}

Value power(EvalContext&, Arguments arguments) {
    return Value::real(std::pow(as_double(number_of(arguments[0])), as_double(number_of(arguments[1]))));
}

Value exp(EvalContext&, Arguments arguments) {
    return of_any(arguments[0], [](double value) { return std::exp(value); });
}

Value ln(EvalContext&, Arguments arguments) {
    return of_any(arguments[0], [](double value) { return std::log(value); });
}

Value log2(EvalContext&, Arguments arguments) {
    return of_any(arguments[0], [](double value) { return std::log2(value); });
}

Value log10(EvalContext&, Arguments arguments) {
    return of_any(arguments[0], [](double value) { return std::log10(value); });
}

// -1, 0 or 1; NaN of NaN.
Value sign(EvalContext&, Arguments arguments) {
    const Value number = number_of(arguments[0]);
    if (is_nan(number)) return number;
    switch (order_numbers(number, Value::integer(0))) {
        case Order::less:
            return Value::integer(-1);
        case Order::greater:
            return Value::integer(1);
        default:
            return Value::integer(0);
    }
}

Value greatest(EvalContext&, Arguments arguments) { return extreme(arguments, Order::greater); }
Value least(EvalContext&, Arguments arguments) { return extreme(arguments, Order::less); }

// WIDTH_BUCKET(value, low, high, count): the bucket of `count` equal ones from low to high that holds the
// value, 0 below and count + 1 from high on; from high to low if low is greater. NULL without buckets.
Value width_bucket(EvalContext&, Arguments arguments) {
    double value = as_double(number_of(arguments[0]));
    double low = as_double(number_of(arguments[1]));
    double high = as_double(number_of(arguments[2]));
    const double count = std::trunc(as_double(number_of(arguments[3])));
    if (std::isnan(value) || std::isnan(low) || std::isnan(high) || std::isnan(count))
        return Value::real(kNan);
    constexpr double kCountMax = 1e9;
    if (low == high || !std::isfinite(low) || !std::isfinite(high) || count < 1 || count > kCountMax)
        return {};
    if (low > high) {
        value = -value;
        low = -low;
        high = -high;
    }
    if (value < low) return Value::integer(0);
    if (value >= high) return Value::integer(static_cast<std::int64_t>(count) + 1);
    const double bucket = std::min(std::floor((value - low) / (high - low) * count), count - 1);
    return Value::integer(static_cast<std::int64_t>(bucket) + 1);
}

}  // namespace pinnace::expr::bodies
