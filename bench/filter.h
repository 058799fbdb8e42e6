// SPDX-License-Identifier: Apache-2.0
// Filter: what a filter of three terms costs for a message of each type: reading its fields and evaluating.
//
// For json one validating parse of the same messages by simdjson stands beside it, in turn with the filter in
// the same run. measured_filter is a function of its own so that callgrind can count what lies in it.
#pragma once

#include <array>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace pinnace::bench {

inline constexpr std::array<std::string_view, 8> kFilterTypes{"json",      "fix",     "nvfix", "struct",
                                                              "composite", "msgpack", "xml",   "binary"};

struct FilterFigures {
    std::string type;
    std::string filter;
    std::size_t messages = 0;
    std::size_t matches = 0;
    double ns_per_message = 0;
    double parse_ns = 0;  // json: simdjson's parse alone; else 0

    std::string to_json() const;
    std::string to_text() const;
};

// Messages of an exchange as that type would carry them. Some match the filter, some do not.
std::vector<std::string> filter_messages(std::string_view type, std::size_t count);

// `rounds` passes over the messages, the fastest of which counts. The error is a whole sentence.
std::expected<FilterFigures, std::string> filter(std::string_view type,
                                                 const std::vector<std::string>& messages, int rounds);

}  // namespace pinnace::bench
