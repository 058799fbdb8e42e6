// SPDX-License-Identifier: Apache-2.0
#include "core/expr/number.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/expr/bytes.h"

namespace pinnace::expr {
namespace {

__extension__ using Wide = __int128;

bool is_digit(char character) { return character >= '0' && character <= '9'; }

std::size_t skip_digits(std::string_view text, std::size_t at) {
    while (at < text.size() && is_digit(text[at])) ++at;
    return at;
}

// A decimal that no double holds: infinite or zero. Its digits are well-formed.
double beyond_double(std::string_view digits, bool is_negative) {
    long exponent = 0;
    const std::size_t mark = digits.find_first_of("eE");
    if (mark != std::string_view::npos) {
        std::string_view text = digits.substr(mark + 1);
        const bool is_small = text[0] == '-';
        if (text[0] == '+' || text[0] == '-') text.remove_prefix(1);
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), exponent);
        if (error != std::errc{}) exponent = std::numeric_limits<int>::max();
        if (is_small) exponent = -exponent;
    }
    // The exponent of the first digit that is not zero decides.
    const std::string_view mantissa = digits.substr(0, mark);
    const std::size_t point = std::min(mantissa.find('.'), mantissa.size());
    const std::size_t first = mantissa.find_first_not_of("0.");
    if (first == std::string_view::npos) return is_negative ? -0.0 : 0.0;
    const double magnitude =
        static_cast<double>(point) - static_cast<double>(first) + static_cast<double>(exponent);
    const double value = magnitude > 0 ? std::numeric_limits<double>::infinity() : 0.0;
    return is_negative ? -value : value;
}

Value decimal(std::string_view digits, bool is_negative) {
    double value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error == std::errc::result_out_of_range) return Value::real(beyond_double(digits, is_negative));
    return Value::real(is_negative ? -value : value);
}

Order order_doubles(double left, double right) {
    if (left < right) return Order::less;
    if (left == right) return Order::equal;
    return left > right ? Order::greater : Order::none;
}

Order reversed(Order order) {
    if (order == Order::less) return Order::greater;
    return order == Order::greater ? Order::less : order;
}

// Compares what is before the point as integers, then what is after it: no rounding anywhere.
Order order_signed_double(std::int64_t left, double right) {
    if (std::isnan(right)) return Order::none;
    if (right >= 0x1p63) return Order::less;
    if (right < -0x1p63) return Order::greater;
    const auto whole = static_cast<std::int64_t>(right);
    if (left != whole) return left < whole ? Order::less : Order::greater;
    return order_doubles(0.0, right - static_cast<double>(whole));
}

Order order_unsigned_double(std::uint64_t left, double right) {
    if (std::isnan(right)) return Order::none;
    if (right >= 0x1p64) return Order::less;
    if (right < 0) return Order::greater;
    const auto whole = static_cast<std::uint64_t>(right);
    if (left != whole) return left < whole ? Order::less : Order::greater;
    return order_doubles(0.0, right - static_cast<double>(whole));
}

Order order_integer_double(const Value& left, double right) {
    if (left.kind() == Kind::unsigned_integer) return order_unsigned_double(left.as_unsigned(), right);
    return order_signed_double(left.as_integer(), right);
}

Wide wide(const Value& integer) {
    if (integer.kind() == Kind::unsigned_integer) return static_cast<Wide>(integer.as_unsigned());
    return integer.as_integer();
}

Value narrowed(Wide value) {
    if (value >= std::numeric_limits<std::int64_t>::min() &&
        value <= std::numeric_limits<std::int64_t>::max()) {
        return Value::integer(static_cast<std::int64_t>(value));
    }
    if (value >= 0 && value <= static_cast<Wide>(std::numeric_limits<std::uint64_t>::max())) {
        return Value::unsigned_integer(static_cast<std::uint64_t>(value));
    }
    return Value::real(static_cast<double>(value));
}

Value calculate_doubles(Arithmetic operation, double left, double right) {
    switch (operation) {
        case Arithmetic::add:
            return Value::real(left + right);
        case Arithmetic::subtract:
            return Value::real(left - right);
        case Arithmetic::multiply:
            return Value::real(left * right);
        case Arithmetic::divide:
            return Value::real(left / right);
        case Arithmetic::modulo:
            return Value::real(std::fmod(left, right));
    }
    return {};
}

Value calculate_integers(Arithmetic operation, Wide left, Wide right) {
    switch (operation) {
        case Arithmetic::add:
            return narrowed(left + right);
        case Arithmetic::subtract:
            return narrowed(left - right);
        case Arithmetic::multiply: {
            Wide product = 0;
            if (__builtin_mul_overflow(left, right, &product)) {
                return Value::real(static_cast<double>(left) * static_cast<double>(right));
            }
            return narrowed(product);
        }
        case Arithmetic::divide:
            return right == 0 ? Value() : narrowed(left / right);
        case Arithmetic::modulo:
            return right == 0 ? Value() : narrowed(left % right);
    }
    return {};
}

}  // namespace

