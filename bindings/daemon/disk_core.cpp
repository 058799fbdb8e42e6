// SPDX-License-Identifier: Apache-2.0
#include "bindings/daemon/disk_core.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <sstream>
#include <system_error>

namespace pinnace::daemon {
namespace {

namespace fs = std::filesystem;

constexpr int kStackedDisksMax = 8;  // a volume over an array over a disk, and some

// The message-signalled interrupts of the nearest device above the block device that has any.
void add_interrupts(const fs::path& block, std::set<std::string>& irqs) {
    std::error_code error;
    for (fs::path at = block; at.has_relative_path(); at = at.parent_path()) {
        for (const fs::directory_entry& entry : fs::directory_iterator(at / "msi_irqs", error))
            irqs.insert(entry.path().filename().string());
        if (!irqs.empty()) return;
    }
}

// A volume that lies on other block devices has no interrupts of its own: theirs.
void add_interrupts_below(const fs::path& block, int depth, std::set<std::string>& irqs) {
    std::error_code error;
    bool stacked = false;
    for (const fs::directory_entry& entry : fs::directory_iterator(block / "slaves", error)) {
        stacked = true;
        const fs::path below = fs::canonical(entry.path(), error);
        if (!error && depth < kStackedDisksMax) add_interrupts_below(below, depth + 1, irqs);
    }
    if (!stacked) add_interrupts(block, irqs);
}

}  // namespace

std::optional<unsigned> busiest_core(std::string_view interrupts, const std::set<std::string>& irqs) {
    std::istringstream lines{std::string(interrupts)};
    std::string line;
    // The heading names the processors that are online: CPU0 CPU1 CPU3.
    std::vector<unsigned> cores;
    std::getline(lines, line);
    std::istringstream heading(line);
    for (std::string name; heading >> name;) {
        unsigned core = 0;
        if (!name.starts_with("CPU")) return std::nullopt;
        const auto [end, error] = std::from_chars(name.data() + 3, name.data() + name.size(), core);
        if (error != std::errc{} || end != name.data() + name.size()) return std::nullopt;
        cores.push_back(core);
    }
    std::vector<unsigned long long> counts(cores.size());
    while (std::getline(lines, line)) {
        std::istringstream row(line);
        std::string irq;
        if (!(row >> irq) || !irq.ends_with(':') || !irqs.contains(irq.substr(0, irq.size() - 1))) continue;
        for (unsigned long long& sum : counts) {
            unsigned long long count = 0;
            if (!(row >> count)) return std::nullopt;
            sum += count;
        }
    }
    const auto most = std::ranges::max_element(counts);
    const auto sum = std::accumulate(counts.begin(), counts.end(), 0ULL);
    if (most == counts.end() || *most <= sum / 2) return std::nullopt;
    return cores[static_cast<std::size_t>(most - counts.begin())];
}

std::set<std::string> disk_interrupts(const std::string& path) {
    std::error_code error;
    fs::path at = fs::absolute(path, error);
    struct stat status{};
    while (stat(at.c_str(), &status) != 0) {
        if (!at.has_relative_path()) return {};
        at = at.parent_path();
    }
    const fs::path block =
        fs::canonical(fmt::format("/sys/dev/block/{}:{}", major(status.st_dev), minor(status.st_dev)), error);
    if (error) return {};
    std::set<std::string> irqs;
    add_interrupts_below(block, 0, irqs);
    return irqs;
}

std::optional<unsigned> disk_core(const std::string& path) {
    std::ifstream file("/proc/interrupts");
    return busiest_core(std::string(std::istreambuf_iterator<char>(file), {}), disk_interrupts(path));
}

unsigned last_core_but(const std::vector<unsigned>& cores, std::optional<unsigned> disk) {
    const auto at = std::find_if(cores.rbegin(), cores.rend(), [&](unsigned core) { return core != disk; });
    return at == cores.rend() ? cores.back() : *at;
}

}  // namespace pinnace::daemon
