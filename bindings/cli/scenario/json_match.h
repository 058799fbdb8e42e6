// SPDX-License-Identifier: Apache-2.0
// Compares JSON by value: members in any order, numbers by value, and in what is wanted the string "*"
// matches anything.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace pinnace::scenario {

struct JsonRules {
    bool null_is_absent = false;  // rows of views: a null member and a missing one are equal
};

// Texts that are not JSON, on either side, are equal only byte by byte.
bool json_matches(std::string_view wanted, std::string_view got, JsonRules rules = {});

bool is_json(std::string_view text);

// Whether the rows can be paired with the wanted ones, each with one of its own, in any order.
bool rows_match(std::span<const std::string> wanted, std::span<const std::string> got, JsonRules rules);

}  // namespace pinnace::scenario
