// SPDX-License-Identifier: Apache-2.0
// What one line of a scenario file means, once it is split into tokens.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "bindings/cli/scenario/parse.h"

namespace pinnace::scenario {

struct SourceLine {
    int number = 0;
    std::string_view text;
    std::vector<Token> tokens;
};

// A line with the lines of its `<<WORD … WORD` block, if it has one.
struct Statement {
    SourceLine head;
    bool has_block = false;
    std::vector<SourceLine> block;  // tokens are not split yet
};

bool is_definition(std::string_view word);

// `tokens` begin with the definition's first word.
std::expected<Definition, ParseError> parse_definition(const Statement& statement,
                                                       std::span<const Token> tokens);
std::expected<Step, ParseError> parse_command(const Statement& statement);

}  // namespace pinnace::scenario
