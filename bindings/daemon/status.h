// SPDX-License-Identifier: Apache-2.0
// Status: the engine's state as one JSON object, for `pinnace status` and programs. Made in the dispatcher,
// so that the numbers belong together.
#pragma once

#include <string>

#include "bindings/daemon/control.h"
#include "bindings/daemon/dispatcher.h"
#include "bindings/daemon/engine.h"

namespace pinnace::daemon {

std::string make_status(const EngineReport& report, Dispatcher& dispatcher, const journal::Journal& journal,
                        const std::vector<Control::SessionFacts>& sessions);

// A string as JSON, quotes included.
std::string json_text(std::string_view text);

}  // namespace pinnace::daemon