bool parse_number(std::string_view text, Value* number) {
    if (text.empty()) return false;
    const bool is_negative = text[0] == '-';
    const std::string_view digits = text.substr(is_negative || text[0] == '+' ? 1 : 0);
    const std::size_t whole = skip_digits(digits, 0);
    if (whole == digits.size() && whole > 0) {
        std::uint64_t value = 0;
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
        if (error != std::errc{}) {
            *number = decimal(digits, is_negative);
        } else if (is_negative) {
            *number = narrowed(-static_cast<Wide>(value));
        } else {
            *number = Value::unsigned_integer(value);
        }
        return true;
    }
    std::size_t at = whole;
    std::size_t digit_count = whole;
    if (at < digits.size() && digits[at] == '.') {
        const std::size_t end = skip_digits(digits, at + 1);
        digit_count += end - at - 1;
        at = end;
    }
    if (digit_count == 0) return false;
    if (at < digits.size() && (digits[at] == 'e' || digits[at] == 'E')) {
        ++at;
        if (at < digits.size() && (digits[at] == '+' || digits[at] == '-')) ++at;
        const std::size_t end = skip_digits(digits, at);
        if (end == at) return false;
        at = end;
    }
    if (at != digits.size()) return false;
    *number = decimal(digits, is_negative);
    return true;
}

Order order_numbers(const Value& left, const Value& right) {
    if (left.kind() == Kind::real) {
        if (right.kind() == Kind::real) return order_doubles(left.as_real(), right.as_real());
        return reversed(order_integer_double(right, left.as_real()));
    }
    if (right.kind() == Kind::real) return order_integer_double(left, right.as_real());
    const Wide a = wide(left);
    const Wide b = wide(right);
    if (a == b) return Order::equal;
    return a < b ? Order::less : Order::greater;
}

Comparison mirrored(Comparison comparison) {
    switch (comparison) {
        case Comparison::less:
            return Comparison::greater;
        case Comparison::less_equal:
            return Comparison::greater_equal;
        case Comparison::greater_equal:
            return Comparison::less_equal;
        case Comparison::greater:
            return Comparison::less;
        case Comparison::equal:
        case Comparison::not_equal:
            break;
    }
    return comparison;
}

Order order_scalars(const Value& left, const Value& right) {
    if (left.is_text() && right.is_text()) {
        const int order = compare_bytes(left.as_text(), right.as_text());
        return order < 0 ? Order::less : order == 0 ? Order::equal : Order::greater;
    }
    if (left.is_text()) return reversed(order_scalars(right, left));
    if (right.is_text()) {
        Value number;
        if (parse_number(right.as_text(), &number)) return order_numbers(left, number);
        // A text that is no number is greater than every number; NaN is none.
        const bool is_nan = left.kind() == Kind::real && std::isnan(left.as_real());
        return is_nan ? Order::none : Order::less;
    }
    return order_numbers(left, right);
}

bool compare(Comparison comparison, const Value& left, const Value& right) {
    if (left.is_null() || right.is_null()) return false;
    if (left.is_array()) {
        for (const Value& element : left.as_array()) {
            if (compare(comparison, element, right)) return true;
        }
        return false;
    }
    if (right.is_array()) {
        for (const Value& element : right.as_array()) {
            if (compare(comparison, left, element)) return true;
        }
        return false;
    }
    return holds(comparison, order_scalars(left, right));
}

Value number_of(const Value& value) {
    const Value& scalar = first_of(value);
    switch (scalar.kind()) {
        case Kind::boolean:
            return Value::integer(scalar.as_integer());
        case Kind::text: {
            Value number;
            if (parse_number(scalar.as_text(), &number)) return number;
            return Value::real(std::numeric_limits<double>::quiet_NaN());
        }
        default:
            return scalar;
    }
}

Value truth_of(const Value& value) {
    const Value& scalar = first_of(value);
    switch (scalar.kind()) {
        case Kind::null:
        case Kind::boolean:
            return scalar;
        case Kind::real:
            return Value::boolean(scalar.as_real() != 0);
        case Kind::text: {
            Value number;
            return Value::boolean(parse_number(scalar.as_text(), &number) && truth_of(number).is_true());
        }
        default:
            return Value::boolean(scalar.as_unsigned() != 0);
    }
}

Value calculate(Arithmetic operation, const Value& left, const Value& right) {
    const Value a = number_of(left);
    const Value b = number_of(right);
    if (a.is_null() || b.is_null()) return {};
    if (a.kind() == Kind::real || b.kind() == Kind::real) {
        return calculate_doubles(operation, as_double(a), as_double(b));
    }
    return calculate_integers(operation, wide(a), wide(b));
}

Value negate(const Value& value) {
    const Value number = number_of(value);
    if (number.is_null()) return number;
    if (number.kind() == Kind::real) return Value::real(-number.as_real());
    return narrowed(-wide(number));
}

double as_double(const Value& number) {
    if (number.kind() == Kind::real) return number.as_real();
    if (number.kind() == Kind::unsigned_integer) return static_cast<double>(number.as_unsigned());
    return static_cast<double>(number.as_integer());
}

}  // namespace pinnace::expr
