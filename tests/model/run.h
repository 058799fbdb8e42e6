// SPDX-License-Identifier: Apache-2.0
// Run: a sequence through the model and the core side by side, and what is left of a failing one when all is
// taken out that it does not need.
#pragma once

#include <string>
#include <vector>

#include "tests/model/reference/plan.h"

namespace pinnace::model {

struct Run {
    Sequence executed;              // its commands as they were effective, up to a failure
    std::vector<Outcome> outcomes;  // the model's, one a command
    std::string failure;            // empty: core and model agree
};

// Makes a sequence while it runs. Without the engine: the model alone, for what would stop the process.
Run run_seed(std::uint64_t seed, unsigned features, int command_count, bool with_engine = true);
Run run(const Sequence& sequence, bool with_engine = true);
// The sequence fails, or the core stops the process over it.
bool stops_the_process(const Sequence& sequence);
// The shortest failing sequence that is found by leaving things out.
Sequence shrink(const Sequence& failing);
// The outcome in words, for a failure.
std::string in_words(const Outcome& outcome);

}  // namespace pinnace::model
