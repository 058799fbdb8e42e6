// SPDX-License-Identifier: Apache-2.0
// What a reload applies, and what it refuses by name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bindings/config/support.h"

namespace pinnace::config {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Configuration configuration(std::string_view sow, std::string_view rest = "") {
    std::string text = with_sow(sow);
    text.insert(text.rfind("</Pinnace>"), rest);
    Loaded loaded = parse(text, no_environment);
    EXPECT_FALSE(loaded.has_errors()) << loaded.text("f", false);
    return std::move(loaded.configuration);
}

TEST(ConfigCompare, AnUnchangedFileChangesNothing) {
    const auto one = configuration("<Queue><Name>Q</Name><LeasePeriod>60s</LeasePeriod></Queue>");
    const auto same = configuration("<Queue><Name>Q</Name><LeasePeriod>1m</LeasePeriod></Queue>");
    const Changes changes = compare(one, same);
    EXPECT_THAT(changes.applied, IsEmpty());
    EXPECT_THAT(changes.refused, IsEmpty());
}

TEST(ConfigCompare, NewQueuesAndLimitsAreApplied) {
    const auto running = configuration("<Queue><Name>Q</Name><MaxBacklog>5</MaxBacklog></Queue>");
    const auto next = configuration(
        "<Queue><Name>Q</Name><MaxPerSubscriptionBacklog>2</MaxPerSubscriptionBacklog></Queue>"
        "<LocalQueue><Name>New</Name><Filter>/a = 1</Filter></LocalQueue>");
    const Changes changes = compare(running, next);
    EXPECT_THAT(changes.applied, ElementsAre("SOW/LocalQueue New", "SOW/Queue Q/MaxBacklog",
                                             "SOW/Queue Q/MaxPerSubscriptionBacklog"));
    EXPECT_THAT(changes.refused, IsEmpty());
    ASSERT_EQ(changes.changed.size(), 1u);
    EXPECT_EQ(changes.changed[0].max_backlog, UINT64_MAX);
    EXPECT_EQ(changes.changed[0].max_per_subscription_backlog, 2u);
    EXPECT_THAT(compare(changes.running, next).applied, IsEmpty());
}

TEST(ConfigCompare, WhatNeedsARestartIsRefusedByNameAndStaysAsItWas) {
    const auto running = configuration("<Queue><Name>Q</Name></Queue><Queue><Name>Gone</Name></Queue>");
    const auto next = configuration("<Queue><Name>Q</Name><Filter>/a = 1</Filter></Queue>",
                                    "<Limits><RingEntries>16</RingEntries></Limits>");
    const Changes changes = compare(running, next);
    EXPECT_THAT(changes.applied, IsEmpty());
    EXPECT_THAT(changes.refused, ElementsAre("Limits/RingEntries", "SOW/Queue Gone", "SOW/Queue Q/Filter"));
    EXPECT_EQ(write(changes.running), write(running));
}

}  // namespace
}  // namespace pinnace::config
