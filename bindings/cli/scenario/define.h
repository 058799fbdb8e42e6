// SPDX-License-Identifier: Apache-2.0
// Defines topics and queues in a core by the definitions of a scenario.
#pragma once

#include <span>

#include "bindings/cli/scenario/world.h"
#include "core/core.h"

namespace pinnace::scenario {

// A refusal names the line of the definition at fault, where one is. A queue covers its topics itself: the
// core's options say so.
Outcome<void> define(Core& core, std::span<const Definition> definitions);

}  // namespace pinnace::scenario
