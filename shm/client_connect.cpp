// SPDX-License-Identifier: Apache-2.0
// The client's half of the handshake: hello, welcome, checks, mapping, admitted.
#include <sys/epoll.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "shm/client_session.h"

namespace pinnace::shm {

class ClientSession::Connecting {
 public:
    Connecting(const ClientOptions& options, ClientSession* former)
        : options_(options), former_(former), deadline_(monotonic_ns() + options.connect_timeout_ns) {}

    bool run() {
        return reach() && send_hello() && receive_welcome() && check_welcome() && map_all() &&
               make_event_fd() && send_mapped() && receive_admitted();
    }

    Parts parts;
    ConnectError error;

 private:
    bool fail(ConnectErrorKind kind, std::string text) {
        error.kind = kind;
        error.text = std::move(text);
        return false;
    }
    bool broken(const std::string& what) {
        return fail(ConnectErrorKind::broken, "the engine at " + options_.socket_path + " " + what);
    }

    bool reach() {
        auto socket = connect_to(options_.socket_path);
        if (!socket) return fail(ConnectErrorKind::unreachable, socket.error());
        parts.socket = std::move(*socket);
        return true;
    }

    bool send_hello() {
        HelloMessage hello;
        hello.size = sizeof(hello);
        hello.wanted = options_.wanted;
        hello.flags = options_.is_consumer ? kHelloConsumer : 0;
        options_.name.copy(hello.client_name, sizeof(hello.client_name) - 1);
        int old_region = -1;
        if (former_ != nullptr) {
            hello.flags |= kHelloAdopt;
            hello.wanted = former_->geometry();
            hello.submit_position = former_->submit_.refresh();
            hello.ack_index = former_->acks_.refresh();
            hello.ring_key = former_->parts_.welcome.ring_key;
            old_region = former_->parts_.up_file.get();
            reset_page(former_->page());
        }
        const std::span<const int> descriptors(&old_region, former_ != nullptr ? 1 : 0);
        if (send_message(parts.socket.get(), bytes_of(hello), descriptors) != SendStatus::sent) {
            return broken("hung up before the hello");
        }
        return true;
    }

    // What counts entries of engine-written rings starts anew with the new engine's rings. The engine sees
    // these only after the hello.
    static void reset_page(ClientPage& page) {
        store_relaxed(page.delivery_taken, std::uint64_t{0});
        store_relaxed(page.answer_taken, std::uint64_t{0});
        store_relaxed(page.frozen, std::uint64_t{0});
        for (std::uint64_t& pin : page.pins) store_relaxed(pin, std::uint64_t{0});
    }

    // One message of the handshake into buffer_; a refusal ends it.
    bool receive(std::vector<Fd>& descriptors, std::size_t& size) {
        while (true) {
            if (!wait_readable(parts.socket.get(), deadline_)) {
                return fail(ConnectErrorKind::timed_out,
                            "the engine at " + options_.socket_path + " does not answer in time");
            }
            Received received = receive_message(parts.socket.get(), buffer_);
            if (received.status == ReceiveStatus::would_block) continue;
            if (received.status == ReceiveStatus::descriptors_lost) {
                return fail(ConnectErrorKind::local,
                            "this process has no room for the engine's file descriptors");
            }
            if (received.status != ReceiveStatus::message) return broken("hung up during the handshake");
            size = received.size;
            descriptors = std::move(received.descriptors);
            return !is_refusal(size);
        }
    }

    bool is_refusal(std::size_t size) {
        RefusedMessage message;
        if (size != sizeof(message)) return false;
        std::memcpy(&message, buffer_, sizeof(message));
        if (message.kind != static_cast<std::uint32_t>(MessageKind::refused)) return false;
        message.text[sizeof(message.text) - 1] = 0;
        error.reason = static_cast<RefusalReason>(message.reason);
        fail(error.reason == RefusalReason::version ? ConnectErrorKind::version : ConnectErrorKind::refused,
             std::string("the engine refused: ") + message.text);
        return true;
    }

    bool receive_welcome() {
        std::size_t size = 0;
        if (!receive(descriptors_, size)) return false;
        if (size != sizeof(parts.welcome)) return broken("speaks another protocol");
        std::memcpy(&parts.welcome, buffer_, sizeof(parts.welcome));
        return true;
    }

