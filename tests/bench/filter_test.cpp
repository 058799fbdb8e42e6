// SPDX-License-Identifier: Apache-2.0
#include "bench/filter.h"

#include <gtest/gtest.h>

namespace pinnace::bench {
namespace {

TEST(Filter, OfEachTypeSomeMessagesMatchAndSomeDoNot) {
    for (const std::string_view type : kFilterTypes) {
        const auto figures = filter(type, filter_messages(type, 1'000), 1);
        ASSERT_TRUE(figures) << type << ": " << figures.error();
        EXPECT_EQ(figures->messages, 1'000u) << type;
        EXPECT_GT(figures->matches, 0u) << type;
        EXPECT_LT(figures->matches, 1'000u) << type;
        EXPECT_GT(figures->ns_per_message, 0) << type;
        EXPECT_EQ(figures->parse_ns > 0, type == "json") << type;
    }
}

TEST(Filter, MessagesThatAreNotOfTheTypeAreRefused) {
    EXPECT_FALSE(filter("json", {"{\"type\":"}, 1));
    EXPECT_FALSE(filter("fix", {"no fields"}, 1));
    EXPECT_FALSE(filter("struct", {"short"}, 1));
    EXPECT_FALSE(filter("json", {}, 1));
}

TEST(Filter, TheFiguresAreOneLineWithTheKeysThatScriptsRead) {
    FilterFigures figures{.type = "json",
                          .filter = "/a = 1",
                          .messages = 10,
                          .matches = 3,
                          .ns_per_message = 150,
                          .parse_ns = 100};
    EXPECT_EQ(figures.to_json(), R"({"type":"json","messages":10,"matches":3,"ns_per_message":150.0,)"
                                 R"("parse_ns":100.0,"ratio":1.50})");
    figures.parse_ns = 0;
    EXPECT_EQ(figures.to_json(), R"({"type":"json","messages":10,"matches":3,"ns_per_message":150.0})");
}

}  // namespace
}  // namespace pinnace::bench
