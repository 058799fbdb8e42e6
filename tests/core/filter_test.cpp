// SPDX-License-Identifier: Apache-2.0
// How often filters are evaluated (D11): counts, which do not vary as times do.
#include <gtest/gtest.h>

#include <string>

#include "tests/support/core_world.h"

namespace pinnace {
namespace {

using test::CoreWorld;

SubscriptionId subscribe(CoreWorld& world, std::string_view filter, std::uint64_t max_backlog) {
    const auto subscribed = world.core->subscribe({.client = world.core->open_client(1000),
                                                   .target = "Orders",
                                                   .max_backlog = max_backlog,
                                                   .filter = filter});
    return subscribed ? subscribed->subscription : kNone;
}

TEST(Filter, IsEvaluatedOnceAMessageHoweverManySubscriptionsHaveIt) {
    CoreWorld world({"Orders"});
    for (int index = 0; index < 50; ++index) {
        ASSERT_NE(subscribe(world, "/id = 1", 1), kNone);
        ASSERT_NE(subscribe(world, "/id = 2", 1), kNone);
        ASSERT_NE(subscribe(world, "", 1), kNone);
    }
    ASSERT_EQ(world.core->evaluation_counts().evaluations, 0u);
    for (int index = 0; index < 300; ++index)
        ASSERT_EQ(world.publish("Orders", R"({"id":)" + std::to_string(index % 3) + "}"), Answer::ok);
    EXPECT_EQ(world.core->evaluation_counts().evaluations, 600u);
}

TEST(Filter, ThatMatchesRarelyIsEvaluatedWhenAMessageEntersAndNeverAgain) {
    CoreWorld world({"Orders"});
    const SubscriptionId rare = subscribe(world, "/id = 0", 5);
    const SubscriptionId all = world.subscribe("Orders", 10);
    std::vector<std::string> names;
    for (int index = 1; index <= 1'000; ++index) {
        names.push_back(R"({"id":)" + std::to_string(index) + "}");
        ASSERT_EQ(world.publish("Orders", names.back()), Answer::ok);
    }
    ASSERT_EQ(world.core->evaluation_counts().evaluations, 1'000u);
    // Leases, returns, acknowledgments, and the messages that move up behind them.
    for (std::size_t index = 0; index < 500; ++index) {
        if (index % 10 == 0) {
            ASSERT_EQ(world.verb(Verb::cancel, all, "Orders", names[index]), Answer::ok);
        }
        ASSERT_EQ(world.ack(all, "Orders", names[index]), Answer::ok);
    }
    EXPECT_EQ(world.got(rare), "");
    EXPECT_EQ(world.core->evaluation_counts().evaluations, 1'000u);
}

TEST(Filter, OfASubscriptionThatEndedIsNotEvaluatedAnyMore) {
    CoreWorld world({"Orders"});
    const SubscriptionId first = subscribe(world, "/id = 0", 5);
    world.publish("Orders", R"({"id":1})");
    ASSERT_EQ(world.core->evaluation_counts().evaluations, 1u);
    world.core->unsubscribe(first, {});
    world.publish("Orders", R"({"id":2})");
    EXPECT_EQ(world.core->evaluation_counts().evaluations, 1u);
}

}  // namespace
}  // namespace pinnace
