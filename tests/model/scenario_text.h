// SPDX-License-Identifier: Apache-2.0
// ScenarioText: a sequence and what the model says of it as a scenario file, so that a disagreement can be
// looked at, kept and run with `pinnace scenario`.
#pragma once

#include <string>
#include <vector>

#include "tests/model/reference/plan.h"

namespace pinnace::model {

// `outcomes`: the model's, one for each command.
std::string scenario_text(const Sequence& sequence, const std::vector<Outcome>& outcomes);

}  // namespace pinnace::model
