// SPDX-License-Identifier: Apache-2.0
// The effective configuration: it reads back without a problem, and is written the same again.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/bindings/config/support.h"

namespace pinnace::config {
namespace {

void expect_same_again(const std::string& text, const std::string& name) {
    const Loaded loaded = parse(text, [](std::string_view) { return std::optional<std::string>("."); });
    ASSERT_FALSE(loaded.has_errors()) << name << "\n" << loaded.text(name, false);
    const std::string written = write(loaded.configuration);
    const Loaded again = parse(written, no_environment);
    ASSERT_FALSE(again.has_errors()) << name << "\n" << again.text("written", false) << written;
    EXPECT_EQ(write(again.configuration), written) << name;
}

TEST(ConfigWrite, WhatIsWrittenReadsBackAsTheSame) {
    expect_same_again("<Pinnace/>", "empty");
    expect_same_again(
        with_sow(
            "<Queue><Name>Q</Name><UnderlyingTopic>^a</UnderlyingTopic><UnderlyingTopic>b</UnderlyingTopic>"
            "<DefaultPublishTarget>ab</DefaultPublishTarget><LeasePeriod>1500us</LeasePeriod>"
            "<Expiration>90m</Expiration><Filter>/a &lt; 1 AND /b = '&amp;$${X}'</Filter>"
            "<TargetQueueDepth>5000</TargetQueueDepth><MaxPerSubscriptionBacklog>7</"
            "MaxPerSubscriptionBacklog>"
            "<FileBackedMetadata>enabled</FileBackedMetadata></Queue>"
            "<Queue><Name>F</Name><Type>fifo</Type><GroupKey>/g</GroupKey>"
            "<GroupDelivery>sticky</GroupDelivery><ContentBasedDedup>true</ContentBasedDedup></Queue>"
            "<LocalQueue><Name>M</Name><Semantics>at-most-once</Semantics></LocalQueue>"),
        "queues");
}

TEST(ConfigWrite, DefaultsAreWritten) {
    const Loaded loaded = parse(with_sow("<Queue><Name>Q</Name></Queue>"), no_environment);
    const std::string written = write(loaded.configuration);
    for (const char* element :
         {"<Semantics>at-least-once</Semantics>", "<LeasePeriod>infinite</LeasePeriod>",
          "<Leasing>sublet</Leasing>", "<FairnessModel>proportional</FairnessModel>",
          "<MaxDeliveries>0</MaxDeliveries>", "<DeferredAckExpiration>1d</DeferredAckExpiration>",
          "<UnderlyingTopic>Q</UnderlyingTopic>", "<RecoveryPoint>epoch</RecoveryPoint>",
          "<MessageSizeMax>16MiB</MessageSizeMax>", "<Policy>group</Policy>"})
        EXPECT_NE(written.find(element), std::string::npos) << element;
}

TEST(ConfigWrite, EveryFileOfTheTestsIsGoodAndTheSameAgain) {
    std::size_t count = 0;
    for (const auto& entry :
         std::filesystem::directory_iterator(std::string(PINNACE_TEST_DATA) + "/configurations")) {
        if (entry.path().extension() != ".xml") continue;
        std::ostringstream text;
        text << std::ifstream(entry.path()).rdbuf();
        expect_same_again(text.str(), entry.path().filename().string());
        ++count;
    }
    EXPECT_GE(count, 3u);
}

}  // namespace
}  // namespace pinnace::config
