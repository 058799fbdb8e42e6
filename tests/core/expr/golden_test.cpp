// SPDX-License-Identifier: Apache-2.0
// Every line of tests/golden/expressions.txt: one for each rule and boundary of the contract's page on
// expressions (E).
#include <gtest/gtest.h>

#include <span>
#include <string>

#include "core/expr/convert.h"
#include "core/expr/expression.h"
#include "core/expr/reader.h"
#include "tests/core/expr/golden_file.h"

namespace pinnace::expr {
namespace {

const std::string kGoldenFile = std::string(PINNACE_TEST_DATA) + "/golden/expressions.txt";

// "" or what is wrong with the error.
std::string check_error(const GoldenLine& line, const CompileError& error) {
    std::stringstream wanted(line.result.substr(6));
    std::size_t column = 0;
    wanted >> column;
    if (column != error.column) return "column " + std::to_string(error.column);
    for (std::string word; wanted >> word;) {
        if (error.text.find(word) == std::string::npos) return "no " + word + " in " + error.text;
    }
    return "";
}

void check(const GoldenLine& line) {
    const std::string where =
        "expressions.txt:" + std::to_string(line.number) + ": " + line.expression + "  on  " + line.message;
    const CompileOptions options{.refused = line.refused, .place = "Filter"};
    auto expression = Expression::compile(line.expression, options);
    if (!expression) {
        if (!line.result.starts_with("error ")) {
            ADD_FAILURE() << where << "\n" << expression.error().text;
            return;
        }
        EXPECT_EQ(check_error(line, expression.error()), "") << where << "\n" << expression.error().text;
        return;
    }
    auto reader = make_reader(line.type);
    ASSERT_TRUE(reader) << where << "\n" << reader.error();
    FieldSet fields;
    FieldValues values;
    EvalContext context;
    context.facts = line.facts;
    expression->bind(fields);
    (*reader)->read(std::as_bytes(std::span(line.message)), fields, values);
    EXPECT_EQ(json_of(expression->eval(values, context)), line.result) << where;
}

TEST(GoldenExpressions, EachLineGivesItsResult) {
    const std::vector<GoldenLine> lines = read_golden_file(kGoldenFile);
    EXPECT_GE(lines.size(), 400u);
    for (const GoldenLine& line : lines) check(line);
}

}  // namespace
}  // namespace pinnace::expr
