// SPDX-License-Identifier: Apache-2.0
#include "shm/peer_watch.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

namespace pinnace::shm {

std::expected<PeerWatch, std::string> PeerWatch::open(int socket) {
    PeerWatch watch;
    const auto credentials = shm::peer_credentials(socket);
    if (!credentials) return std::unexpected(credentials.error());
    watch.credentials_ = *credentials;
    int pidfd = -1;
    socklen_t size = sizeof(pidfd);
    if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &size) == 0) {
        watch.pidfd_ = Fd(pidfd);
    } else if (credentials->pid > 0) {
        watch.pidfd_ = Fd(static_cast<int>(syscall(SYS_pidfd_open, credentials->pid, 0)));
    }
    return watch;
}

bool PeerWatch::is_dead() const {
    if (!pidfd_) return false;
    pollfd entry{pidfd_.get(), POLLIN, 0};
    return poll(&entry, 1, 0) == 1 && (entry.revents & POLLIN) != 0;
}

}  // namespace pinnace::shm
