// SPDX-License-Identifier: Apache-2.0
// Control: the thread of everything that may wait: the socket, handshakes, requests, the life and death of
// clients, the clock's calibration, and the orderly stop. Owns the sessions; the dispatcher borrows them
// between two commands.
//
// Invariants
//   C1  A session is destroyed only after the dispatcher said that it has ended, and the waker is past its
//       bell.
//   C2  A cursor is believed only of a process that is dead, or that has frozen it (rule 17).
//   C3  One request of a session is under way at a time; the next one waits in its socket.
//
// Threads: run() is the control thread's; post() and wake() are for any thread.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "bindings/daemon/dispatcher.h"
#include "bindings/daemon/former_life.h"
#include "bindings/daemon/requests.h"
#include "bindings/daemon/waker.h"
#include "shm/listener.h"
#include "shm/server_handshake.h"

namespace pinnace::daemon {

struct ControlOptions {
    std::function<void(std::string_view)> log_line;
    std::function<std::string()> status;  // called in the dispatcher
    std::int64_t handshake_timeout_ns = 5'000'000'000;
    std::int64_t freeze_timeout_ns =
        500'000'000;  // orderly stop: how long clients have to freeze their cursors
};

class Control {
 public:
    Control(Dispatcher& dispatcher, shm::Admission& admission, shm::Listener& listener,
            shm::DispatcherSleeper& sleeper, EngineClock& clock, Waker* waker, FormerLife former,
            ControlOptions options);
    ~Control();
    Control(const Control&) = delete;
    Control& operator=(const Control&) = delete;

    void run();
    void wake();
    // Runs `task` in the control thread.
    void post(std::function<void()> task);
    // Control thread, from within a task: has the dispatcher do something; `finish` runs here afterwards.
    void command(std::function<bool()> apply, std::function<void()> finish);
    // Control thread, from within a task: the orderly stop; run() returns when the dispatcher is about to
    // end.
    void stop();

    // What `status` shows of a session; made in the control thread, read under its lock.
    struct SessionFacts {
        std::uint32_t pump_session = 0;
        std::uint64_t id = 0;
        int pid = 0;
        std::uint32_t uid = 0;
        std::string name;
        bool consumer = false;
        const shm::ServerSession* session = nullptr;
    };
    std::vector<SessionFacts> sessions() const;

 private:
    struct Handshake {
        std::unique_ptr<shm::ServerHandshake> handshake;
        std::int64_t deadline_ns = 0;
    };
    struct Session {
        std::unique_ptr<shm::ServerSession> session;
        std::unique_ptr<SessionPort> port;
        std::uint32_t pump_session = kNone;
        bool admitted = false;  // the dispatcher has it
        bool ending = false;    // the dispatcher was told
        bool hung_up = false;
        bool requesting = false;
        std::int64_t end_deadline_ns = 0;  // hung up: when to stop waiting for the proof of death
        std::vector<std::byte> answer;
        std::unique_ptr<RequestState> requests = std::make_unique<RequestState>();
    };

    void on_listener();
    void on_handshake(int fd);
    void on_session(std::uint64_t id, std::uint32_t events);
    void on_bell();
    void serve_dispatcher();
    void admit(std::unique_ptr<shm::ServerSession> session);
    void read_requests(Session& session);
    void check_life(Session& session, bool hung_up);
    void watch_again(Session& session);
    void end(Session& session, bool cursor_believed);
    void destroy(std::uint64_t id);
    void tick();
    void continue_stop();
    void recalibrate();
    void watch(int fd, std::uint64_t key, std::uint32_t events);
    void log(const std::string& line) const {
        if (options_.log_line) options_.log_line(line);
    }

    Dispatcher& dispatcher_;
    shm::Admission& admission_;
    shm::Listener& listener_;
    shm::DispatcherSleeper& sleeper_;
    EngineClock& clock_;
    Waker* waker_;
    FormerLife former_;
    ControlOptions options_;
    shm::Fd epoll_;
    shm::Fd bell_;
    std::map<int, Handshake> handshakes_;
    mutable std::mutex sessions_mutex_;  // held while the map changes, and by whoever reads it from elsewhere
    std::map<std::uint64_t, Session> sessions_;
    std::vector<std::unique_ptr<Command>> backlog_;  // commands that found no room
    std::mutex tasks_mutex_;
    std::vector<std::function<void()>> tasks_;
    std::int64_t next_calibration_ns_ = 0;
    bool stopping_ = false;
    bool stopped_ = false;
    std::int64_t freeze_deadline_ns_ = 0;
};

}  // namespace pinnace::daemon
