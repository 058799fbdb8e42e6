// SPDX-License-Identifier: Apache-2.0
#include "core/expr/fixed_load.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <string_view>

namespace pinnace::expr {
namespace {

template <class Unsigned>
Unsigned load_bytes(const char* at, bool is_big_endian) {
    Unsigned value;
    std::memcpy(&value, at, sizeof value);
    return is_big_endian ? std::byteswap(value) : value;
}

// A half: 1 bit sign, 5 bits exponent, 10 bits fraction.
double half_of(std::uint16_t bits) {
    const int exponent = (bits >> 10) & 31;
    const double fraction = bits & 1023;
    double value = 0;
    if (exponent == 31)
        value = fraction == 0 ? INFINITY : NAN;
    else if (exponent == 0)
        value = std::ldexp(fraction, -24);
    else
        value = std::ldexp(1024 + fraction, exponent - 25);
    return (bits & 0x8000) != 0 ? -value : value;
}

std::string_view without_trailing_zeros(std::string_view text) {
    while (!text.empty() && text.back() == '\0') text.remove_suffix(1);
    return text;
}

Value text_of_field(const char* at, char code, std::uint32_t count) {
    if (code == 's') return Value::text(without_trailing_zeros({at, count}));
    if (count == 0) return {};
    const std::size_t size = std::min<std::size_t>(static_cast<unsigned char>(at[0]), count - 1);
    return Value::text({at + 1, size});
}

Value load_rare(const char* at, char code, bool is_big_endian) {
    switch (code) {
        case 'c':
            return Value::text(without_trailing_zeros({at, 1}));
        case '?':
            return Value::boolean(*at != 0);
        case 'e':
            return Value::real(half_of(load_bytes<std::uint16_t>(at, is_big_endian)));
        case 'f':
            return Value::real(std::bit_cast<float>(load_bytes<std::uint32_t>(at, is_big_endian)));
        case 'b':
            return Value::integer(static_cast<signed char>(*at));
        case 'B':
            return Value::integer(static_cast<unsigned char>(*at));
        case 'h':
            return Value::integer(static_cast<std::int16_t>(load_bytes<std::uint16_t>(at, is_big_endian)));
        case 'H':
            return Value::integer(load_bytes<std::uint16_t>(at, is_big_endian));
        default:
            return {};
    }
}

}  // namespace

// Native long integers are named q and Q by then, pointers Q, short ones i and I.
Value load_element(const char* body, const FixedLoad& load, std::uint32_t index) {
    const char* const at = body + load.offset + std::size_t{index} * load.size;
    if (load.is_text) return text_of_field(at, load.code, load.count);
    const bool is_big_endian = load.is_big_endian;
    switch (load.code) {
        case 'q':
            return Value::integer(static_cast<std::int64_t>(load_bytes<std::uint64_t>(at, is_big_endian)));
        case 'd':
            return Value::real(std::bit_cast<double>(load_bytes<std::uint64_t>(at, is_big_endian)));
        case 'i':
            return Value::integer(static_cast<std::int32_t>(load_bytes<std::uint32_t>(at, is_big_endian)));
        case 'I':
            return Value::integer(load_bytes<std::uint32_t>(at, is_big_endian));
        case 'Q':
            return Value::unsigned_integer(load_bytes<std::uint64_t>(at, is_big_endian));
        default:
            return load_rare(at, load.code, is_big_endian);
    }
}

}  // namespace pinnace::expr
