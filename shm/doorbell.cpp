// SPDX-License-Identifier: Apache-2.0
#include "shm/doorbell.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace pinnace::shm {

std::expected<WakePair, std::string> make_wake_pair() {
    int ends[2] = {-1, -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
        return std::unexpected(errno_text("socketpair"));
    }
    return WakePair{Fd(ends[0]), Fd(ends[1])};
}

bool ring(int wake_fd) {
    const char byte = 1;
    ssize_t size = 0;
    do {
        size = send(wake_fd, &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    } while (size < 0 && errno == EINTR);
    // A full socket holds bytes that will wake its reader just as well.
    return size >= 0 || errno == EAGAIN || errno == EWOULDBLOCK;
}

bool drain(int wake_fd) {
    std::array<char, 256> bytes;
    // Bounded: a peer that keeps writing must not keep us here.
    for (int round = 0; round < 16; ++round) {
        const ssize_t size = recv(wake_fd, bytes.data(), bytes.size(), MSG_DONTWAIT);
        if (size == 0) return false;
        if (size < 0) {
            if (errno == EINTR) continue;
            return errno == EAGAIN || errno == EWOULDBLOCK;
        }
        if (static_cast<std::size_t>(size) < bytes.size()) return true;
    }
    return true;
}

std::expected<DispatcherSleeper, std::string> DispatcherSleeper::create(std::uint64_t* sleep_word) {
    Fd epoll(epoll_create1(EPOLL_CLOEXEC));
    if (!epoll) return std::unexpected(errno_text("epoll_create1"));
    Fd bell(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!bell) return std::unexpected(errno_text("eventfd"));
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = bell.get();
    if (epoll_ctl(epoll.get(), EPOLL_CTL_ADD, bell.get(), &event) != 0) {
        return std::unexpected(errno_text("epoll_ctl"));
    }
    return DispatcherSleeper(sleep_word, std::move(epoll), std::move(bell));
}

std::expected<void, std::string> DispatcherSleeper::add(int wake_fd) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = wake_fd;
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_fd, &event) != 0)
        return std::unexpected(errno_text("epoll_ctl"));
    return {};
}

void DispatcherSleeper::remove(int wake_fd) { epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, wake_fd, nullptr); }

void DispatcherSleeper::wait(std::int64_t timeout_ns) {
    std::array<epoll_event, 64> events;
    timespec timeout{timeout_ns / 1'000'000'000, timeout_ns % 1'000'000'000};
    int count = epoll_pwait2(epoll_.get(), events.data(), static_cast<int>(events.size()),
                             timeout_ns >= 0 ? &timeout : nullptr, nullptr);
    if (count < 0 && errno == ENOSYS) {
        const std::int64_t milliseconds = (timeout_ns + 999'999) / 1'000'000;
        count = epoll_wait(
            epoll_.get(), events.data(), static_cast<int>(events.size()),
            timeout_ns >= 0 ? static_cast<int>(std::min<std::int64_t>(milliseconds, 1'000'000)) : -1);
    }
    for (int i = 0; i < count; ++i) {
        const int fd = events[static_cast<std::size_t>(i)].data.fd;
        if (fd == bell_.get()) {
            std::uint64_t value = 0;
            static_cast<void>(!read(fd, &value, sizeof(value)));
        } else if (!drain(fd)) {
            // The client has gone; the control thread learns it from its own descriptors.
            epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
        }
    }
}

void DispatcherSleeper::wake() {
    full_fence();                                       // pair: bell
    if ((load_relaxed(*sleep_word_) & 1) == 0) return;  // relaxed: the fence orders it
    const std::uint64_t one = 1;
    static_cast<void>(!write(bell_.get(), &one, sizeof(one)));
}

}  // namespace pinnace::shm
