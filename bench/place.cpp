// SPDX-License-Identifier: Apache-2.0
#include "bench/place.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/utsname.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "bench/ticks.h"
#include "bindings/daemon/disk_core.h"

namespace pinnace::bench {

std::vector<unsigned> allowed_cores() {
    std::vector<unsigned> cores;
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return cores;
    for (unsigned core = 0; core < CPU_SETSIZE; ++core) {
        if (CPU_ISSET(core, &set)) cores.push_back(core);
    }
    return cores;
}

namespace {

std::expected<unsigned, std::string> parse_core(std::string_view text, const std::vector<unsigned>& allowed) {
    unsigned core = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), core);
    if (error != std::errc{} || end != text.data() + text.size()) {
        return std::unexpected(fmt::format("--cpus wants two numbers as in 0,1, not '{}'", text));
    }
    if (std::ranges::find(allowed, core) == allowed.end()) {
        return std::unexpected(
            fmt::format("core {} cannot be had: this process may use {}", core, fmt::join(allowed, ", ")));
    }
    return core;
}

std::string processor_name() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        const std::size_t colon = line.find(':');
        if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
    }
    return "unknown processor";
}

}  // namespace

std::expected<Place, std::string> choose_place(std::string_view cpus, const std::string& data_directory) {
    const std::vector<unsigned> allowed = allowed_cores();
    if (allowed.empty()) return std::unexpected(std::string("the allowed cores cannot be read"));
    if (cpus.empty()) {
        const std::string directory =
            data_directory.empty() ? std::filesystem::temp_directory_path().string() : data_directory;
        const unsigned dispatcher = daemon::last_core_but(allowed, daemon::disk_core(directory));
        return Place{dispatcher == allowed.front() ? allowed.back() : allowed.front(), dispatcher};
    }
    const std::size_t comma = cpus.find(',');
    const auto client = parse_core(cpus.substr(0, comma), allowed);
    if (!client) return std::unexpected(client.error());
    const auto dispatcher =
        parse_core(comma == std::string_view::npos ? "" : cpus.substr(comma + 1), allowed);
    if (!dispatcher) return std::unexpected(dispatcher.error());
    return Place{*client, *dispatcher};
}

bool pin_this_thread(unsigned core) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    return sched_setaffinity(0, sizeof set, &set) == 0;
}

std::string environment() {
    utsname name{};
    uname(&name);
    double load = NAN;
    getloadavg(&load, 1);
    return fmt::format("{}, {} cores, Linux {}, load {:.2f}, a measured span costs {} ns by itself",
                       processor_name(), allowed_cores().size(), name.release, load, overhead_ns());
}

}  // namespace pinnace::bench
