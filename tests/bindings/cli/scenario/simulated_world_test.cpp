// SPDX-License-Identifier: Apache-2.0
// What the scenario files themselves do not show of the simulated world.
#include "bindings/cli/scenario/simulated_world.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "bindings/cli/scenario/parse.h"
#include "bindings/cli/scenario/runner.h"

namespace pinnace::scenario {
namespace {

// "LINE: text" of the failure, or "ok".
std::string result(std::string_view text) {
    const auto failure = run_text(text, [] { return std::make_unique<SimulatedWorld>(); });
    return failure ? std::to_string(failure->line) + ": " + failure->text : "ok";
}

TEST(SimulatedWorld, WhatIsNotThereIsNamed) {
    EXPECT_EQ(result("queue Q\ndepth R => 0"),
              "2: expected 0 got error: unknown_topic: no queue is named `R`");
    EXPECT_EQ(result("queue Q\npublish R {} => error unknown_topic"), "ok");
    EXPECT_EQ(result("queue Q\nkill a => error client"), "ok");
    EXPECT_EQ(result("queue Q\nunsubscribe a => error subscription"), "ok");
    EXPECT_EQ(result("queue Q\npublish Q {} as m\nack a m => error subscription"), "ok");
    EXPECT_EQ(result("queue Q\nsubscribe a Q\nsubscribe a Q => error already"), "ok");
}

TEST(SimulatedWorld, AQueryWithABadExpressionIsRefused) {
    EXPECT_EQ(result("queue Q\nsow Q where '/a >' => error bad_filter column"), "ok");
}

TEST(SimulatedWorld, TimeThatDoesNotFitTheClockIsRefused) {
    EXPECT_EQ(result("queue Q\nadvance 36500d\nadvance 36500d\nadvance 36500d"),
              "4: expected the command to succeed, got error: advance: that is beyond the clock");
}

// An orderly stop: what is returned to the queue is handed to nobody who is about to end as well.
TEST(SimulatedWorld, ARestartCountsNoDeliveryBetweenTheClientsThatEnd) {
    EXPECT_EQ(result("queue Q MaxDeliveries=3\n"
                     "subscribe a Q\nsubscribe b Q\n"
                     "publish Q {} as m\nexpect a m#1\n"
                     "restart\n"
                     "subscribe c Q\nexpect c m#2\nexpect b"),
              "ok");
}

TEST(SimulatedWorld, BodiesAreReadBackAfterACrash) {
    EXPECT_EQ(result("queue Q\npublish Q {\"n\":1}\npublish Q '' as empty\ncrash\n"
                     "sow Q => {\"n\":1} empty\nsubscribe a Q max_backlog=2\nexpect a {\"n\":1} empty"),
              "ok");
}

// A scenario's definitions and commands, without what the commands want. Only lines that stand alone.
struct Parts {
    std::string definitions;
    std::vector<std::string> commands;
};

std::vector<Parts> parts_of_scenarios() {
    std::vector<Parts> all;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(PINNACE_TEST_DATA "/scenarios")) {
        if (entry.path().extension() != ".scn" || entry.path().parent_path().filename() == "depth") continue;
        std::ifstream in(entry.path());
        Parts parts;
        for (std::string line; std::getline(in, line);) {
            line = line.substr(0, line.find(" =>"));
            const auto scenario = parse(line);
            if (!scenario || line.starts_with("expect")) continue;
            if (!scenario->definitions.empty()) parts.definitions += line + "\n";
            if (!scenario->steps.empty()) parts.commands.push_back(line);
        }
        if (!parts.commands.empty()) all.push_back(std::move(parts));
    }
    return all;
}

// Runs the commands in this order; those that fail are left out. Returns how many there were in the end.
std::size_t run_what_can_be_run(const std::string& definitions, std::vector<std::string> commands) {
    const auto definition_count = std::ranges::count(definitions, '\n');
    while (!commands.empty()) {
        std::string text = definitions;
        for (const std::string& command : commands) text += command + "\n";
        const auto failure = run_text(text, [] { return std::make_unique<SimulatedWorld>(); });
        if (!failure) break;
        EXPECT_EQ(failure->text.find("engine has failed"), std::string::npos) << failure->text << "\n"
                                                                              << text;
        if (failure->line <= definition_count) return 0;
        commands.erase(commands.begin() + (failure->line - 1 - definition_count));
    }
    return commands.size();
}

// Whatever stands in a file, in whatever order: it holds or it fails, but nothing stops the process.
TEST(SimulatedWorld, CommandsInAnyOrderNeverStopTheEngine) {
    const std::vector<Parts> scenarios = parts_of_scenarios();
    ASSERT_GT(scenarios.size(), 100u);
    const char* seed = std::getenv("PINNACE_SEED");
    std::mt19937_64 random(seed == nullptr ? 20'261'130 : std::strtoull(seed, nullptr, 10));
    std::size_t run_count = 0;
    for (int round = 0; round < 400; ++round) {
        const Parts& scenario = scenarios[random() % scenarios.size()];
        std::vector<std::string> commands = scenario.commands;
        for (std::size_t change = commands.size() / 2 + 1; change > 0; --change) {
            const std::string again = commands[random() % commands.size()];
            commands.insert(commands.begin() + static_cast<std::ptrdiff_t>(random() % commands.size()),
                            again);
            std::swap(commands[random() % commands.size()], commands[random() % commands.size()]);
        }
        run_count += run_what_can_be_run(scenario.definitions, std::move(commands));
    }
    EXPECT_GT(run_count, 2'000u) << "PINNACE_SEED=" << (seed == nullptr ? "" : seed);
}

}  // namespace
}  // namespace pinnace::scenario
