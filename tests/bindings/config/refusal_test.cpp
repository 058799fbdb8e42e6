// SPDX-License-Identifier: Apache-2.0
// Q2, T3: what a configuration may not say. Each refusal has line, column, element, what is wrong and a mend.
#include <gtest/gtest.h>

#include <vector>

#include "tests/bindings/config/support.h"

namespace pinnace::config {
namespace {

struct Case {
    std::string queue;               // children of a queue named Q
    std::string element;             // that the error names as its path
    std::vector<std::string> words;  // of the error
};

// The problems of a configuration with one queue of these children.
std::string problems_of_queue(const std::string& children) {
    return problems_of(with_sow("<Queue><Name>Q</Name>\n" + children + "</Queue>"));
}

TEST(ConfigRefusal, EachErrorOfAQueueNamesItsElementInItsLine) {
    const std::vector<Case> cases{
        {"<UnderlyingTopic>^o</UnderlyingTopic>", "SOW/Queue", {"DefaultPublishTarget", "needs it"}},
        {"<UnderlyingTopic>^o</UnderlyingTopic><DefaultPublishTarget>x</DefaultPublishTarget>",
         "SOW/Queue/DefaultPublishTarget",
         {"x is not one of"}},
        {"<UnderlyingTopic>a</UnderlyingTopic><DefaultPublishTarget>b</DefaultPublishTarget>",
         "SOW/Queue/DefaultPublishTarget",
         {"b is not one of"}},
        {"<TargetQueueDepth>999</TargetQueueDepth>", "SOW/Queue/TargetQueueDepth", {"at least 1000"}},
        {"<TargetQueueDepth>1000</TargetQueueDepth><Priority>/p</Priority>",
         "SOW/Queue/TargetQueueDepth",
         {"Priority", "leave one"}},
        {"<BarrierExpression>/b = 1</BarrierExpression><Priority>/p</Priority>",
         "SOW/Queue/Priority",
         {"BarrierExpression", "leave one"}},
        {"<Semantics>at-most-once</Semantics><MaxDeliveries>2</MaxDeliveries>",
         "SOW/Queue/MaxDeliveries",
         {"leave it out"}},
        {"<Semantics>at-most-once</Semantics><MaxCancels>2</MaxCancels>",
         "SOW/Queue/MaxCancels",
         {"leave it out"}},
        {"<Semantics>at-most-once</Semantics><FairnessModel>fast</FairnessModel>",
         "SOW/Queue/FairnessModel",
         {"round-robin"}},
        {"<Filter>/a = </Filter>", "SOW/Queue/Filter", {"column 5"}},
        {"<Filter>UNIX_TIMESTAMP() > 1</Filter>", "SOW/Queue/Filter", {"column 1", "UNIX_TIMESTAMP"}},
        {"<LeasePeroid>1s</LeasePeroid>", "SOW/Queue/LeasePeroid", {"did you mean LeasePeriod?"}},
        {"<Semantics>exactly-once</Semantics>", "SOW/Queue/Semantics", {"at-least-once or at-most-once"}},
        {"<InitialOwner>me</InitialOwner>", "SOW/Queue/InitialOwner", {"GroupLocalQueue"}},
        {"<Type>fifo</Type><Semantics>at-most-once</Semantics>", "SOW/Queue/Type", {"at-least-once"}},
        {"<Type>fifo</Type><Priority>/p</Priority>", "SOW/Queue/Type", {"Priority"}},
        {"<Type>fifo</Type><BarrierExpression>/b = 1</BarrierExpression>",
         "SOW/Queue/Type",
         {"BarrierExpression"}},
        {"<Type>fifo</Type><Leasing>sublet</Leasing>", "SOW/Queue/Leasing", {"strict"}},
        {"<LeasePeriod>0s</LeasePeriod>", "SOW/Queue/LeasePeriod", {"above 0"}},
        {"<LeasePeriod>60</LeasePeriod>", "SOW/Queue/LeasePeriod", {"such as 500ms"}},
        {"<LeasePeriod>999999999d</LeasePeriod>", "SOW/Queue/LeasePeriod", {"fits the clock"}},
        {"<MaxBacklog>0</MaxBacklog>", "SOW/Queue/MaxBacklog", {"at least 1"}},
        {"<MaxBacklog>-1</MaxBacklog>", "SOW/Queue/MaxBacklog", {"whole number"}},
        {"<MaxDeliveries>many</MaxDeliveries>", "SOW/Queue/MaxDeliveries", {"whole number"}},
        {"<DeadLetterQueue>Dead</DeadLetterQueue>", "SOW/Queue/DeadLetterQueue", {"no queue named Dead"}},
        {"<DeadLetterQueue>Q</DeadLetterQueue>", "SOW/Queue/DeadLetterQueue", {"break the cycle"}},
        {"<MessageType>jsn</MessageType>", "SOW/Queue/MessageType", {"no message type jsn", "MessageTypes"}},
        {"<MessageType>binary</MessageType><Filter>/a = 1</Filter>", "SOW/Queue/Filter", {"no fields"}},
        {"<MaxCancels>1</MaxCancels><MaxCancels>2</MaxCancels>", "SOW/Queue/MaxCancels", {"twice"}},
    };
    for (const Case& c : cases) {
        const std::string text = problems_of_queue(c.queue);
        // The queue's own element stands a line above its children.
        const std::string line = c.element == "SOW/Queue" ? "f:3:" : "f:4:";
        EXPECT_TRUE(text.starts_with(line)) << c.queue << "\n" << text;
        EXPECT_NE(text.find("error: " + c.element + ": "), std::string::npos) << c.queue << "\n" << text;
        for (const std::string& word : c.words)
            EXPECT_NE(text.find(word), std::string::npos) << word << ": " << c.queue << "\n" << text;
        EXPECT_NE(text.find("queue Q"), std::string::npos) << c.queue << "\n" << text;
    }
}

TEST(ConfigRefusal, ATopicThatTheLogDoesNotCoverIsNamedWithItsQueue) {
    const std::string text =
        problems_of(with_sow("<Queue><Name>Risk</Name>\n <UnderlyingTopic>orders</UnderlyingTopic></Queue>",
                             "<Topic><Name>Risk</Name></Topic>"));
    EXPECT_EQ(text,
              "f:4:19: error: SOW/Queue/UnderlyingTopic: queue Risk: the topic orders is not covered by the "
              "transaction log; add it to TransactionLog\n");
}

TEST(ConfigRefusal, AllErrorsOfAFileComeAtOnceInTheOrderOfTheFile) {
    const std::string text =
        problems_of(with_sow("<Queue><Name>A</Name><Filter>(</Filter>\n<Priority>)</Priority></Queue>\n"
                             "<GroupLocalQueue><Name>B</Name></GroupLocalQueue>\n"
                             "<Queue><Name>A</Name><DeadLetterQueue>B</DeadLetterQueue></Queue>\n<Que/>"));
    std::vector<std::string> starts;
    for (std::size_t at = 0; (at = text.find("f:", at)) != std::string::npos; ++at)
        starts.push_back(text.substr(at, 4));
    EXPECT_EQ(starts, (std::vector<std::string>{"f:3:", "f:4:", "f:5:", "f:6:", "f:7:"})) << text;
}

TEST(ConfigRefusal, AQueueWithErrorsIsStillThereForThoseThatNameIt) {
    const std::string text =
        problems_of(with_sow("<Queue><Name>A</Name><DeadLetterQueue>B</DeadLetterQueue></Queue>\n"
                             "<Queue><Name>B</Name><MaxBacklog>0</MaxBacklog></Queue>"));
    EXPECT_EQ(std::ranges::count(text, '\n'), 1) << text;
    EXPECT_NE(text.find("SOW/Queue/MaxBacklog"), std::string::npos) << text;
}

TEST(ConfigRefusal, UnknownElementsAreErrorsInTheThreeSectionsAndWarningsElsewhere) {
    for (const char* section : {"SOW", "Actions", "TransactionLog"}) {
        const std::string inner = std::string("<") + section + "><Colour/></" + section + ">";
        EXPECT_NE(problems_of("<Pinnace>" + inner + "</Pinnace>")
                      .find("error: " + std::string(section) + "/Colour: there is no such element"),
                  std::string::npos);
    }
    const std::string text =
        problems_of("<Pinnace><Colour/><Threads><Wiat>spin</Wiat></Threads></Pinnace>", true);
    EXPECT_NE(text.find("warning: Colour: "), std::string::npos) << text;
    EXPECT_NE(text.find("warning: Threads/Wiat: there is no such element, it is ignored; did you mean Wait?"),
              std::string::npos)
        << text;
    EXPECT_EQ(text.find("error"), std::string::npos) << text;
}

TEST(ConfigRefusal, ABareNumberWhereAUnitIsNeededIsAnError) {
    const std::string text = problems_of(
        "<Pinnace>\n<Limits><RejoinGrace>2</RejoinGrace>\n<MessageSizeMax>4096</MessageSizeMax></Limits></"
        "Pinnace>");
    EXPECT_NE(text.find("f:2:22: error: Limits/RejoinGrace: '2': expected a time with its unit"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("for bytes write 4096B"), std::string::npos) << text;
}

}  // namespace
}  // namespace pinnace::config
