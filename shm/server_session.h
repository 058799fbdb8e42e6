// SPDX-License-Identifier: Apache-2.0
// ServerSession: the engine's side of one session: the rings of one client process, its marks, bell and
// socket.
//
// Made by ServerHandshake on the control thread, used by the dispatcher for rings, marks and bell, by the
// control thread for socket and watch, and destroyed by the control thread after the dispatcher has let go of
// it (its memory is unmapped then). Each group of members says whose it is; nothing here locks.
//
// Ordering pairs
//   persisted, taken, mark  the words of the marks page; the client acquires them.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "shm/doorbell.h"
#include "shm/entry_ring.h"
#include "shm/layout.h"
#include "shm/memory.h"
#include "shm/peer_watch.h"
#include "shm/socket.h"
#include "shm/submit_reader.h"

namespace pinnace::shm {

// A request or, towards the client, an answer or event.
struct SocketMessage {
    MessageKind kind = MessageKind::request;
    std::uint32_t type = 0;
    std::uint64_t id = 0;
    std::vector<std::byte> payload;
};

// The engine's end of a session's socket. Thread: control.
class SessionSocket {
 public:
    explicit SessionSocket(Fd socket) : socket_(std::move(socket)) {}

    int fd() const { return socket_.get(); }
    // The next request; nothing: none now. A violation: the client broke the protocol, or does not read its
    // answers. `is_closed` tells that it hung up.
    bool receive(SocketMessage& request);
    bool is_closed() const { return is_closed_; }
    const Violation& violation() const { return violation_; }

    // Sends now or keeps it for flush(); a client that lets more than kOutboxMax pile up is in violation.
    void send(MessageKind kind, std::uint32_t type, std::uint64_t id, std::span<const std::byte> payload);
    // To be called when the socket is writable, while wants_write().
    void flush();
    bool wants_write() const { return !outbox_.empty(); }

    static constexpr std::size_t kOutboxMax = 64;

 private:
    Fd socket_;
    bool is_closed_ = false;
    Violation violation_;
    std::deque<std::vector<std::byte>> outbox_;
};

struct ServerSessionParts {
    std::uint64_t id = 0;
    std::string client_name;
    bool is_consumer = false;
    bool is_adopted = false;
    SessionGeometry geometry;
    std::uint64_t ring_key = 0;
    std::uint64_t message_size_max = 0;
    std::uint64_t submit_start = 0;
    std::uint64_t ack_start = 0;
    Memfd down_file;
    Mapping up;    // read-only
    Mapping down;  // read and write
    MemoryRung rung = MemoryRung::small_pages;
    Fd wake;
    Fd socket;
    PeerWatch watch;
    std::shared_ptr<void> quota;   // given back when the last holder drops it
    std::shared_ptr<void> region;  // the registration of `up`: no other session may bring it
};

// What is left of a session whose client may still hold its memory: the quota counts until the process is
// gone (architecture rule 6) if the control thread keeps this until watch.is_dead().
struct Remains {
    PeerWatch watch;
    std::shared_ptr<void> quota;
};

class ServerSession {
 public:
    explicit ServerSession(ServerSessionParts parts);
    ServerSession(const ServerSession&) = delete;
    ServerSession& operator=(const ServerSession&) = delete;

    std::uint64_t id() const { return parts_.id; }
    const std::string& client_name() const { return parts_.client_name; }
    const PeerCredentials& credentials() const { return parts_.watch.credentials(); }
    const SessionGeometry& geometry() const { return parts_.geometry; }
    std::uint64_t message_size_max() const { return parts_.message_size_max; }
    // Names the client's ring from session to session: it survives adoption.
    std::uint64_t ring_key() const { return parts_.ring_key; }
    bool is_consumer() const { return parts_.is_consumer; }
    bool is_adopted() const { return parts_.is_adopted; }
    MemoryRung rung() const { return parts_.rung; }

    // --- Dispatcher
    SubmitReader& submit() { return submit_; }
    AckReader& acks() { return acks_; }
    DeliveryWriter& deliveries() { return deliveries_; }
    AnswerWriter& answers() { return answers_; }
    ClientBell& bell() { return bell_; }
    // The pin words, for PinBoard.
    const std::uint64_t* pins() const { return client_page().pins; }
    bool is_frozen() const { return load_relaxed(client_page().frozen) != 0; }

    // The next verb, checked, rule 8 left to is_due().
    ReadStatus peek_ack(AckEntry& entry) {
        return acks_.peek(entry, submit_.position(), parts_.geometry.submit_capacity);
    }

    // Everything up to submit().position() is sequenced, up to acks().index() applied: once a turn.
    void publish_read_marks() {
        MarksPage& marks = this->marks();
        shared(marks.submit_read).store(submit_.position(), std::memory_order_release);  // pair: mark
        shared(marks.ack_read).store(acks_.index(), std::memory_order_release);          // pair: taken
    }
    // Everything in the submit ring below `position` (a message boundary) is durable: its space is free.
    void publish_persisted(std::uint64_t position) {
        submit_.set_persisted(position);
        shared(marks().submit_persisted).store(position, std::memory_order_release);  // pair: persisted
    }
    void publish_ack_durable(std::uint64_t count) {
        shared(marks().ack_durable).store(count, std::memory_order_release);  // pair: mark
    }
    void publish_state(SessionState state, std::uint32_t reason) {
        store_relaxed(marks().end_reason, reason);  // relaxed: released by the state
        shared(marks().state)
            .store(static_cast<std::uint32_t>(state), std::memory_order_release);  // pair: mark
    }

    // The first violation of any ring of this session.
    Violation violation() const;

    // --- Control thread
    SessionSocket& socket() { return socket_; }
    PeerWatch& watch() { return parts_.watch; }
    int wake_fd() const { return parts_.wake.get(); }
    // To be called last, before the session is destroyed.
    Remains take_remains() { return {std::move(parts_.watch), std::move(parts_.quota)}; }

 private:
    const ClientPage& client_page() const { return *reinterpret_cast<const ClientPage*>(parts_.up.data()); }
    MarksPage& marks() { return *reinterpret_cast<MarksPage*>(parts_.down.data()); }

    ServerSessionParts parts_;
    SubmitReader submit_;
    AckReader acks_;
    DeliveryWriter deliveries_;
    AnswerWriter answers_;
    ClientBell bell_;
    SessionSocket socket_;
};

}  // namespace pinnace::shm
