// SPDX-License-Identifier: Apache-2.0
#include "shm/listener.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace pinnace::shm {

namespace {

std::expected<FileIdentity, std::string> identify_path(const std::string& path) {
    struct stat status = {};
    if (lstat(path.c_str(), &status) != 0) return std::unexpected(errno_text(path.c_str()));
    return FileIdentity{status.st_dev, status.st_ino, 0};
}

std::expected<Fd, std::string> take_lock(const std::string& path) {
    Fd lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!lock) return std::unexpected(errno_text(path.c_str()));
    if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK) return std::unexpected(errno_text(path.c_str()));
        return std::unexpected("another engine serves this socket (it holds " + path + ")");
    }
    return lock;
}

}  // namespace

std::expected<Listener, std::string> Listener::create(const std::string& path, mode_t mode) {
    // In the same folder, so that the rename is one step; the lock's holder alone uses the name.
    const std::string temporary = path + ".new";
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.empty() || temporary.size() >= sizeof(address.sun_path)) {
        return std::unexpected("the path of the socket is empty or too long: " + path);
    }
    auto lock = take_lock(path + ".lock");
    if (!lock) return std::unexpected(lock.error());
    Fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) return std::unexpected(errno_text("socket"));
    unlink(temporary.c_str());
    std::memcpy(address.sun_path, temporary.data(), temporary.size());
    if (bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
        return std::unexpected(errno_text(temporary.c_str()));
    }
    const bool is_named = chmod(temporary.c_str(), mode) == 0 && listen(socket.get(), 512) == 0 &&
                          rename(temporary.c_str(), path.c_str()) == 0;
    if (!is_named) {
        const std::string text = errno_text(path.c_str());
        unlink(temporary.c_str());
        return std::unexpected(text);
    }
    const auto file = identify_path(path);
    if (!file) return std::unexpected(file.error());
    return Listener(path, std::move(*lock), std::move(socket), *file);
}

Listener::~Listener() {
    if (!socket_) return;
    const auto now = identify_path(path_);
    if (now && *now == file_) unlink(path_.c_str());
}

std::optional<Fd> Listener::accept(std::string& error) {
    error.clear();
    while (true) {
        const int fd = accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0) return Fd(fd);
        if (errno == EINTR || errno == ECONNABORTED) continue;
        if (errno != EAGAIN && errno != EWOULDBLOCK) error = errno_text("accept");
        return std::nullopt;
    }
}

}  // namespace pinnace::shm
