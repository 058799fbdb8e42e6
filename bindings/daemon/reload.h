// SPDX-License-Identifier: Apache-2.0
// Reload: what `pinnace serve` does on SIGHUP. New topics and queues and other limits are applied, the
// rest is refused by name, and a file with errors changes nothing.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "bindings/config/configuration.h"
#include "bindings/daemon/engine.h"

namespace pinnace::daemon {

// Reads the file again; `running` becomes what then runs. Each thing done or refused is a line.
void reload(Engine& engine, const std::string& path, config::Configuration& running,
            const std::function<void(std::string_view)>& log_line);

}  // namespace pinnace::daemon
