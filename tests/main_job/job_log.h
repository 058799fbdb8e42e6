// SPDX-License-Identifier: Apache-2.0
// What the programs of the main job leave behind: one line an event, each written at once, so that a program
// that is killed has said everything it did. scripts/main-job reads them.
#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

namespace pinnace::job {

inline std::int64_t monotonic_ns() {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

// FNV-1a: names a body in the log.
inline std::uint64_t hash_of(std::string_view body) {
    std::uint64_t hash = 14695981039346656037u;
    for (const char c : body) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
    return hash;
}

class Log {
 public:
    explicit Log(const char* path) : fd_(open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {
        if (fd_ < 0) fail(fmt::format("{} cannot be written", path));
    }
    Log(const Log&) = delete;
    Log& operator=(const Log&) = delete;
    ~Log() { close(fd_); }

    template <class... Values>
    void put(char event, const Values&... values) {
        std::string line(1, event);
        ((line += fmt::format(" {}", values)), ...);
        line += '\n';
        if (write(fd_, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
            fail("the log is full");
    }
    [[noreturn]] static void fail(const std::string& text) {
        fmt::print(stderr, "{}\n", text);
        std::exit(1);
    }

 private:
    int fd_;
};

}  // namespace pinnace::job
