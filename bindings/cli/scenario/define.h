// SPDX-License-Identifier: Apache-2.0
// The definitions of a scenario as the engine takes them. A Fault of kind `refused` is Q2's refusal; it names
// the definition's line and carries the engine's text.
#pragma once

#include <span>

#include "bindings/cli/scenario/scenario.h"
#include "bindings/cli/scenario/world.h"
#include "core/definitions.h"

namespace pinnace::scenario {

// What the lines say; whoever makes a core of it passes topics_must_be_covered on to it.
Outcome<Definitions> read_definitions(std::span<const Definition> definitions);

// Defines all of it in the core; `lines` are those that it was read from.
Outcome<void> define(Core& core, const Definitions& definitions, std::span<const Definition> lines);

}  // namespace pinnace::scenario
