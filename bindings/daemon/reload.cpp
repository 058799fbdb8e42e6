// SPDX-License-Identifier: Apache-2.0
#include "bindings/daemon/reload.h"

#include <fmt/format.h>

namespace pinnace::daemon {

void reload(Engine& engine, const std::string& path, config::Configuration& running,
            const std::function<void(std::string_view)>& log_line) {
    const auto next = config::load(path);
    if (!next) return log_line("reload: nothing changes: " + next.error());
    if (next->has_errors()) {
        for (const config::Problem& problem : next->problems)
            if (problem.is_error) log_line(config::to_text(problem, path));
        return log_line(fmt::format("reload: nothing changes, since {} has errors", path));
    }
    config::Changes changes = config::compare(running, next->configuration);
    // With what is refused left out, the rest must still fit together.
    if (const auto good = config::try_definitions(changes.running.definitions); !good)
        return log_line("reload: nothing changes: " + good.error());
    if (!changes.applied.empty()) {
        const auto done = engine.extend(changes.added, changes.changed);
        if (!done) return log_line("reload: not all was applied: " + done.error());
    }
    running = std::move(changes.running);
    for (const std::string& element : changes.applied)
        log_line(fmt::format("reload: {} is applied", element));
    for (const std::string& element : changes.refused)
        log_line(fmt::format("reload: {} needs a restart, it stays as it was", element));
    if (changes.applied.empty() && changes.refused.empty()) log_line("reload: nothing has changed");
}

}  // namespace pinnace::daemon
