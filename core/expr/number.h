// SPDX-License-Identifier: Apache-2.0
// Numbers of the language: reading them from text, exact comparison, and arithmetic that stays whole as long
// as 64 bits hold the result.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/expr/value.h"

namespace pinnace::expr {

// The number that all of `text` is: digits with an optional sign, or a decimal with an optional exponent. No
// blanks, no hex, no inf, no nan. What 64 bits do not hold is a double. False: no number.
bool parse_number(std::string_view text, Value* number);

// How two values stand to each other. The numbers are the bits' places in a Comparison.
enum class Order : std::uint8_t { less = 0, equal = 1, greater = 2, none = 3 };

// Exact, also between integers and doubles; none if one is NaN. Booleans count as 1 and 0.
Order order_numbers(const Value& left, const Value& right);

// A comparison as the set of orders for which it is true: bit `Order` is set.
enum class Comparison : std::uint8_t {
    less = 0b0001,
    less_equal = 0b0011,
    equal = 0b0010,
    greater_equal = 0b0110,
    greater = 0b0100,
    not_equal = 0b1101,  // NaN differs from everything
};
inline bool holds(Comparison comparison, Order order) {
    return ((static_cast<unsigned>(comparison) >> static_cast<unsigned>(order)) & 1) != 0;
}
// The comparison with its sides exchanged.
Comparison mirrored(Comparison comparison);

// Scalars that are not NULL: numbers by value, texts by bytes, a text beside a number by the number that it
// is, else it is greater.
Order order_scalars(const Value& left, const Value& right);

// The whole rule: NULL is FALSE, an array is true if any of its elements is.
bool compare(Comparison comparison, const Value& left, const Value& right);

enum class Arithmetic : std::uint8_t { add, subtract, multiply, divide, modulo };

// Values of any kind, as number_of() sees them.
Value calculate(Arithmetic operation, const Value& left, const Value& right);
Value negate(const Value& value);

// Of numbers (not NULL): the nearest double.
double as_double(const Value& number);

}  // namespace pinnace::expr
