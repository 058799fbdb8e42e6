// SPDX-License-Identifier: Apache-2.0
#include "bench/depth.h"

#include <gtest/gtest.h>

namespace pinnace::bench {
namespace {

TEST(Depth, EachCaseIsMeasuredAtBothDepths) {
    for (const DepthCase which : kDepthCases) {
        const auto figures = depth(which, 3'000);
        ASSERT_TRUE(figures) << to_text(which) << ": " << figures.error();
        EXPECT_EQ(figures->messages, 3'000u);
        EXPECT_GT(figures->rate_at_1k, 0) << to_text(which);
        EXPECT_GT(figures->rate_at_depth, 0) << to_text(which);
    }
}

TEST(Depth, AMessageCostsAtMostTheBytesThatAreAllowed) {
    EXPECT_LE(depth(DepthCase::plain, 20'000)->state_bytes_per_message, 96);
    EXPECT_LE(depth(DepthCase::priority, 20'000)->state_bytes_per_message, 128);
    EXPECT_LE(depth(DepthCase::fifo, 20'000)->state_bytes_per_message, 128);
}

TEST(Depth, TheFiguresAreOneLineWithTheKeysThatScriptsRead) {
    const DepthFigures figures{.which = DepthCase::fifo,
                               .messages = 5'000,
                               .state_bytes_per_message = 84.61,
                               .rate_at_1k = 1'000'000.4,
                               .rate_at_depth = 900'000};
    EXPECT_EQ(figures.to_json(), R"({"case":"fifo","messages":5000,"state_bytes_per_message":84.6,)"
                                 R"("rate_at_1k":1000000,"rate_at_depth":900000})");
}

TEST(Depth, LessThanTheSmallDepthIsRefused) { EXPECT_FALSE(depth(DepthCase::plain, 999)); }

}  // namespace
}  // namespace pinnace::bench
