// SPDX-License-Identifier: Apache-2.0
#include "bindings/cli/scenario/json_match.h"

#include <simdjson.h>

#include <cmath>
#include <optional>
#include <vector>

namespace pinnace::scenario {
namespace {

using simdjson::dom::element;
using simdjson::dom::element_type;

// Integers as a sign and a magnitude, so that all of them are compared exactly; everything else as a double.
struct Number {
    bool whole = false;
    bool negative = false;
    std::uint64_t magnitude = 0;
    double value = 0;

    bool operator==(const Number& other) const {
        if (whole != other.whole) return false;
        if (!whole) return value == other.value;
        return magnitude == other.magnitude && (negative == other.negative || magnitude == 0);
    }
};

Number number_of_double(double value) {
    if (std::trunc(value) != value || std::fabs(value) >= 0x1p64) return {false, false, 0, value};
    return {true, value < 0, static_cast<std::uint64_t>(std::fabs(value)), 0};
}

std::optional<Number> number_of(element value) {
    std::int64_t as_signed = 0;
    std::uint64_t as_unsigned = 0;
    double as_double = 0;
    switch (value.type()) {
        case element_type::INT64:
            if (value.get(as_signed) != simdjson::SUCCESS) return {};
            as_unsigned = static_cast<std::uint64_t>(as_signed);
            return Number{true, as_signed < 0, as_signed < 0 ? 0 - as_unsigned : as_unsigned, 0};
        case element_type::UINT64:
            if (value.get(as_unsigned) != simdjson::SUCCESS) return {};
            return Number{true, false, as_unsigned, 0};
        case element_type::DOUBLE:
            if (value.get(as_double) != simdjson::SUCCESS) return {};
            return number_of_double(as_double);
        default:
            return {};
    }
}

bool matches(element wanted, element got, JsonRules rules);

bool arrays_match(element wanted, element got, JsonRules rules) {
    simdjson::dom::array left;
    simdjson::dom::array right;
    if (wanted.get(left) != simdjson::SUCCESS || got.get(right) != simdjson::SUCCESS) return false;
    auto at = right.begin();
    for (const element item : left) {
        if (at == right.end() || !matches(item, *at, rules)) return false;
        ++at;
    }
    return at == right.end();
}

std::size_t member_count(const simdjson::dom::object& object, JsonRules rules) {
    std::size_t count = 0;
    for (const auto member : object) count += rules.null_is_absent && member.value.is_null() ? 0 : 1;
    return count;
}

bool objects_match(element wanted, element got, JsonRules rules) {
    simdjson::dom::object left;
    simdjson::dom::object right;
    if (wanted.get(left) != simdjson::SUCCESS || got.get(right) != simdjson::SUCCESS) return false;
    if (member_count(left, rules) != member_count(right, rules)) return false;
    for (const auto member : left) {
        if (rules.null_is_absent && member.value.is_null()) continue;
        element other;
        if (right.at_key(member.key).get(other) != simdjson::SUCCESS) return false;
        if (!matches(member.value, other, rules)) return false;
    }
    return true;
}

// The depth is bounded by the parser's.
bool matches(element wanted, element got, JsonRules rules) {
    std::string_view left;
    if (wanted.get(left) == simdjson::SUCCESS) {
        std::string_view right;
        return left == "*" || (got.get(right) == simdjson::SUCCESS && left == right);
    }
    if (const auto number = number_of(wanted)) return number == number_of(got);
    switch (wanted.type()) {
        case element_type::ARRAY:
            return got.is_array() && arrays_match(wanted, got, rules);
        case element_type::OBJECT:
            return got.is_object() && objects_match(wanted, got, rules);
        case element_type::NULL_VALUE:
            return got.is_null();
        case element_type::BOOL: {
            bool left_flag = false;
            bool right_flag = false;
            return wanted.get(left_flag) == simdjson::SUCCESS && got.get(right_flag) == simdjson::SUCCESS &&
                   left_flag == right_flag;
        }
        default:
            return false;
    }
}

// Looks for a partner of `row` that is free, or whose own partner can move on (augmenting paths).
bool find_partner(std::size_t row, const std::vector<std::vector<bool>>& fits, std::vector<bool>& tried,
                  std::vector<std::size_t>& partner_of) {
    for (std::size_t at = 0; at < partner_of.size(); ++at) {
        if (!fits[row][at] || tried[at]) continue;
        tried[at] = true;
        if (partner_of[at] == SIZE_MAX || find_partner(partner_of[at], fits, tried, partner_of)) {
            partner_of[at] = row;
            return true;
        }
    }
    return false;
}

}  // namespace

bool json_matches(std::string_view wanted, std::string_view got, JsonRules rules) {
    if (wanted == got) return true;
    simdjson::dom::parser left_parser;
    simdjson::dom::parser right_parser;
    element left;
    element right;
    const simdjson::padded_string left_text(wanted);
    const simdjson::padded_string right_text(got);
    if (left_parser.parse(left_text).get(left) != simdjson::SUCCESS) return false;
    if (right_parser.parse(right_text).get(right) != simdjson::SUCCESS) return false;
    return matches(left, right, rules);
}

bool is_json(std::string_view text) {
    simdjson::dom::parser parser;
    element value;
    return parser.parse(simdjson::padded_string(text)).get(value) == simdjson::SUCCESS;
}

bool rows_match(std::span<const std::string> wanted, std::span<const std::string> got, JsonRules rules) {
    if (wanted.size() != got.size()) return false;
    std::vector<std::vector<bool>> fits(wanted.size(), std::vector<bool>(got.size()));
    for (std::size_t row = 0; row < wanted.size(); ++row) {
        for (std::size_t at = 0; at < got.size(); ++at)
            fits[row][at] = json_matches(wanted[row], got[at], rules);
    }
    std::vector<std::size_t> partner_of(got.size(), SIZE_MAX);
    for (std::size_t row = 0; row < wanted.size(); ++row) {
        std::vector<bool> tried(got.size());
        if (!find_partner(row, fits, tried, partner_of)) return false;
    }
    return true;
}

}  // namespace pinnace::scenario
