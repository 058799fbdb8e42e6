// SPDX-License-Identifier: Apache-2.0
// The lock of a data directory: one engine at a time. The file LOCK holds the process id, for people; the
// lock itself is the kernel's (flock) and ends with the process and all its writes.
#pragma once

#include <cstdint>
#include <expected>
#include <string>

#include "journal/error.h"

namespace pinnace::journal {

inline constexpr const char* kLockName = "LOCK";
inline constexpr std::int64_t kLockWaitNs = 4'000'000'000;

class DirectoryLock {
 public:
    // Waits at most this long: a killed engine's last writes may still be under way.
    static std::expected<DirectoryLock, Error> take(const std::string& directory, std::int64_t wait_ns);
    // For one who only reads: takes the lock if there is a file for it, and changes nothing. Waits as above.
    static std::expected<DirectoryLock, Error> take_existing(const std::string& directory,
                                                             std::int64_t wait_ns);
    DirectoryLock() = default;
    ~DirectoryLock();
    DirectoryLock(DirectoryLock&& other) noexcept;
    DirectoryLock& operator=(DirectoryLock&& other) noexcept;

    int file() const { return file_; }

 private:
    explicit DirectoryLock(int file) : file_(file) {}
    int file_ = -1;
};

}  // namespace pinnace::journal
