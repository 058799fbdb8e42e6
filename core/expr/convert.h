// SPDX-License-Identifier: Apache-2.0
// What becomes of an expression's value: a priority, a group's id, a text, a line of JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/expr/value.h"

namespace pinnace::expr {

// Longest text of a number: 309 digits and a sign.
inline constexpr std::size_t kNumberTextSizeMax = 320;

// The text of a number or boolean in `buffer` (at least kNumberTextSizeMax): whole numbers without a point,
// other doubles in the shortest form that reads back the same, nan, inf, -inf, true, false. Texts are given
// back as they are, NULL as an empty one; of an array it is that of element 0.
std::string_view text_of(const Value& value, std::span<char> buffer);

// Rule P2: the unsigned 64-bit priority, nothing if the value is below every number.
std::optional<std::uint64_t> priority_of(const Value& value);

// The value as JSON on one line: NaN as "nan", infinities as "inf" and "-inf". Bytes that are not UTF-8 are
// written as U+FFFD, so that the line is JSON whatever the message held.
std::string json_of(const Value& value);

}  // namespace pinnace::expr
