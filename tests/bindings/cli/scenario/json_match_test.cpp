// SPDX-License-Identifier: Apache-2.0
#include "bindings/cli/scenario/json_match.h"

#include <gtest/gtest.h>

#include <vector>

namespace pinnace::scenario {
namespace {

TEST(JsonMatch, MembersMayComeInAnyOrder) {
    EXPECT_TRUE(json_matches(R"({"a":1,"b":[2,{"c":3}]})", R"({"b": [2, {"c": 3}], "a": 1})"));
    EXPECT_FALSE(json_matches(R"({"a":1})", R"({"a":1,"b":2})"));
    EXPECT_FALSE(json_matches(R"({"a":1,"b":2})", R"({"a":1})"));
    EXPECT_FALSE(json_matches("[1,2]", "[2,1]"));
    EXPECT_FALSE(json_matches("[1,2]", "[1]"));
    EXPECT_FALSE(json_matches("[1]", "[1,2]"));
}

TEST(JsonMatch, NumbersCompareByValueAndExactly) {
    EXPECT_TRUE(json_matches("10.50", "10.5"));
    EXPECT_TRUE(json_matches("20", "2e1"));
    EXPECT_TRUE(json_matches("0", "-0.0"));
    EXPECT_TRUE(json_matches("18446744073709551615", "18446744073709551615"));
    EXPECT_FALSE(json_matches("9007199254740993", "9007199254740992.0"));
    EXPECT_FALSE(json_matches("9223372036854775807", "9223372036854775808"));
    EXPECT_FALSE(json_matches("-1", "1"));
    EXPECT_FALSE(json_matches("1", "\"1\""));
    EXPECT_FALSE(json_matches("1", "true"));
}

TEST(JsonMatch, AStarMatchesAnything) {
    EXPECT_TRUE(json_matches(R"({"a":"*"})", R"({"a":{"b":[1]}})"));
    EXPECT_TRUE(json_matches(R"(["*"])", "[null]"));
    EXPECT_FALSE(json_matches(R"({"a":"*"})", R"({"b":1})"));
    EXPECT_FALSE(json_matches("1", R"("*")"));
}

TEST(JsonMatch, NullAndAbsentAreEqualOnlyInRows) {
    EXPECT_FALSE(json_matches(R"({"a":null})", "{}"));
    EXPECT_TRUE(json_matches(R"({"a":null})", "{}", {.null_is_absent = true}));
    EXPECT_TRUE(json_matches("{}", R"({"a":null})", {.null_is_absent = true}));
    EXPECT_FALSE(json_matches(R"({"a":null})", R"({"a":1})", {.null_is_absent = true}));
}

TEST(JsonMatch, WhatIsNotJsonIsEqualByteByByte) {
    EXPECT_TRUE(json_matches("garbage", "garbage"));
    EXPECT_FALSE(json_matches("{}", "garbage"));
    EXPECT_FALSE(json_matches(R"({"a":1)", R"({ "a":1)"));
}

TEST(JsonMatch, RowsPairUpInAnyOrderEvenIfTheFirstFitIsWrong) {
    const std::vector<std::string> wanted{R"({"a":"*"})", R"({"a":1})"};
    EXPECT_TRUE(rows_match(wanted, std::vector<std::string>{R"({"a":1})", R"({"a":2})"}, {}));
    EXPECT_FALSE(rows_match(wanted, std::vector<std::string>{R"({"a":2})", R"({"a":2})"}, {}));
    EXPECT_FALSE(rows_match(wanted, std::vector<std::string>{R"({"a":1})"}, {}));
    EXPECT_TRUE(rows_match({}, {}, {}));
}

}  // namespace
}  // namespace pinnace::scenario
