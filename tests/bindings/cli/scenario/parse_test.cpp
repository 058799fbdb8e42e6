// SPDX-License-Identifier: Apache-2.0
#include "bindings/cli/scenario/parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

namespace pinnace::scenario {
namespace {

using ::testing::HasSubstr;

Scenario parsed(std::string_view text) {
    auto scenario = parse(text);
    EXPECT_TRUE(scenario) << scenario.error().line << ": " << scenario.error().text;
    return scenario ? *scenario : Scenario{};
}

template <class T>
T only(std::string_view text) {
    const Scenario scenario = parsed(text);
    EXPECT_EQ(scenario.steps.size(), 1u);
    return std::get<T>(scenario.steps.at(0).command);
}

// "LINE: text" of the mistake.
std::string mistake(std::string_view text) {
    const auto scenario = parse(text);
    if (scenario) return "no mistake";
    return std::to_string(scenario.error().line) + ": " + scenario.error().text;
}

TEST(ScenarioParse, CommentsAndBlankLinesAreSkippedAndLinesAreCounted) {
    const Scenario scenario = parsed("# what\n\r\n  # more\nqueue Q A=1 B='x y'\nadvance 10s\n");
    ASSERT_EQ(scenario.definitions.size(), 1u);
    EXPECT_EQ(scenario.definitions[0].line, 4);
    EXPECT_EQ(scenario.definitions[0].elements[1].second, "x y");
    EXPECT_EQ(scenario.steps.at(0).line, 5);
}

TEST(ScenarioParse, APublishHasItsOptionsInAnyOrder) {
    const auto publish =
        only<Publish>("publish T {\"a\": 1} group=g dedup='' as m expiration=0s delay=2h from=p seq=7");
    EXPECT_EQ(publish.messages.at(0).body, "{\"a\": 1}");
    EXPECT_EQ(publish.messages.at(0).name, "m");
    EXPECT_EQ(publish.messages.at(0).expiration, 0);
    EXPECT_EQ(publish.messages.at(0).delay, 7'200'000'000'000);
    EXPECT_EQ(publish.messages.at(0).dedup, "");
    EXPECT_EQ(publish.from, "p");
    EXPECT_EQ(publish.number, 7u);
}

TEST(ScenarioParse, ABatchIsAMessageALine) {
    const auto batch =
        only<Publish>("batch T <<X => stored stored\n{\"n\":1} as a group=g\n\n{\"n\":2}\nX\n");
    ASSERT_EQ(batch.messages.size(), 2u);
    EXPECT_EQ(batch.messages[0].group, "g");
    EXPECT_FALSE(batch.messages[1].group);
}

TEST(ScenarioParse, TextBehindWhereIsTheRawLineOrOneQuotedToken) {
    EXPECT_EQ(only<Query>("sow Q where '/a > 1' => m").where, "/a > 1");
    EXPECT_EQ(only<Query>("sow Q where /a >= 1 AND /b = 'x'  =>").where, "/a >= 1 AND /b = 'x'");
    EXPECT_EQ(only<AcknowledgeWhere>("ack s Q where \"/b = 'x'\"").where, "/b = 'x'");
    EXPECT_EQ(only<Delete>("delete T where '/a' = '/b'").where, "'/a' = '/b'");
}

TEST(ScenarioParse, SowIsADefinitionBeforeTheFirstCommandAndAQueryAfterIt) {
    const Scenario scenario = parsed("sow T Key=/id\nsow T => \nsow T");
    EXPECT_EQ(scenario.definitions.size(), 1u);
    EXPECT_EQ(scenario.steps.size(), 2u);
    EXPECT_TRUE(scenario.steps[0].wanted && scenario.steps[0].wanted->empty());
    EXPECT_FALSE(scenario.steps[1].wanted);
}

TEST(ScenarioParse, ARenewalMayHaveAPeriodBehindItsMessages) {
    EXPECT_EQ(only<Verbs>("renew s m1 m2 60s").period, 60'000'000'000);
    EXPECT_EQ(only<Verbs>("renew s m1 m2 60s").messages.size(), 2u);
    EXPECT_EQ(only<Verbs>("renew s m1").period, 0);
    EXPECT_EQ(only<Verbs>("ack s m1 60s").messages.size(), 2u);
}

TEST(ScenarioParse, RefusedDefinitionsTakeABlockToo) {
    const Scenario scenario =
        parsed("queue A\nrefuse queue B X=1 => X B\nrefuse config <<END => X\n<a/>\nEND\n");
    ASSERT_EQ(scenario.refusals.size(), 2u);
    EXPECT_EQ(scenario.refusals[0].words.size(), 2u);
    EXPECT_EQ(scenario.refusals[1].definition.text, "<a/>\n");
    EXPECT_EQ(scenario.refusals[1].definition.line, 3);
}

TEST(ScenarioParse, MistakesNameTheLineAndTheMend) {
    EXPECT_THAT(mistake(""), HasSubstr("1: expected definitions"));
    EXPECT_THAT(mistake("queue Q\nfrobnicate"), HasSubstr("2: expected a command, got `frobnicate`"));
    EXPECT_THAT(mistake("advance soon"), HasSubstr("1: expected a duration"));
    EXPECT_THAT(mistake("publish T {} as"), HasSubstr("a name behind `as`"));
    EXPECT_THAT(mistake("publish T {} as a as b"), HasSubstr("expected as once"));
    EXPECT_THAT(mistake("publish T {} colour=red"), HasSubstr("expected one of as expiration="));
    EXPECT_THAT(mistake("publish T {} from=p"), HasSubstr("from=P seq=N"));
    EXPECT_THAT(mistake("subscribe a Q max_backlog=-1"), HasSubstr("expected a whole number"));
    EXPECT_THAT(mistake("subscribe a Q take=never"), HasSubstr("take=manual"));
    EXPECT_THAT(mistake("advance 1s => ok"), HasSubstr("no `=>`"));
    EXPECT_THAT(mistake("advance 1s\nqueue Q"), HasSubstr("2: expected a command, got the definition"));
    EXPECT_THAT(mistake("batch T <<END\n{}\n"), HasSubstr("1: expected a line `END`"));
    EXPECT_THAT(mistake("batch T <<END\n{}\n{} x=1\nEND"), HasSubstr("3: expected one of"));
    EXPECT_THAT(mistake("delete T"), HasSubstr("`where`"));
    EXPECT_THAT(mistake("sow T where =>"), HasSubstr("expected an expression"));
    EXPECT_THAT(mistake("receive c Q"), HasSubstr("max=N"));
    EXPECT_THAT(mistake("queue Q broken"), HasSubstr("Element=value"));
    EXPECT_THAT(mistake("refuse queue Q X=1"), HasSubstr("`=>`"));
    EXPECT_THAT(mistake("refuse Q => X"), HasSubstr("expected queue, topic"));
    EXPECT_THAT(mistake("refuse => X"), HasSubstr("a definition"));
    EXPECT_THAT(mistake("refuse queue Q => X\nadvance 1s"), HasSubstr("2: expected nothing but `refuse`"));
    EXPECT_THAT(mistake("=> x"), HasSubstr("got `=>`"));
    EXPECT_THAT(mistake("restart now"), HasSubstr("expected the end of the command"));
}

TEST(ScenarioParse, DamagedFilesNeverCrashIt) {
    std::vector<std::string> texts;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(PINNACE_TEST_DATA "/scenarios")) {
        if (entry.path().extension() != ".scn") continue;
        std::ifstream in(entry.path(), std::ios::binary);
        std::ostringstream text;
        text << in.rdbuf();
        texts.push_back(text.str().substr(0, 4'000));
        EXPECT_TRUE(parse(text.str())) << entry.path();
    }
    ASSERT_GT(texts.size(), 100u);
    std::mt19937 random(20'261'130);
    const std::string_view bytes =
        "{}'\"=>< \n#\\\0\xff"
        "aw0";
    for (int round = 0; round < 20'000; ++round) {
        std::string text = texts[random() % texts.size()];
        for (unsigned change = random() % 8; change > 0 && !text.empty(); --change) {
            const std::size_t at = random() % text.size();
            switch (random() % 4) {
                case 0:
                    text.resize(at);
                    break;
                case 1:
                    text[at] = bytes[random() % bytes.size()];
                    break;
                case 2:
                    text.erase(at, random() % 20);
                    break;
                default:
                    text.insert(at, texts[random() % texts.size()].substr(random() % 100, random() % 40));
            }
        }
        const auto scenario = parse(text);
        if (!scenario) {
            EXPECT_GT(scenario.error().line, 0);
            EXPECT_FALSE(scenario.error().text.empty());
        }
    }
}

}  // namespace
}  // namespace pinnace::scenario
