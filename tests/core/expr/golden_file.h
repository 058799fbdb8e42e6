// SPDX-License-Identifier: Apache-2.0
// Reads tests/golden/expressions.txt: lines of expression, message and result, parted by tabs.
//
// A line that begins with # is a comment. A line that begins with @ sets what holds from there on:
//   @type FORMAT [field_separator=C] [value_separator=C] [header=F]   the message type
//   @layout FIELD ...                                  of struct, parted by `;`
//   @facts NAME=VALUE ...                              what the message functions tell of
//   @refuse NAME ...                                   functions that may not be used
// In the message \xHH, \n, \t and \\ stand for bytes. The result is the value as JSON, or `error COLUMN
// WORD…`: the expression does not compile, at that column, and each word occurs in the error.
#pragma once

#include <string>
#include <vector>

#include "core/expr/expression.h"
#include "core/expr/reader.h"

namespace pinnace::expr {

struct GoldenLine {
    int number = 0;
    std::string expression;
    std::string message;
    std::string result;
    MessageType type;
    MessageFacts facts;
    FunctionSet refused = 0;
};

std::vector<GoldenLine> read_golden_file(const std::string& path);

}  // namespace pinnace::expr
