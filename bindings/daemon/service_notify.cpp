// SPDX-License-Identifier: Apache-2.0
#include "bindings/daemon/service_notify.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "shm/memory.h"

namespace pinnace::daemon {

bool notify_service_manager(std::string_view state) {
    const char* path = std::getenv("NOTIFY_SOCKET");
    if (path == nullptr || (*path != '/' && *path != '@')) return false;
    sockaddr_un address{};
    const std::size_t size = std::strlen(path);
    if (size >= sizeof address.sun_path) return false;
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path, size);
    if (*path == '@') address.sun_path[0] = '\0';  // a name in the abstract space
    const shm::Fd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + size);
    return socket && sendto(socket.get(), state.data(), state.size(), MSG_NOSIGNAL,
                            reinterpret_cast<const sockaddr*>(&address), length) >= 0;
}

}  // namespace pinnace::daemon
