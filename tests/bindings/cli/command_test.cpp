// SPDX-License-Identifier: Apache-2.0
#include "bindings/cli/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

namespace pinnace::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::function<int()> declare_echo(CLI::App& app) {
    auto count = std::make_shared<int>(0);
    app.add_option("--count", *count, "a number");
    return [count] {
        if (*count == 13) throw CommandError{"no luck\ntoday"};
        if (*count == 14) throw std::runtime_error("worse");
        return *count;
    };
}
const Registration kEcho({"echo", "gives back its count", declare_echo, {}});
const Registration kNested(
    {"box", "holds others", nullptr, {{"echo", "gives back its count", declare_echo, {}}}});

struct Outcome {
    int exit_code;
    std::string out;
    std::string err;
};

Outcome call(std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), "pinnace");
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    const int exit_code = run_command_line(static_cast<int>(arguments.size()), arguments.data());
    return {exit_code, ::testing::internal::GetCapturedStdout(), ::testing::internal::GetCapturedStderr()};
}

bool is_one_line(const std::string& text) {
    return text.ends_with('\n') && text.find('\n') == text.size() - 1;
}

TEST(CommandLine, AnActionGivesTheExitCode) {
    EXPECT_EQ(call({"echo"}).exit_code, 0);
    EXPECT_EQ(call({"echo", "--count", "1"}).exit_code, 1);
    EXPECT_EQ(call({"box", "echo", "--count=7"}).exit_code, 7);
}

TEST(CommandLine, WrongUsageIsOneLineAndExitCodeTwo) {
    for (const auto& arguments : std::vector<std::vector<const char*>>{{},
                                                                       {"sing"},
                                                                       {"echo", "--loud"},
                                                                       {"echo", "--count", "many"},
                                                                       {"box"},
                                                                       {"box", "sing"},
                                                                       {"--loud"}}) {
        const Outcome outcome = call(arguments);
        EXPECT_EQ(outcome.exit_code, kWrongUsage);
        EXPECT_TRUE(is_one_line(outcome.err)) << outcome.err;
        EXPECT_EQ(outcome.out, "");
    }
    EXPECT_THAT(call({"--loud"}).err, HasSubstr("--loud"));
    EXPECT_THAT(call({"box", "--loud"}).err, HasSubstr("--loud"));
    EXPECT_THAT(call({"box"}).err, HasSubstr("a subcommand is missing; see `pinnace box --help`"));
    EXPECT_THAT(call({"echo", "--loud"}).err, StartsWith("pinnace echo: "));
    EXPECT_THAT(call({"echo", "--loud"}).err, HasSubstr("--loud"));
    EXPECT_THAT(call({"box", "echo", "--loud"}).err, HasSubstr("see `pinnace box echo --help`"));
}

TEST(CommandLine, AFailedActionIsOneLineAndItsExitCode) {
    const Outcome outcome = call({"echo", "--count", "13"});
    EXPECT_EQ(outcome.exit_code, kFailed);
    EXPECT_EQ(outcome.err, "pinnace echo: no luck today\n");
    EXPECT_EQ(call({"echo", "--count", "14"}).err, "pinnace echo: worse\n");
}

TEST(CommandLine, HelpAndVersionSucceedOnEachLevel) {
    EXPECT_THAT(call({"--help"}).out, HasSubstr("gives back its count"));
    EXPECT_THAT(call({"echo", "--help"}).out, HasSubstr("--count"));
    EXPECT_THAT(call({"box", "echo", "--help"}).out, HasSubstr("--count"));
    EXPECT_EQ(call({"box", "--help"}).exit_code, 0);
    EXPECT_THAT(call({"--version"}).out, StartsWith("pinnace "));
    EXPECT_EQ(call({"--version"}).exit_code, 0);
}

}  // namespace
}  // namespace pinnace::cli
