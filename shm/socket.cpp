// SPDX-License-Identifier: Apache-2.0
#include "shm/socket.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include <cerrno>
#include <cstring>

namespace pinnace::shm {

namespace {

// Room for the credentials and one descriptor more than any message of ours has.
constexpr std::size_t kControlSize = CMSG_SPACE(sizeof(ucred)) + CMSG_SPACE(sizeof(int) * kDescriptorsMax);

void take_control(msghdr& header, Received& received) {
    for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
        if (part->cmsg_level != SOL_SOCKET) continue;
        if (part->cmsg_type == SCM_RIGHTS) {
            const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
            for (std::size_t i = 0; i < count; ++i) {
                int fd = -1;
                std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
                received.descriptors.emplace_back(fd);
            }
        } else if (part->cmsg_type == SCM_CREDENTIALS && part->cmsg_len >= CMSG_LEN(sizeof(ucred))) {
            ucred sender = {};
            std::memcpy(&sender, CMSG_DATA(part), sizeof(sender));
            received.credentials = PeerCredentials{sender.pid, sender.uid, sender.gid};
        }
    }
}

}  // namespace

Received receive_message(int socket, std::span<std::byte> buffer) {
    Received received;
    alignas(cmsghdr) std::byte control[kControlSize];
    iovec part{buffer.data(), buffer.size()};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof(control);
    ssize_t size = 0;
    do {
        size = recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    } while (size < 0 && errno == EINTR);
    if (size < 0) {
        if (errno == EAGAIN || errno == EWOULDBLOCK) {
            received.status = ReceiveStatus::would_block;
        } else {
            received.status = errno == ECONNRESET ? ReceiveStatus::closed : ReceiveStatus::failed;
        }
        return received;
    }
    take_control(header, received);
    received.size = static_cast<std::size_t>(size);
    if ((header.msg_flags & MSG_CTRUNC) != 0) {
        received.descriptors.clear();
        received.status = ReceiveStatus::descriptors_lost;
    } else if ((header.msg_flags & MSG_TRUNC) != 0) {
        received.status = ReceiveStatus::truncated;
    } else {
        received.status = size == 0 ? ReceiveStatus::closed : ReceiveStatus::message;
    }
    return received;
}

SendStatus send_message(int socket, std::span<const std::byte> bytes, std::span<const int> descriptors) {
    if (descriptors.size() > kDescriptorsMax) return SendStatus::failed;
    alignas(cmsghdr) std::byte control[CMSG_SPACE(sizeof(int) * kDescriptorsMax)] = {};
    iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    if (!descriptors.empty()) {
        header.msg_control = control;
        header.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
        cmsghdr* rights = CMSG_FIRSTHDR(&header);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(descriptors.size_bytes());
        std::memcpy(CMSG_DATA(rights), descriptors.data(), descriptors.size_bytes());
    }
    ssize_t size = 0;
    do {
        size = sendmsg(socket, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
    } while (size < 0 && errno == EINTR);
    if (size >= 0) return SendStatus::sent;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return SendStatus::would_block;
    return errno == EPIPE || errno == ECONNRESET ? SendStatus::closed : SendStatus::failed;
}

std::expected<PeerCredentials, std::string> peer_credentials(int socket) {
    ucred peer = {};
    socklen_t size = sizeof(peer);
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
        return std::unexpected(errno_text("SO_PEERCRED"));
    }
    return PeerCredentials{peer.pid, peer.uid, peer.gid};
}

std::expected<void, std::string> ask_for_credentials(int socket) {
    const int on = 1;
    if (setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) != 0) {
        return std::unexpected(errno_text("SO_PASSCRED"));
    }
    return {};
}

std::int64_t monotonic_ns() {
    timespec now = {};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

bool wait_readable(int socket, std::int64_t deadline_ns) {
    while (true) {
        timespec timeout = {};
        if (deadline_ns >= 0) {
            const std::int64_t left = deadline_ns - monotonic_ns();
            if (left <= 0) return false;
            timeout = {left / 1'000'000'000, left % 1'000'000'000};
        }
        pollfd entry{socket, POLLIN, 0};
        const int count = ppoll(&entry, 1, deadline_ns >= 0 ? &timeout : nullptr, nullptr);
        if (count > 0) return true;
        if (count < 0 && errno != EINTR) return true;  // the next call on the socket tells what is wrong
    }
}

std::expected<Fd, std::string> connect_to(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.empty() || path.size() >= sizeof(address.sun_path)) {
        return std::unexpected("the path of the socket is empty or too long: " + path);
    }
    std::memcpy(address.sun_path, path.data(), path.size());
    Fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) return std::unexpected(errno_text("socket"));
    int result = 0;
    do {
        result = ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address));
    } while (result != 0 && errno == EINTR);
    // A full backlog says EAGAIN on Unix sockets: nobody is lost, the caller tries again.
    if (result != 0) return std::unexpected(errno_text(("cannot reach the engine at " + path).c_str()));
    return socket;
}

}  // namespace pinnace::shm
