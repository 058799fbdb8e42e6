// SPDX-License-Identifier: Apache-2.0
// Exact numbers (E): comparison and arithmetic against a wide model, texts that read back the same.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "core/expr/convert.h"
#include "core/expr/number.h"

namespace pinnace::expr {
namespace {

__extension__ using Wide = __int128;

// Where integers, unsigned integers and doubles meet.
std::vector<Value> edge_numbers() {
    std::vector<Value> numbers;
    for (const std::int64_t centre : {std::int64_t{0}, INT64_MAX - 3, INT64_MIN + 3, std::int64_t{1} << 53}) {
        for (std::int64_t step = -3; step <= 3; ++step) numbers.push_back(Value::integer(centre + step));
    }
    for (const std::uint64_t value :
         {UINT64_MAX, UINT64_MAX - 1, std::uint64_t{1} << 63, (std::uint64_t{1} << 63) + 1}) {
        numbers.push_back(Value::unsigned_integer(value));
    }
    for (const double value :
         {0.0, 0.5, 1.0, 1.5, 0x1p53, 0x1p63, 0x1p64, 1e300, 0x1.fffffffffffffp62, 0x1.fffffffffffffp63}) {
        numbers.push_back(Value::real(value));
        numbers.push_back(Value::real(-value));
    }
    return numbers;
}

// x87's long double holds every 64-bit integer and every double exactly.
long double exact(const Value& value) {
    if (value.kind() == Kind::real) return value.as_real();
    if (value.kind() == Kind::unsigned_integer) return value.as_unsigned();
    return value.as_integer();
}

TEST(Numbers, AreComparedByTheirExactValues) {
    static_assert(std::numeric_limits<long double>::digits >= 64);
    for (const Value& left : edge_numbers()) {
        for (const Value& right : edge_numbers()) {
            const long double a = exact(left);
            const long double b = exact(right);
            const Order wanted = a < b ? Order::less : a == b ? Order::equal : Order::greater;
            EXPECT_EQ(order_numbers(left, right), wanted) << json_of(left) << " and " << json_of(right);
        }
    }
}

TEST(Numbers, AllIntegersOfFewBitsCalculateAsWideOnesDo) {
    for (int a = -20; a <= 20; ++a) {
        for (int b = -20; b <= 20; ++b) {
            const auto calculated = [&](Arithmetic operation) {
                return calculate(operation, Value::integer(a), Value::integer(b));
            };
            EXPECT_EQ(calculated(Arithmetic::add).as_integer(), a + b);
            EXPECT_EQ(calculated(Arithmetic::subtract).as_integer(), a - b);
            EXPECT_EQ(calculated(Arithmetic::multiply).as_integer(), a * b);
            if (b == 0) {
                EXPECT_TRUE(calculated(Arithmetic::divide).is_null());
                EXPECT_TRUE(calculated(Arithmetic::modulo).is_null());
            } else {
                EXPECT_EQ(calculated(Arithmetic::divide).as_integer(), a / b);
                EXPECT_EQ(calculated(Arithmetic::modulo).as_integer(), a % b);
            }
        }
    }
}

TEST(Numbers, IntegersStayWholeAsLongAsSixtyFourBitsHoldThem) {
    for (const Value& left : edge_numbers()) {
        for (const Value& right : edge_numbers()) {
            if (left.kind() == Kind::real || right.kind() == Kind::real) continue;
            const Wide a = left.kind() == Kind::integer ? Wide{left.as_integer()} : Wide{left.as_unsigned()};
            const Wide b =
                right.kind() == Kind::integer ? Wide{right.as_integer()} : Wide{right.as_unsigned()};
            const Value sum = calculate(Arithmetic::add, left, right);
            const bool is_whole = a + b >= Wide{INT64_MIN} && a + b <= Wide{UINT64_MAX};
            ASSERT_EQ(sum.kind() != Kind::real, is_whole) << json_of(left) << " + " << json_of(right);
            if (!is_whole) {
                EXPECT_EQ(sum.as_real(), static_cast<double>(a + b));
            } else {
                EXPECT_EQ(sum.as_unsigned(), static_cast<std::uint64_t>(a + b));
            }
        }
    }
}

TEST(Numbers, TheirTextReadsBackTheSame) {
    std::mt19937_64 random(20261130);
    std::array<char, kNumberTextSizeMax> buffer;
    for (int i = 0; i < 20'000; ++i) {
        const double value = std::bit_cast<double>(random());
        if (!std::isfinite(value)) continue;
        const std::string text(text_of(Value::real(value), buffer));
        Value back;
        ASSERT_TRUE(parse_number(text, &back)) << text;
        ASSERT_EQ(as_double(back), value) << text;
    }
    for (int i = 0; i < 1000; ++i) {
        const auto value = static_cast<std::int64_t>(random());
        Value back;
        ASSERT_TRUE(parse_number(text_of(Value::integer(value), buffer), &back));
        ASSERT_EQ(back.kind(), Kind::integer);
        ASSERT_EQ(back.as_integer(), value);
    }
}

TEST(Numbers, TheLongestTextFitsItsBuffer) {
    std::array<char, kNumberTextSizeMax> buffer;
    EXPECT_EQ(text_of(Value::real(-std::numeric_limits<double>::max()), buffer).size(), 310u);
    EXPECT_EQ(text_of(Value::real(-std::numeric_limits<double>::denorm_min()), buffer), "-5e-324");
}

TEST(Numbers, EveryShortTextIsANumberOrNoneByTheGrammar) {
    // All texts of up to five of these signs, against the grammar written as a table of states.
    const std::string signs = "+-.e07";
    const auto is_number = [](const std::string& text) {
        int state = 0;  // 0 begin, 1 sign, 2 whole, 3 point first, 4 fraction, 5 e, 6 sign of e, 7 exponent
        for (const char sign : text) {
            const bool is_digit = sign == '0' || sign == '7';
            const bool is_sign = sign == '+' || sign == '-';
            if (is_digit)
                state = state <= 2 ? 2 : state <= 4 ? 4 : 7;
            else if (is_sign && (state == 0 || state == 5))
                ++state;
            else if (sign == '.' && state <= 1)
                state = 3;
            else if (sign == '.' && state == 2)
                state = 4;
            else if (sign == 'e' && (state == 2 || state == 4))
                state = 5;
            else
                return false;
        }
        return state == 2 || state == 4 || state == 7;
    };
    std::vector<std::string> texts = {""};
    for (std::size_t i = 0; i < texts.size(); ++i) {
        Value number;
        ASSERT_EQ(parse_number(texts[i], &number), is_number(texts[i])) << texts[i];
        if (texts[i].size() == 5) continue;
        for (const char sign : signs) texts.push_back(texts[i] + sign);
    }
}

TEST(Priorities, AreUnsignedIntegersOrBelowAllOfThem) {  // P2
    EXPECT_EQ(priority_of(Value::integer(7)), 7u);
    EXPECT_EQ(priority_of(Value::integer(0)), 0u);
    EXPECT_EQ(priority_of(Value::real(7.9)), 7u);
    EXPECT_EQ(priority_of(Value::text("12")), 12u);
    EXPECT_EQ(priority_of(Value::text("12.5")), 12u);
    EXPECT_EQ(priority_of(Value::boolean(true)), 1u);
    EXPECT_EQ(priority_of(Value::boolean(false)), 0u);
    EXPECT_EQ(priority_of(Value::unsigned_integer(UINT64_MAX)), UINT64_MAX);
    EXPECT_EQ(priority_of(Value::real(0x1p64)), UINT64_MAX);
    EXPECT_EQ(priority_of(Value::real(INFINITY)), UINT64_MAX);
    EXPECT_EQ(priority_of(Value::real(0x1.fffffffffffffp63)), 18446744073709549568u);
    const std::array<Value, 2> elements = {Value::integer(3), Value::integer(9)};
    EXPECT_EQ(priority_of(Value::array(elements)), 3u);
    for (const Value& none : {Value(), Value::integer(-1), Value::real(-0.5), Value::real(NAN),
                              Value::real(-INFINITY), Value::text("high"), Value::text("-1")}) {
        EXPECT_EQ(priority_of(none), std::nullopt) << json_of(none);
    }
}

}  // namespace
}  // namespace pinnace::expr
