// SPDX-License-Identifier: Apache-2.0
// LogTargets: where the engine's lines for the operator go, as Logging in the configuration says; standard
// error without it. Lines carry the wall clock's time. Any thread may write.
//
// The engine's lines have no levels: a target takes all of them, but for one of level `none`.
#pragma once

#include <cstdio>
#include <expected>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "bindings/config/configuration.h"

namespace pinnace::daemon {

class LogTargets {
 public:
    // Opens the files, and makes their folders. The error names the file.
    static std::expected<std::unique_ptr<LogTargets>, std::string> open(
        const std::vector<config::LogTarget>& targets);

    void write(std::string_view line);
    // Opens the files again, since somebody may have moved them away; what fails goes on as it was.
    void reopen();

 private:
    struct Close {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    using File = std::unique_ptr<std::FILE, Close>;
    struct Target {
        config::LogTarget config;
        File file;  // null: a standard stream
    };
    static std::expected<File, std::string> open_file(const std::string& name);

    std::mutex mutex_;
    std::vector<Target> targets_;
};

}  // namespace pinnace::daemon
