// SPDX-License-Identifier: Apache-2.0
// What does not compile, and what is said then (E, Q2).
#include <gtest/gtest.h>

#include <string>

#include "core/expr/expression.h"

namespace pinnace::expr {
namespace {

CompileError error_of(const std::string& text, const CompileOptions& options = {}) {
    auto compiled = Expression::compile(text, options);
    if (compiled) {
        ADD_FAILURE() << "compiles: " << text.substr(0, 100);
        return {};
    }
    return compiled.error();
}

bool compiles(const std::string& text) { return Expression::compile(text).has_value(); }

std::string repeated(const std::string& part, std::size_t count) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) text += part;
    return text;
}

TEST(CompileErrors, TheTextIsShownWithAMarkUnderThePlace) {
    EXPECT_EQ(
        error_of("/px > 5 AND AND /qty").text,
        "column 13: expected a value (a field such as /px, a literal, a function or a parenthesis), found "
        "`AND`\n"
        "    /px > 5 AND AND /qty\n"
        "                ^");
}

TEST(CompileErrors, ColumnsCountCharactersAndNotBytes) {
    const CompileError error = error_of("'größe' = 'ä' 5");
    EXPECT_EQ(error.column, 15u);
    EXPECT_EQ(
        error.text,
        "column 15: expected an operator or the end, found `5`\n    'größe' = 'ä' 5\n                  ^");
}

TEST(CompileErrors, TheEndOfTheTextIsNamed) {
    const CompileError error = error_of("/px >");
    EXPECT_EQ(error.column, 6u);
    EXPECT_NE(error.text.find("found the end"), std::string::npos);
}

TEST(CompileErrors, OfALongTextOnlyThePartAroundThePlaceIsShown) {
    const CompileError error = error_of(repeated("/a = 1 AND ", 100) + "AND" + repeated(" /a = 1 AND", 100));
    EXPECT_EQ(error.column, 1101u);
    const std::size_t line = error.text.find('\n');
    EXPECT_LT(error.text.size() - line, 220u);
    const std::string shown = error.text.substr(line + 1, error.text.rfind('\n') - line - 1);
    EXPECT_TRUE(shown.starts_with("    …")) << shown;
    EXPECT_TRUE(shown.ends_with("…")) << shown;
}

TEST(CompileErrors, ALineBreakInTheTextDoesNotMoveTheMark) {
    const CompileError error = error_of("/a = 1\nAND AND");
    EXPECT_EQ(error.column, 12u);
    EXPECT_NE(error.text.find("\n    /a = 1 AND AND\n               ^"), std::string::npos) << error.text;
}

TEST(CompileErrors, ARefusedFunctionIsNamedWithThePlace) {
    const CompileOptions options{.refused = kChangingFunctions, .place = "BarrierExpression"};
    const CompileError error = error_of("/a = 1 OR last_leased() > 0", options);
    EXPECT_EQ(error.column, 11u);
    EXPECT_NE(error.text.find("LAST_LEASED in BarrierExpression"), std::string::npos) << error.text;
    EXPECT_TRUE(Expression::compile("/a = 1 OR MESSAGE_SIZE() > 0", options));
}

TEST(CompileBounds, TheTextHasABoundOnItsSize) {
    EXPECT_TRUE(compiles("1" + std::string(kTextSizeMax - 1, ' ')));
    EXPECT_NE(error_of("1" + std::string(kTextSizeMax, ' ')).text.find("65536"), std::string::npos);
}

TEST(CompileBounds, TermsAreBounded) {
    EXPECT_TRUE(compiles("1" + repeated("+1", kTermCountMax - 1)));
    const CompileError error = error_of("1" + repeated("+1", kTermCountMax));
    EXPECT_NE(error.text.find("at most 4096"), std::string::npos);
    EXPECT_EQ(error.column, 2 * kTermCountMax + 1);
    EXPECT_TRUE(compiles("/a IN (1" + repeated(",1", kTermCountMax - 2) + ")"));
}

TEST(CompileBounds, DepthIsBounded) {
    for (const std::string& opening :
         {std::string("("), std::string("-"), std::string("NOT "), std::string("ABS(")}) {
        const std::string closing = opening.ends_with('(') ? ")" : "";
        const auto nested = [&](std::size_t depth) {
            return repeated(opening, depth) + "1" + repeated(closing, depth);
        };
        EXPECT_TRUE(compiles(nested(kDepthMax))) << opening;
        EXPECT_NE(error_of(nested(kDepthMax + 1)).text.find("at most 64 levels"), std::string::npos)
            << opening;
        EXPECT_NE(error_of(nested(10'000)).text.find("at most 64 levels"), std::string::npos) << opening;
    }
}

TEST(CompileBounds, LiteralsPatternsAndPathsAreBounded) {
    EXPECT_TRUE(compiles("'" + std::string(kLiteralSizeMax, 'x') + "'"));
    EXPECT_NE(error_of("'" + std::string(kLiteralSizeMax + 1, 'x') + "'").text.find("16384"),
              std::string::npos);
    EXPECT_NE(error_of("/a LIKE '" + std::string(kLiteralSizeMax + 1, 'x') + "'").text.find("16384"),
              std::string::npos);
    EXPECT_NE(error_of("/" + std::string(kLiteralSizeMax + 1, 'x')).text.find("16384"), std::string::npos);
}

TEST(CompileBounds, ArgumentsAndTheStackAreBounded) {
    EXPECT_TRUE(compiles("CONCAT(1" + repeated(",1", kArgumentCountMax - 1) + ")"));
    EXPECT_FALSE(compiles("CONCAT(1" + repeated(",1", kArgumentCountMax) + ")"));
    // Calls in the last argument of calls: each level leaves its other arguments on the stack.
    std::string text = "1";
    for (int depth = 0; depth < 20; ++depth) text = "CONCAT(" + repeated("MESSAGE_SIZE(),", 63) + text + ")";
    EXPECT_NE(error_of(text).text.find("fewer arguments in each other"), std::string::npos);
}

TEST(CompiledExpressions, TellTheirFieldsAndFunctions) {
    auto compiled = Expression::compile("/a = 1 AND /b[2]/c > /a OR BOOKMARK() = 'x' OR LEASE_COUNT() > 1");
    ASSERT_TRUE(compiled);
    ASSERT_EQ(compiled->fields().size(), 2u);
    EXPECT_EQ(compiled->fields()[0].text(), "/a");
    EXPECT_EQ(compiled->fields()[1].text(), "/b[2]/c");
    EXPECT_EQ(compiled->functions(), kBookmark | kLeaseCount);
    EXPECT_TRUE(compiled->changes_by_itself());
    EXPECT_EQ(names_of(compiled->functions()), "BOOKMARK, LEASE_COUNT");
    EXPECT_FALSE(Expression::compile("MESSAGE_SIZE() > 1")->changes_by_itself());
}

TEST(CompiledExpressions, APathIsWrittenAsItCanBeReadAgain) {
    for (const std::string text : {"/a", "/a/b", "/items[0]/qty", "[/a b/c[1]]", "[/a+b]"}) {
        auto compiled = Expression::compile(text);
        ASSERT_TRUE(compiled) << text;
        EXPECT_EQ(compiled->fields()[0].text(), text);
    }
}

}  // namespace
}  // namespace pinnace::expr
