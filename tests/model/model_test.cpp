// SPDX-License-Identifier: Apache-2.0
// The core against the reference model: random sequences of commands with fixed seeds, and more from
// PINNACE_SEED. The README of this folder tells of the other variables.
#include <gtest/gtest.h>

#include <unistd.h>

#include <charconv>
#include <csignal>
#include <cstdlib>
#include <iostream>

#include "tests/model/generator.h"
#include "tests/model/run.h"
#include "tests/model/scenario_text.h"

namespace pinnace::model {
namespace {

std::uint64_t number_of(const char* name, std::uint64_t otherwise) {
    const char* text = std::getenv(name);
    return text == nullptr || *text == 0 ? otherwise : std::strtoull(text, nullptr, 0);
}

unsigned features() { return static_cast<unsigned>(number_of("PINNACE_MODEL_FEATURES", kAllFeatures)); }

// A sequence takes a millisecond or two: this one hangs.
constexpr unsigned kHangSeconds = 60;

// The core stops the process over a fault of its own: say at least which seed it was.
volatile std::uint64_t current_seed = 0;

extern "C" void tell_seed(int) {
    char text[64] = "PINNACE_MODEL_ONE=";
    char* end = std::to_chars(text + 18, text + 60, static_cast<std::uint64_t>(current_seed)).ptr;
    *end++ = '\n';
    if (::write(2, text, static_cast<std::size_t>(end - text)) < 0) return;
}
extern "C" void tell_seed_and_stop(int) { std::abort(); }

// As check(), for a seed over which the core stops the process.
std::string check_stop(std::uint64_t seed, int command_count) {
    const Run whole = run_seed(seed, features(), command_count, false);
    if (!stops_the_process(whole.executed)) return {};
    const Sequence small = shrink(whole.executed);
    return "the core stops over\n" + scenario_text(small, run(small, false).outcomes);
}

// The seed and the shrunk sequence as a scenario; empty if core and model agree.
std::string check(std::uint64_t seed, int command_count) {
    current_seed = seed;
    ::alarm(kHangSeconds);
    Run failing = run_seed(seed, features(), command_count);
    if (failing.failure.empty()) return {};
    if (failing.executed.commands.empty()) return "seed " + std::to_string(seed) + ": " + failing.failure;
    const Run small = run(shrink(failing.executed));
    return "seed " + std::to_string(seed) + ", shrunk:\n" + scenario_text(small.executed, small.outcomes) +
           "# at the last command\n" + small.failure;
}

// Runs `count` sequences from a seed on; stops at a few failures.
void check_from(std::uint64_t first, std::uint64_t count) {
    std::signal(SIGABRT, tell_seed);
    std::signal(SIGALRM, tell_seed_and_stop);
    int failures = 0;
    const int most = static_cast<int>(number_of("PINNACE_MODEL_FAILURES", 3));
    for (std::uint64_t index = 0; index < count && failures < most; ++index) {
        const std::string failure = check(first + index, 100 + static_cast<int>((first + index) % 200));
        if (failure.empty()) continue;
        ++failures;
        ADD_FAILURE() << failure;
    }
}

TEST(CoreAndModel, AgreeOnFixedSeeds) {
    if (const std::uint64_t one = number_of("PINNACE_MODEL_ONE", 0); one != 0) {
        const int count = 100 + static_cast<int>(one % 200);
        const std::string stopped = check_stop(one, count);
        if (!stopped.empty()) std::cout << stopped << std::endl;
        EXPECT_EQ(check(one, count), "");
        return;
    }
    check_from(1, 1000);
}

TEST(CoreAndModel, AgreeOnSeedsOfThisCommit) {
    if (number_of("PINNACE_MODEL_ONE", 0) != 0) return;
    const std::uint64_t seed = number_of("PINNACE_SEED", 20'261'130);
    check_from(seed * 1'000'003 + 1'000'000, number_of("PINNACE_MODEL_SEQUENCES", 2000));
}

}  // namespace
}  // namespace pinnace::model
