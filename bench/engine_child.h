// SPDX-License-Identifier: Apache-2.0
// EngineChild: an engine in a process of its own, for benchmarks that measure what a client sees. It ends
// with this object, and with this process.
#pragma once

#include <sys/types.h>

#include <expected>
#include <string>

#include "bench/place.h"
#include "bindings/daemon/engine.h"

namespace pinnace::bench {

struct EngineChoice {
    Place place;  // dispatcher on one core, the journal thread beside the client on the other
    WaitMode wait = WaitMode::spin;
    std::string data_directory;  // empty: a fresh one of its own, removed at the end
    std::uint64_t journal_size =
        0;                  // written out ahead, as it is once an engine has run for a while; 0: little
    bool is_small = false;  // short files and little memory, for tests
};

class EngineChild {
 public:
    // To be called before this process has other threads.
    static std::expected<EngineChild, std::string> start(const EngineChoice& choice);
    EngineChild(EngineChild&& other) noexcept;
    EngineChild& operator=(EngineChild&&) = delete;
    ~EngineChild();

    std::string socket_path() const { return directory_ + "/pinnace.sock"; }
    const std::string& directory() const { return directory_; }

 private:
    EngineChild(std::string directory, bool is_own, pid_t pid, int life)
        : directory_(std::move(directory)), is_own_(is_own), pid_(pid), life_(life) {}

    std::string directory_;
    bool is_own_ = false;
    pid_t pid_ = -1;
    int life_ = -1;  // the child ends when this end of a pipe is closed
};

}  // namespace pinnace::bench