    // Rule 3 towards the engine: nothing of this is computed with before it was checked.
    bool check_welcome() {
        const WelcomeMessage& welcome = parts.welcome;
        if (welcome.kind != static_cast<std::uint32_t>(MessageKind::welcome) ||
            welcome.size != sizeof(welcome) || welcome.protocol_version != kProtocolVersion ||
            welcome.layout_version != kLayoutVersion) {
            return broken("speaks another protocol");
        }
        const bool is_consumer = (welcome.flags & kWelcomeConsumer) != 0;
        const bool is_adopted = (welcome.flags & kWelcomeAdopted) != 0;
        if (is_consumer != options_.is_consumer || is_adopted != (former_ != nullptr) ||
            welcome.wait_mode > static_cast<std::uint32_t>(WaitMode::block)) {
            return broken("answers what was not asked");
        }
        if (!is_valid(welcome.geometry) || !is_valid(welcome.log) ||
            welcome.message_size_max > kMessageSizeMaxMax ||
            welcome.message_size_max > welcome.geometry.submit_capacity / 2) {
            return broken("named sizes that cannot be");
        }
        if (is_adopted && !is_same_up(welcome.geometry, former_->geometry())) {
            return broken("changed the sizes of an adopted region");
        }
        if (descriptors_.size() != std::size_t{3} + (is_adopted ? 0 : 1) + (is_consumer ? 3 : 0)) {
            return broken("sent another number of descriptors than it should");
        }
        return true;
    }

    static bool is_same_up(const SessionGeometry& one, const SessionGeometry& other) {
        return one.submit_capacity == other.submit_capacity && one.ack_count == other.ack_count;
    }

    bool map_all() {
        const WelcomeMessage& welcome = parts.welcome;
        std::size_t next = 0;
        parts.wake = std::move(descriptors_[next++]);
        if (!is_socket(parts.wake)) return broken("sent something else than a wake-up socket");
        if (!map(descriptors_[next++], welcome.geometry.down_size(), false, parts.down)) return false;
        if (!map(descriptors_[next++], sizeof(ControlPage), false, parts.control)) return false;
        if ((welcome.flags & kWelcomeAdopted) == 0) {
            parts.up_file = std::move(descriptors_[next++]);
            if (!map(parts.up_file, welcome.geometry.up_size(), true, parts.up)) return false;
        }
        if ((welcome.flags & kWelcomeConsumer) == 0) return true;
        const std::uint64_t sizes[] = {welcome.log.small.region_size(), welcome.log.large.region_size(),
                                       welcome.log.reread.region_size()};
        for (std::size_t i = 0; i < 3; ++i) {
            if (!map(descriptors_[next++], sizes[i], false, parts.log[i])) return false;
        }
        return true;
    }

    // Engine-written regions must be sealed for good, so that they can neither shrink under us nor be what
    // another client writes; our own one at least against shrinking.
    bool map(const Fd& fd, std::uint64_t size, bool is_ours, Mapping& mapping) {
        if (const auto checked = check_sealed(fd, size, !is_ours); !checked) {
            return broken("sent " + checked.error());
        }
        const Access access = is_ours ? Access::read_write : Access::read_only;
        auto mapped = Mapping::map(fd, size, access);
        if (!mapped) return fail(ConnectErrorKind::local, mapped.error());
        mapping = std::move(*mapped);
        mapping.hide();
        if (auto done = mapping.populate(access, options_.lock_memory); !done) {
            return fail(ConnectErrorKind::local, done.error());
        }
        return true;
    }

    static bool is_socket(const Fd& fd) {
        struct stat status = {};
        return fstat(fd.get(), &status) == 0 && S_ISSOCK(status.st_mode);
    }

    bool make_event_fd() {
        parts.event = Fd(epoll_create1(EPOLL_CLOEXEC));
        if (!parts.event) return fail(ConnectErrorKind::local, errno_text("epoll_create1"));
        for (const int fd : {parts.wake.get(), parts.socket.get()}) {
            epoll_event event{};
            event.events = EPOLLIN;
            event.data.fd = fd;
            if (epoll_ctl(parts.event.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
                return fail(ConnectErrorKind::local, errno_text("epoll_ctl"));
            }
        }
        return true;
    }

    bool send_mapped() {
        MappedMessage message;
        message.nonce = parts.welcome.nonce;
        if (send_message(parts.socket.get(), bytes_of(message)) != SendStatus::sent) {
            return broken("hung up during the handshake");
        }
        return true;
    }

    bool receive_admitted() {
        AdmittedMessage message;
        std::vector<Fd> descriptors;
        std::size_t size = 0;
        if (!receive(descriptors, size)) return false;
        if (size != sizeof(message)) return broken("speaks another protocol");
        std::memcpy(&message, buffer_, sizeof(message));
        if (message.kind != static_cast<std::uint32_t>(MessageKind::admitted) ||
            message.session_id != parts.welcome.session_id) {
            return broken("speaks another protocol");
        }
        return true;
    }

    const ClientOptions& options_;
    ClientSession* former_;
    std::int64_t deadline_;
    std::vector<Fd> descriptors_;
    std::byte buffer_[1024];
};

std::expected<std::unique_ptr<ClientSession>, ConnectError> ClientSession::connect(
    const ClientOptions& options, ClientSession* former) {
    Connecting connecting(options, former);
    if (!connecting.run()) return std::unexpected(std::move(connecting.error));
    return std::unique_ptr<ClientSession>(new ClientSession(options, std::move(connecting.parts), former));
}

}  // namespace pinnace::shm
