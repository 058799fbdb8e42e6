// SPDX-License-Identifier: Apache-2.0
#include "bindings/cli/scenario/token.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pinnace::scenario {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> texts(std::string_view line) {
    std::vector<std::string> out;
    const auto tokens = split_tokens(line);
    EXPECT_TRUE(tokens) << tokens.error();
    if (tokens) {
        for (const Token& token : *tokens) out.push_back(token.text);
    }
    return out;
}

TEST(ScenarioToken, BlanksPartWords) {
    EXPECT_THAT(texts("  publish\tOrders   as o1 "), ElementsAre("publish", "Orders", "as", "o1"));
    EXPECT_THAT(texts(""), ElementsAre());
}

TEST(ScenarioToken, QuotesGroupAlsoBehindAnEqualsSign) {
    EXPECT_THAT(texts(R"(filter='/a > 1' "b c" d"e f"g)"), ElementsAre("filter=/a > 1", "b c", "de fg"));
    EXPECT_THAT(texts(R"(dedup='')"), ElementsAre("dedup="));
}

TEST(ScenarioToken, SingleQuotesTakeNothingSpeciallyAndDoubleOnesKnowTwoEscapes) {
    EXPECT_THAT(texts(R"('a\"b' "a\"b\\c\n")"), ElementsAre(R"(a\"b)", R"(a"b\c\n)"));
}

TEST(ScenarioToken, AJsonBodyRunsToItsMatchingBrace) {
    EXPECT_THAT(texts(R"({"a": {"b": "} \" {"}, "c": [1, 2]} as m)"),
                ElementsAre(R"({"a": {"b": "} \" {"}, "c": [1, 2]})", "as", "m"));
}

TEST(ScenarioToken, KindsTellQuotedTextFromWordsAndArrows) {
    const auto tokens = split_tokens(R"(a 'b' {} => '=>' <<END c'd')");
    ASSERT_TRUE(tokens);
    std::vector<TokenKind> kinds;
    for (const Token& token : *tokens) kinds.push_back(token.kind);
    EXPECT_THAT(kinds, ElementsAre(TokenKind::word, TokenKind::quoted, TokenKind::json, TokenKind::arrow,
                                   TokenKind::quoted, TokenKind::heredoc, TokenKind::word));
    EXPECT_EQ((*tokens)[5].text, "END");
}

TEST(ScenarioToken, WhatIsNotClosedIsRefusedWithItsColumn) {
    EXPECT_THAT(split_tokens("publish T {\"a\":1").error(), HasSubstr("column 11"));
    EXPECT_THAT(split_tokens("subscribe a T filter='/x").error(), HasSubstr("column 22"));
    EXPECT_THAT(split_tokens("{}x").error(), HasSubstr("expected a blank"));
    EXPECT_THAT(split_tokens("batch T <<").error(), HasSubstr("<<END"));
}

TEST(ScenarioToken, PrintableTextHasNoControlCharactersAndIsCut) {
    EXPECT_EQ(printable(std::string_view("a\n\0b\x7f", 5)), "a\\x0a\\x00b\\x7f");
    EXPECT_EQ(printable("abcdef", 3), "abc…");
}

}  // namespace
}  // namespace pinnace::scenario
