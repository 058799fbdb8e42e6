// SPDX-License-Identifier: Apache-2.0
// ClientSession: a process's attachment to an engine: connecting, its side of the rings, waiting, and
// requests.
//
// What comes from the engine is checked as strictly as the engine checks us: sizes and seals before mapping,
// words once into locals, descriptors against the log's bounds. A violation ends the session with an error,
// never with a crash of the process.
//
// Threads: publishing (submit), acknowledging (acks) and taking (deliveries, answers) are three roles, each
// for one thread at a time; wait(), request() and the marks are for any number.
//
// Ordering pairs
//   mark       words of the marks page, released by the engine.
//   taken      our cursors in the client page, see entry_ring.h.
//   bell       the sleep count, see doorbell.h.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <expected>
#include <memory>
#include <mutex>
#include <string>

#include "shm/doorbell.h"
#include "shm/engine_regions.h"
#include "shm/entry_ring.h"
#include "shm/log_reader.h"
#include "shm/server_session.h"
#include "shm/submit_reader.h"
#include "shm/submit_writer.h"
#include "shm/wait.h"

namespace pinnace::shm {

struct ClientOptions {
    std::string socket_path;
    std::string name;  // shown by status; cut to kClientNameSize - 1 bytes
    SessionGeometry wanted{32u << 20, 65'536, 65'536, 4096};
    bool is_consumer = true;  // maps the log; otherwise the delivery ring is of the smallest size
    WaitMode wait_mode = WaitMode::block;
    std::int64_t connect_timeout_ns = 10'000'000'000;
    bool lock_memory = false;
};

enum class ConnectErrorKind : std::uint8_t {
    unreachable,  // nobody listens there: try again later
    refused,      // by the engine: `reason` and the text say why
    version,      // refused for its version
    broken,       // the engine, or what is there, does not keep to the protocol
    timed_out,
    local,  // this process lacks something: descriptors, memory
};

struct ConnectError {
    ConnectErrorKind kind = ConnectErrorKind::broken;
    RefusalReason reason = RefusalReason::none;
    std::string text;  // a whole line
};

enum class WaitResult : std::uint8_t { ready, timed_out, disconnected };

class ClientSession {
 public:
    // `former`: the session with an engine that died. If its region is adopted (rule 23), its rings go on in
    // the new session and the former one is hollow; else it stays readable, so that what it holds can be sent
    // anew.
    static std::expected<std::unique_ptr<ClientSession>, ConnectError> connect(
        const ClientOptions& options, ClientSession* former = nullptr);
    ~ClientSession();
    ClientSession(const ClientSession&) = delete;
    ClientSession& operator=(const ClientSession&) = delete;

    std::uint64_t id() const { return parts_.welcome.session_id; }
    std::uint64_t epoch() const { return parts_.welcome.epoch; }
    bool is_adopted() const { return (parts_.welcome.flags & kWelcomeAdopted) != 0; }
    bool is_consumer() const { return (parts_.welcome.flags & kWelcomeConsumer) != 0; }
    const SessionGeometry& geometry() const { return parts_.welcome.geometry; }
    std::uint64_t message_size_max() const { return parts_.welcome.message_size_max; }
    const ControlPage& control() const {
        return *reinterpret_cast<const ControlPage*>(parts_.control.data());
    }

    // --- Publishing
    SubmitWriter& submit() { return submit_; }
    // Publishes, waiting for room up to the time-out (0: not at all; -1: for ever). Rings the dispatcher.
    enum class PublishError : std::uint8_t { would_block, too_large, timed_out, disconnected };
    std::expected<std::uint64_t, PublishError> publish(std::span<const PublishItem> items,
                                                       std::int64_t timeout_ns);
    // Position after what publish() made last; for any thread. note_published() if frames were written by
    // hand.
    std::uint64_t published_position() const { return load_relaxed(published_); }
    void note_published(std::uint64_t position) { store_relaxed(published_, position); }
    // Reads the own ring again from the persisted mark, to re-send (rule 24).
    SubmitReader unpersisted() const;

    // --- Taking. A taken entry is checked against the log's bounds; its cursor is stored before this
    // returns.
    ReadStatus take(DeliveryEntry& entry);
    ReadStatus take(AnswerEntry& entry);
    bool has_delivery() const { return deliveries_.is_ready(); }
    bool has_answer() const { return answers_.is_ready(); }
    const LogReader& log() const { return *log_; }  // consumers only
    // Nothing more will be taken: from now on what is untaken may be believed (rule 17).
    void freeze();

