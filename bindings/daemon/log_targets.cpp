// SPDX-License-Identifier: Apache-2.0
#include "bindings/daemon/log_targets.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>

namespace pinnace::daemon {

using Kind = config::LogTarget::Kind;

std::expected<LogTargets::File, std::string> LogTargets::open_file(const std::string& name) {
    const std::filesystem::path folder = std::filesystem::path(name).parent_path();
    std::error_code error;
    if (!folder.empty()) std::filesystem::create_directories(folder, error);
    File file(std::fopen(name.c_str(), "ae"));
    if (!file)
        return std::unexpected(fmt::format("{}: the log cannot be opened: {}", name, std::strerror(errno)));
    return file;
}

std::expected<std::unique_ptr<LogTargets>, std::string> LogTargets::open(
    const std::vector<config::LogTarget>& targets) {
    auto opened = std::make_unique<LogTargets>();
    for (const config::LogTarget& target : targets) {
        File file;
        if (target.level == "none") continue;
        if (target.kind == Kind::file) {
            auto made = open_file(target.file_name);
            if (!made) return std::unexpected(made.error());
            file = std::move(*made);
        }
        opened->targets_.push_back({target, std::move(file)});
    }
    if (targets.empty()) opened->targets_.push_back({});
    return opened;
}

void LogTargets::write(std::string_view line) {
    const std::lock_guard lock(mutex_);
    for (const Target& target : targets_) {
        if (target.config.kind != Kind::file) {
            std::FILE* stream = target.config.kind == Kind::standard_output ? stdout : stderr;
            fmt::print(stream, "pinnace: {}\n", line);
            std::fflush(stream);
            continue;
        }
        const auto now = std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
        const auto seconds = std::chrono::floor<std::chrono::seconds>(now);
        fmt::print(target.file.get(), "{:%Y-%m-%dT%H:%M:%S}.{:03}Z {}\n", fmt::gmtime(seconds),
                   (now - seconds).count(), line);
        std::fflush(target.file.get());
    }
}

void LogTargets::reopen() {
    const std::lock_guard lock(mutex_);
    for (Target& target : targets_) {
        if (target.config.kind != Kind::file) continue;
        if (auto file = open_file(target.config.file_name)) target.file = std::move(*file);
    }
}

}  // namespace pinnace::daemon
