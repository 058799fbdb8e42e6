// SPDX-License-Identifier: Apache-2.0
// What the sections of a configuration come to.
#include <gtest/gtest.h>

#include "tests/bindings/config/support.h"

namespace pinnace::config {
namespace {

TEST(ConfigReader, TheFourTagsOfQueuesAndTopicForNameAreAccepted) {
    const Loaded loaded =
        parse(with_sow("<Queue><Name>A</Name></Queue><QueueDefinition><Topic>B</Topic></QueueDefinition>"
                       "<LocalQueue><Name>C</Name></LocalQueue><GroupLocalQueue><Name>D</Name>"
                       "<InitialOwner>desk</InitialOwner></GroupLocalQueue>"),
              no_environment);
    ASSERT_FALSE(loaded.has_errors()) << loaded.text("f", true);
    const auto& queues = loaded.configuration.definitions.queues;
    ASSERT_EQ(queues.size(), 4u);
    EXPECT_EQ(queues[1].name, "B");
    EXPECT_EQ(queues[2].tag, QueueTag::local);
    EXPECT_EQ(queues[3].initial_owner, "desk");
}

TEST(ConfigReader, OurOwnElementsSetTheEngine) {
    const Loaded loaded = parse(
        "<Pinnace><Threads><Wait>spin</Wait><DispatcherCore>2</DispatcherCore><Pin>disabled</Pin></Threads>"
        "<Memory><LogSize>32MiB</LogSize><ExpectedMessages>1000</ExpectedMessages></Memory>"
        "<Limits><MessageSizeMax>1MiB</MessageSizeMax><RejoinGrace>250ms</RejoinGrace></Limits>"
        "<TransactionLog><JournalDirectory>/data</JournalDirectory><SegmentSize>16MiB</SegmentSize>"
        "<IoUring>disabled</IoUring></TransactionLog>"
        "<Transports><Transport><Name>local</Name><Type>shm</Type><SocketPath>/run/p.sock</SocketPath>"
        "</Transport></Transports></Pinnace>",
        no_environment);
    ASSERT_EQ(loaded.text("f", true), "");
    const EngineOptions engine = engine_options(loaded.configuration);
    EXPECT_EQ(engine.wait, WaitMode::spin);
    EXPECT_EQ(engine.dispatcher_cpu, 2u);
    EXPECT_FALSE(engine.pin);
    EXPECT_EQ(engine.log_small_size, 32u << 20);
    EXPECT_EQ(engine.message_count_hint, 1000u);
    EXPECT_EQ(engine.message_size_max, 1u << 20);
    EXPECT_EQ(engine.rejoin_grace, 250'000'000);
    EXPECT_EQ(engine.data_directory, "/data");
    EXPECT_EQ(engine.segment_size, 16u << 20);
    EXPECT_FALSE(engine.io_uring);
    EXPECT_EQ(engine.socket_path, "/run/p.sock");
}

TEST(ConfigReader, MessageTypesOfTheUsersOwnCanBeFiltered) {
    const Loaded loaded = parse(
        "<Pinnace><MessageTypes><MessageType><Name>quote</Name><Module>struct</Module>"
        "<Field>/px = &lt;d</Field><Field>/qty = I</Field></MessageType>"
        "<MessageType><Name>bars</Name><Module>nvfix</Module><FieldSeparator>|</FieldSeparator></MessageType>"
        "</MessageTypes><TransactionLog><Topic><Name>Q</Name><MessageType>quote</MessageType></Topic>"
        "</TransactionLog><SOW><Queue><Name>Q</Name><MessageType>quote</MessageType>"
        "<Filter>/px > 1.5</Filter></Queue></SOW></Pinnace>",
        no_environment);
    EXPECT_EQ(loaded.text("f", true), "");
    EXPECT_EQ(loaded.configuration.definitions.message_types[1].field_separator, '|');
}

TEST(ConfigReader, AMessageTypeThatCannotBeIsAnErrorAtItsElement) {
    const std::string text = problems_of(
        "<Pinnace>\n<MessageTypes><MessageType><Name>q</Name><Module>struct</Module>\n<Field>/px = "
        "Z</Field></MessageType></MessageTypes></Pinnace>");
    EXPECT_TRUE(text.starts_with("f:2:")) << text;
    EXPECT_NE(text.find("type q"), std::string::npos) << text;
}

TEST(ConfigReader, WhatIsNotBuiltIsSaidOnceWithAllItsNames) {
    const std::string text = problems_of(
        with_sow("<Queue><Name>Q</Name></Queue>"
                 "<View><Name>V1</Name><UnderlyingTopic>Q</UnderlyingTopic><Projection><Field>COUNT(/a) AS "
                 "/n</Field></Projection></View>\n"
                 "<View><Name>V2</Name><UnderlyingTopic>V1</UnderlyingTopic><Projection><Field>/n AS "
                 "/n</Field></Projection></View>"),
        true);
    EXPECT_EQ(text.find("views (V1, V2)"), text.rfind("views (")) << text;
    EXPECT_EQ(text.find("error"), std::string::npos) << text;
}

TEST(ConfigReader, AnAddressOfANetworkIsSaidToBeIgnored) {
    const std::string text = problems_of(
        "<Pinnace><Transports><Transport><Name>any</Name><Type>tcp</Type><InetAddr>9007</InetAddr>"
        "</Transport></Transports></Pinnace>",
        true);
    EXPECT_NE(text.find("transport any of type tcp is ignored"), std::string::npos) << text;
}

TEST(ConfigReader, ActionsAreReadWithAndWithoutThePrefixOfTheirModules) {
    const std::string sow = "<SOW><Queue><Name>W</Name></Queue><Queue><Name>D</Name></Queue></SOW>";
    const std::string log = "<TransactionLog><Topic><Name>.*</Name></Topic></TransactionLog>";
    const Loaded loaded =
        parse("<AMPSConfig>" + log + sow +
                  "<Actions><Action><On><Module>on-sow-expire-message</Module><Options><Topic>W</Topic></"
                  "Options></On>"
                  "<Do><Module>amps-action-do-extract-values</Module><Options><Data>{{AMPS_DATA}}</Data>"
                  "<Value>ID=/id</Value><Value>X = /a = 1</Value></Options></Do>"
                  "<Do><Module>do-publish-message</Module><Options><Topic>D</Topic><Data>{{ID}}</Data></"
                  "Options></Do>"
                  "</Action></Actions></AMPSConfig>",
              no_environment);
    ASSERT_EQ(loaded.text("f", true), "");
    const auto& actions = loaded.configuration.definitions.actions;
    ASSERT_EQ(actions.size(), 1u);
    ASSERT_EQ(actions[0].steps.size(), 2u);
    EXPECT_EQ(actions[0].steps[0].values[1], (std::pair<std::string, std::string>{"X", "/a = 1"}));
    EXPECT_EQ(actions[0].steps[1].topic, "D");
}

TEST(ConfigReader, AnActionOfAnUnknownModuleIsAnErrorAndOneNotBuiltAWarning) {
    const auto action = [](const std::string& module) {
        return problems_of(
            "<Pinnace><Actions><Action><On><Module>" + module +
                "</Module></On><Do><Module>do-nothing</Module></Do></Action></Actions></Pinnace>",
            true);
    };
    EXPECT_NE(action("amps-action-on-schedule").find("actions (on-schedule, do-nothing)"), std::string::npos)
        << action("amps-action-on-schedule");
    EXPECT_EQ(action("amps-action-on-schedule").find("error"), std::string::npos);
    EXPECT_NE(action("on-sow-expire-mesage").find("did you mean on-sow-expire-message?"), std::string::npos);
}

}  // namespace
}  // namespace pinnace::config