    // --- Acknowledging
    AckWriter& acks() { return acks_; }
    // One list: all of it is applied as one command, after what publish() made before (rule 8). Fills in
    // flags and submit positions. False: the ring is full. At most ack_list_max() entries. Rings the
    // dispatcher.
    bool try_acknowledge(std::span<AckEntry> entries);
    std::size_t ack_list_max() const {
        return std::min(geometry().ack_count / 2 - 1, geometry().answer_count);
    }

    // After something was written to a ring by hand: wakes the dispatcher if it sleeps.
    void ring() { bell_.ring_if_asleep(); }

    // --- Marks
    std::uint64_t submit_read() const;
    std::uint64_t submit_persisted() const;
    std::uint64_t ack_read() const;
    std::uint64_t ack_durable() const;
    SessionState state() const;
    std::uint32_t end_reason() const { return load_relaxed(marks().end_reason); }
    // The engine went against the protocol.
    Violation violation() const;

    // --- Waiting
    // Until `ready()` says true (it is called often, and must be quick), the time is over (-1: never), or the
    // engine is gone. After `disconnected` what lies in the rings can still be taken.
    template <class Ready>
    WaitResult wait(Ready&& ready, std::int64_t timeout_ns) {
        return wait_by(
            {&ready, [](void* context) { return static_cast<bool>((*static_cast<Ready*>(context))()); }},
            timeout_ns);
    }
    // Looks for a short while, as a spinning client may: nothing stands between the news and the return.
    template <class Ready>
    bool spin(Ready&& ready) const {
        if (wait_mode_ != WaitMode::spin) return false;
        for (int look = 0; look < kLooks; ++look) {
            if (ready()) return true;
        }
        return false;
    }
    bool is_disconnected() const { return load_relaxed(disconnected_) != 0; }
    // For an event loop of the user's own: readable when something may be there. Before each poll: arm();
    // false means that `ready()` says true already. After it: disarm().
    int event_fd() const { return parts_.event.get(); }
    template <class Ready>
    bool arm(Ready&& ready) {
        get_ready_to_sleep();
        return !ready();
    }
    void disarm() { look_at_sockets(0); }

    // --- Requests
    struct RequestError {
        bool is_timeout = false;
        std::string text;
    };
    std::expected<SocketMessage, RequestError> request(std::uint32_t type, std::span<const std::byte> payload,
                                                       std::int64_t timeout_ns);
    // What the engine said unasked.
    bool next_event(SocketMessage& event);

 private:
    // What the handshake brought.
    struct Parts {
        WelcomeMessage welcome;
        Fd socket;
        Fd wake;
        Fd event;
        Fd up_file;
        Mapping up;
        Mapping down;
        Mapping control;
        Mapping log[3];
    };

    static constexpr int kLooks = 1000;

    class Connecting;  // client_connect.cpp
    struct Predicate {
        void* context;
        bool (*call)(void*);
        bool operator()() const { return call(context); }
    };

    ClientSession(const ClientOptions& options, Parts parts, ClientSession* former);
    WaitResult wait_by(Predicate ready, std::int64_t timeout_ns);
    void block(Predicate ready, std::int64_t deadline_ns);
    void get_ready_to_sleep();
    void look_at_sockets(std::int64_t timeout_ns);
    void read_socket();
    bool send_request(std::span<const std::byte> message, std::int64_t deadline_ns);
    void set_disconnected() { store_relaxed(disconnected_, 1u); }
    void keep_event(SocketMessage event);

    ClientPage& page() const { return *reinterpret_cast<ClientPage*>(parts_.up.data()); }
    const MarksPage& marks() const { return *reinterpret_cast<const MarksPage*>(parts_.down.data()); }

    WaitMode wait_mode_;
    Parts parts_;
    SubmitWriter submit_;
    AckWriter acks_;
    DeliveryReader deliveries_;
    AnswerReader answers_;
    std::unique_ptr<LogReader> log_;
    DispatcherBell bell_;
    Violation descriptor_violation_;
    std::uint64_t published_ = 0;
    std::uint32_t disconnected_ = 0;

    std::mutex sleep_mutex_;  // who polls; the others wait for the one who does
    std::condition_variable sleep_done_;
    bool is_polled_ = false;
    std::uint64_t poll_count_ = 0;

    std::mutex socket_mutex_;
    std::mutex event_mutex_;
    std::deque<SocketMessage> events_;
    std::uint64_t request_id_ = 0;
};

}  // namespace pinnace::shm
