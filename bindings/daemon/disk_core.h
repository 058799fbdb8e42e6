// SPDX-License-Identifier: Apache-2.0
// DiskCore: which processor the interrupts of the journal's disk go to. A spinning dispatcher there is
// stopped at every write, and holds up the journal's completions in its turn.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace pinnace::daemon {

// The processor that has taken more than half of the interrupts of the disk under `path`. Nothing: no
// processor has, as with a disk that answers each processor by itself, or it cannot be told, as with a file
// system in memory. From /proc/interrupts; any thread.
std::optional<unsigned> disk_core(const std::string& path);

// Of `cores` (not empty) the last that is not `disk`, or the last if there is no other: for the dispatcher.
unsigned last_core_but(const std::vector<unsigned>& cores, std::optional<unsigned> disk);

// The numbers of the interrupts of the disk under `path`, or under its nearest ancestor that exists; of all
// disks of a volume over several. From /sys/dev/block.
std::set<std::string> disk_interrupts(const std::string& path);

// From the text of /proc/interrupts: the processor with more than half of what the rows of `irqs` count.
std::optional<unsigned> busiest_core(std::string_view interrupts, const std::set<std::string>& irqs);

}  // namespace pinnace::daemon
