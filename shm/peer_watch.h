// SPDX-License-Identifier: Apache-2.0
// PeerWatch: whether the process at the other end still lives (architecture rule 6).
//
// Two descriptors for the control thread's poll or epoll: the session's socket (readable with end of file:
// the client left, or closed it; no proof of death, a forked child may hold a copy) and a pidfd (readable:
// the process has ended, also while it is a zombie). The pidfd comes from SO_PEERPIDFD where the kernel has
// it, else from pidfd_open of the pid in SO_PEERCRED; since a pid could have been given to another process in
// between, the handshake then challenges: a message sent after the pidfd was opened must carry, by the
// kernel's word, the same pid. Heartbeats free nothing.
#pragma once

#include <expected>
#include <string>

#include "shm/memory.h"
#include "shm/socket.h"

namespace pinnace::shm {

class PeerWatch {
 public:
    PeerWatch() = default;
    static std::expected<PeerWatch, std::string> open(int socket);

    const PeerCredentials& credentials() const { return credentials_; }
    // -1: the process is not visible from here (another pid namespace on an old kernel); the socket alone
    // tells then.
    int pidfd() const { return pidfd_.get(); }
    // Proof of death: what the process wrote last is all that it will ever write.
    bool is_dead() const;

 private:
    PeerCredentials credentials_;
    Fd pidfd_;
};

}  // namespace pinnace::shm
