// SPDX-License-Identifier: Apache-2.0
// Simulated lives of pump and core, with fixed seeds and some from PINNACE_SEED (PINNACE_SIM_RUNS of them).
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/sim/simulation.h"

namespace pinnace::testing {
namespace {

std::uint64_t number_of(const char* name, std::uint64_t otherwise) {
    const char* text = std::getenv(name);
    return text == nullptr || *text == 0 ? otherwise : std::strtoull(text, nullptr, 0);
}

void run_from(std::uint64_t first, std::uint64_t count) {
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
        Simulation simulation(seed);
        const std::string failure = simulation.run(4, 120);
        ASSERT_EQ(failure, "") << "seed " << seed;
    }
}

TEST(Simulation, HoldsItsInvariantsForFixedSeeds) { run_from(1, 200); }

TEST(Simulation, HoldsItsInvariantsForSeedsOfThisCommit) {
    run_from(number_of("PINNACE_SEED", 20'261'130) * 1'000'003, number_of("PINNACE_SIM_RUNS", 300));
}

TEST(Simulation, TwoRunsOfOneSeedGiveTheSameDigest) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        Simulation one(seed);
        Simulation other(seed);
        EXPECT_EQ(one.run(3, 80), other.run(3, 80));
        EXPECT_EQ(one.digest(), other.digest()) << "seed " << seed;
    }
}

}  // namespace
}  // namespace pinnace::testing
