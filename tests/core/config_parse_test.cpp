// SPDX-License-Identifier: Apache-2.0
// Q1, Q2: elements of a queue, their defaults and their refusals.
#include "core/config_parse.h"

#include <gtest/gtest.h>

namespace pinnace {
namespace {

std::string refusal(std::string_view line) {
    const auto config = parse_queue_line(line);
    return config ? "" : config.error().text;
}

TEST(ConfigParse, DefaultsAreThoseOfTheContract) {
    const auto config = parse_queue_line("Orders");
    ASSERT_TRUE(config);
    EXPECT_EQ(config->name, "Orders");
    EXPECT_EQ(config->semantics, Semantics::at_least_once);
    EXPECT_EQ(config->fairness, Fairness::proportional);
    EXPECT_EQ(config->leasing, Leasing::sublet);
    EXPECT_EQ(config->lease_period, kNever);
    EXPECT_EQ(config->dedup_window, 0);
    EXPECT_EQ(parse_queue_line("T Semantics=at-most-once")->fairness, Fairness::round_robin);
    const auto fifo = parse_queue_line("L Type=fifo");
    EXPECT_EQ(fifo->leasing, Leasing::strict);
    EXPECT_EQ(fifo->dedup_window, Duration{300} * 1'000'000'000);
    EXPECT_EQ(parse_queue_line("L Type=fifo DedupWindow=0")->dedup_window, 0);
    EXPECT_EQ(parse_queue_line("L Expiration=0")->expiration, kNever);
}

TEST(ConfigParse, ALineIsReadWithItsQuotes) {
    const auto config = parse_queue_line(
        "All UnderlyingTopic='^(fx|eq)_orders$' DefaultPublishTarget=fx_orders "
        "Filter=\"/side = 'buy'\" LeasePeriod=1500ms");
    ASSERT_TRUE(config);
    EXPECT_EQ(config->underlying_topics, std::vector<std::string>{"^(fx|eq)_orders$"});
    EXPECT_EQ(config->filter, "/side = 'buy'");
    EXPECT_EQ(config->lease_period, 1'500'000'000);
}

TEST(ConfigParse, WhatIsWrongIsRefusedByElement) {
    for (const auto& [line, element] : std::initializer_list<std::pair<const char*, const char*>>{
             {"Q LeasePeroid=10s", "LeasePeroid"},
             {"Q Semantics=exactly-once", "Semantics"},
             {"Q FairnessModel=random", "FairnessModel"},
             {"Q Leasing=shared", "Leasing"},
             {"Q LeasePeriod=soon", "LeasePeriod"},
             {"Q LeasePeriod=0", "LeasePeriod"},
             {"Q LeasePeriod=999999999d", "LeasePeriod"},
             {"Q MaxDeliveries=-1", "MaxDeliveries"},
             {"Q MaxBacklog=0", "MaxBacklog"},
             {"Q MaxPerSubscriptionBacklog=0", "MaxPerSubscriptionBacklog"},
             {"Q TargetQueueDepth=999", "TargetQueueDepth"},
             {"Q TargetQueueDepth=2000 Priority=/p", "TargetQueueDepth"},
             {"Q TargetQueueDepth=2000 BarrierExpression=/p", "TargetQueueDepth"},
             {"Q Priority=/p BarrierExpression=/p", "Priority"},
             {"Q Semantics=at-most-once MaxDeliveries=3", "MaxDeliveries"},
             {"Q Semantics=at-most-once MaxCancels=3", "MaxCancels"},
             {"Q Semantics=at-most-once FairnessModel=fast", "FairnessModel"},
             {"Q Type=fifo Semantics=at-most-once", "Type"},
             {"Q Type=fifo Priority=/p", "Type"},
             {"Q Type=fifo Leasing=sublet", "Leasing"},
             {"Q GroupKey=/g", "GroupKey"},
             {"Q InitialOwner=desk1", "InitialOwner"},
             {"Q UnderlyingTopic='^ord_'", "DefaultPublishTarget"},
             {"Q UnderlyingTopic='^ord_' DefaultPublishTarget=fills", "DefaultPublishTarget"},
             {"Q UnderlyingTopic=orders DefaultPublishTarget=fills", "DefaultPublishTarget"},
             {"Q UnderlyingTopic='(' DefaultPublishTarget=x", "UnderlyingTopic"},
             {"Q LeasePeriod=1s LeasePeriod=2s", "LeasePeriod"},
         }) {
        EXPECT_EQ(refusal(line).substr(0, std::string_view(element).size()), element) << line;
    }
    EXPECT_NE(refusal("Q TargetQueueDepth=2000 Priority=/p").find("Priority"), std::string::npos);
    EXPECT_EQ(refusal("Q UnderlyingTopic='^ord_' DefaultPublishTarget=ord_direct"), "");
}

TEST(ConfigParse, NumbersAreWholeAndInRange) {
    EXPECT_EQ(parse_duration("7ns"), 7);
    EXPECT_EQ(parse_duration("2h"), Duration{7200} * 1'000'000'000);
    EXPECT_EQ(parse_duration("0"), 0);
    for (const char* text : {"", "5", "-5s", "5 s", "1.5s", "s", "99999999999999999999s"})
        EXPECT_FALSE(parse_duration(text)) << text;
    EXPECT_EQ(parse_size("16MiB"), 16u << 20);
    EXPECT_FALSE(parse_size("16 MiB"));
    EXPECT_FALSE(parse_count("+1"));
}

}  // namespace
}  // namespace pinnace
