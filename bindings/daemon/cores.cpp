// SPDX-License-Identifier: Apache-2.0
#include "bindings/daemon/cores.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <hwloc.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "bindings/daemon/disk_core.h"

namespace pinnace::daemon {
namespace {

using Topology = std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)>;
using Bitmap = std::unique_ptr<hwloc_bitmap_s, decltype(&hwloc_bitmap_free)>;

std::expected<Topology, std::string> load_topology() {
    hwloc_topology_t raw = nullptr;
    if (hwloc_topology_init(&raw) != 0)
        return std::unexpected("the processors cannot be listed: hwloc does not start");
    Topology topology(raw, &hwloc_topology_destroy);
    hwloc_topology_set_all_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_STRUCTURE);
    if (hwloc_topology_load(raw) != 0) {
        return std::unexpected(fmt::format("the processors cannot be listed: {}", std::strerror(errno)));
    }
    return topology;
}

}  // namespace

std::expected<CorePlan, std::string> plan_cores(std::optional<unsigned> dispatcher,
                                                std::optional<unsigned> journal, unsigned busy_thread_count,
                                                const std::string& data_directory) {
    auto topology = load_topology();
    if (!topology) return std::unexpected(topology.error());
    // What the process is bound to now may be less than what its control group allows.
    Bitmap bound(hwloc_bitmap_alloc(), &hwloc_bitmap_free);
    if (hwloc_get_cpubind(topology->get(), bound.get(), HWLOC_CPUBIND_PROCESS) != 0) {
        hwloc_bitmap_copy(bound.get(), hwloc_topology_get_allowed_cpuset(topology->get()));
    }
    hwloc_bitmap_and(bound.get(), bound.get(), hwloc_topology_get_allowed_cpuset(topology->get()));
    CorePlan plan;
    for (int i = hwloc_bitmap_first(bound.get()); i >= 0; i = hwloc_bitmap_next(bound.get(), i)) {
        plan.allowed.push_back(static_cast<unsigned>(i));
    }
    for (const auto& [name, core] :
         {std::pair{"--dispatcher-cpu", dispatcher}, std::pair{"--journal-cpu", journal}}) {
        if (core && std::ranges::find(plan.allowed, *core) == plan.allowed.end()) {
            return std::unexpected(
                fmt::format("{} {}: this process may not use that processor; it may use {}", name, *core,
                            fmt::join(plan.allowed, ",")));
        }
    }
    plan.dispatcher = dispatcher;
    plan.journal = journal;
    if (!dispatcher && !journal && plan.allowed.size() >= busy_thread_count && plan.allowed.size() >= 2) {
        plan.dispatcher = last_core_but(plan.allowed, disk_core(data_directory));
        if (plan.allowed.size() >= 3) plan.journal = last_core_but(plan.allowed, plan.dispatcher);
    }
    return plan;
}

std::expected<void, std::string> pin_this_thread(unsigned core) {
    auto topology = load_topology();
    if (!topology) return std::unexpected(topology.error());
    Bitmap set(hwloc_bitmap_alloc(), &hwloc_bitmap_free);
    hwloc_bitmap_only(set.get(), core);
    Bitmap now(hwloc_bitmap_alloc(), &hwloc_bitmap_free);
    if (hwloc_set_cpubind(topology->get(), set.get(), HWLOC_CPUBIND_THREAD | HWLOC_CPUBIND_STRICT) != 0 ||
        hwloc_get_last_cpu_location(topology->get(), now.get(), HWLOC_CPUBIND_THREAD) != 0 ||
        !hwloc_bitmap_isequal(set.get(), now.get())) {
        return std::unexpected(
            fmt::format("a thread cannot be bound to processor {}: {}", core, std::strerror(errno)));
    }
    return {};
}

}  // namespace pinnace::daemon
