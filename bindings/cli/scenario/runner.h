// SPDX-License-Identifier: Apache-2.0
// Runs scenarios in a world and says where it does not do what they say.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "bindings/cli/scenario/scenario.h"
#include "bindings/cli/scenario/world.h"

namespace pinnace::scenario {

struct Failure {
    int line = 0;
    std::string text;  // "expected … got …", one line
};

using MakeWorld = std::function<std::unique_ptr<ScenarioWorld>()>;

// Nothing: the scenario holds. It ends at the first line that does not.
std::optional<Failure> run(const Scenario& scenario, const MakeWorld& make_world);

// The same from the text of a file; a mistake in its form is a failure too.
std::optional<Failure> run_text(std::string_view text, const MakeWorld& make_world);

}  // namespace pinnace::scenario
