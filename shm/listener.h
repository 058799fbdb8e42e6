// SPDX-License-Identifier: Apache-2.0
// Listener: the engine's socket in the file system.
//
// Who holds the flock on PATH.lock is the one engine of this socket; the lock's content means nothing. The
// socket is bound to a temporary name, gets its mode by chmod (no umask has a say), and is renamed over PATH,
// so that a stale socket file is never "in use" and a client never meets one that does not listen yet.
// Thread: control.
#pragma once

#include <sys/types.h>

#include <expected>
#include <optional>
#include <string>

#include "shm/memory.h"

namespace pinnace::shm {

class Listener {
 public:
    // `mode`: 0600 for the engine's own user, 0660 for its group too.
    static std::expected<Listener, std::string> create(const std::string& path, mode_t mode = 0600);
    Listener(Listener&&) = default;
    Listener& operator=(Listener&&) = default;
    ~Listener();  // takes the socket's name away, if it is still ours

    int fd() const { return socket_.get(); }
    // A connection that waits, non-blocking and close-on-exec; nothing: none, or this process has no
    // descriptor left for it (`error` tells; it stays in the backlog).
    std::optional<Fd> accept(std::string& error);

 private:
    Listener(std::string path, Fd lock, Fd socket, FileIdentity file)
        : path_(std::move(path)), lock_(std::move(lock)), socket_(std::move(socket)), file_(file) {}

    std::string path_;
    Fd lock_;
    Fd socket_;
    FileIdentity file_;
};

}  // namespace pinnace::shm
