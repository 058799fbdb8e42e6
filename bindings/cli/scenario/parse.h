// SPDX-License-Identifier: Apache-2.0
// Reads a scenario file. Everything that can be wrong with its form is found here, before anything runs.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "bindings/cli/scenario/scenario.h"

namespace pinnace::scenario {

struct ParseError {
    int line = 0;
    std::string text;  // what was expected, what was got, and the mend
};

std::expected<Scenario, ParseError> parse(std::string_view text);

}  // namespace pinnace::scenario
