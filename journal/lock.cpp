// SPDX-License-Identifier: Apache-2.0
#include "journal/lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "journal/environment.h"

namespace pinnace::journal {
namespace {

constexpr long kLookAgainNs = 10'000'000;

std::string holder(int file) {
    char text[32] = {};
    const ssize_t size = ::pread(file, text, sizeof text - 1, 0);
    std::string process(text, size > 0 ? static_cast<std::size_t>(size) : 0);
    while (!process.empty() && process.back() == '\n') process.pop_back();
    return process.empty() ? "another engine" : "another engine (process " + process + ")";
}

Error lock_error(const std::string& path, int error) {
    return {ErrorKind::io, path + " cannot be locked: " + std::strerror(error) + ".", path, 0, error};
}

Error in_use(const std::string& directory, const std::string& path, int file) {
    return {ErrorKind::in_use, "The data directory " + directory + " is in use by " + holder(file) + ".",
            path, 0, EWOULDBLOCK};
}

}  // namespace

namespace {

// True: held. False: somebody else holds it, or errno says what failed.
bool wait_for_lock(int file, int how, std::int64_t wait_ns) {
    const std::int64_t end = real_environment().monotonic_ns() + wait_ns;
    while (::flock(file, how | LOCK_NB) < 0) {
        if (errno == EINTR) continue;
        if (errno != EWOULDBLOCK || real_environment().monotonic_ns() >= end) return false;
        const timespec pause{0, kLookAgainNs};
        ::nanosleep(&pause, nullptr);
    }
    return true;
}

}  // namespace

std::expected<DirectoryLock, Error> DirectoryLock::take_existing(const std::string& directory,
                                                                 std::int64_t wait_ns) {
    const std::string path = directory + "/" + kLockName;
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0 && errno == ENOENT) return DirectoryLock();
    if (file < 0) return std::unexpected(lock_error(path, errno));
    DirectoryLock lock(file);
    if (wait_for_lock(file, LOCK_SH, wait_ns)) return lock;
    if (errno == EWOULDBLOCK) return std::unexpected(in_use(directory, path, file));
    return std::unexpected(lock_error(path, errno));
}

std::expected<DirectoryLock, Error> DirectoryLock::take(const std::string& directory, std::int64_t wait_ns) {
    const std::string path = directory + "/" + kLockName;
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0) return std::unexpected(lock_error(path, errno));
    DirectoryLock lock(file);
    if (!wait_for_lock(file, LOCK_EX, wait_ns)) {
        if (errno == EWOULDBLOCK) return std::unexpected(in_use(directory, path, file));
        return std::unexpected(lock_error(path, errno));
    }
    // For people only; an error here harms nobody.
    const std::string process = std::to_string(::getpid()) + "\n";
    const bool told = ::ftruncate(file, 0) == 0 && ::pwrite(file, process.data(), process.size(), 0) > 0;
    static_cast<void>(told);
    return lock;
}

DirectoryLock::~DirectoryLock() {
    if (file_ < 0) return;
    // The io_uring may hold the file a little longer; all writes have ended by now.
    ::flock(file_, LOCK_UN);
    ::close(file_);
}

DirectoryLock::DirectoryLock(DirectoryLock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}

DirectoryLock& DirectoryLock::operator=(DirectoryLock&& other) noexcept {
    std::swap(file_, other.file_);
    return *this;
}

}  // namespace pinnace::journal
