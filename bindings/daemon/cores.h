// SPDX-License-Identifier: Apache-2.0
// Cores: which processors the engine's threads run on. Chosen and checked with hwloc inside the set that
// this process may use; a core that the user named and that cannot be had is an error, never a silent
// other one.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <vector>

namespace pinnace::daemon {

struct CorePlan {
    std::vector<unsigned> allowed;       // OS indexes of what this process may use, in order
    std::optional<unsigned> dispatcher;  // pinned there; nothing: not pinned
    std::optional<unsigned> journal;
};

// `dispatcher`, `journal`: as the user named them. Where there are at least `busy_thread_count` cores and
// nothing was named, the dispatcher gets the last core that the disk under `data_directory` leaves alone
// (disk_core.h), and the journal thread the last of the others; with fewer cores nobody is pinned that the
// user did not name.
std::expected<CorePlan, std::string> plan_cores(std::optional<unsigned> dispatcher,
                                                std::optional<unsigned> journal, unsigned busy_thread_count,
                                                const std::string& data_directory);

// Binds the calling thread and looks that it is there.
std::expected<void, std::string> pin_this_thread(unsigned core);

}  // namespace pinnace::daemon
