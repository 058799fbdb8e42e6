// SPDX-License-Identifier: Apache-2.0
// LiveEngine: one life of a real engine in a process of its own, whose clock the scenario sets. Made by
// fork()
// of a process with one thread, so that the definitions need no way to get there; it ends with its maker.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

#include "bindings/cli/scenario/world.h"
#include "bindings/daemon/engine.h"
#include "shm/memory.h"

namespace pinnace::scenario {

class LiveEngine {
 public:
    // Returns when clients can connect, or with what the engine says against its start.
    static Outcome<LiveEngine> start(const EngineOptions& options);
    LiveEngine(LiveEngine&& other) noexcept;
    LiveEngine& operator=(LiveEngine&& other) noexcept;
    ~LiveEngine() { kill(); }

    // As Engine's.
    Outcome<void> set_clock(Time now);
    Outcome<void> settle();
    // Until the engine has no more than so many sessions, and has settled then.
    Outcome<void> await_sessions(std::size_t count);
    // The orderly stop, which needs the clients: `meanwhile` is called again and again.
    Outcome<void> stop(const std::function<void()>& meanwhile);
    // SIGKILL.
    void kill();

 private:
    LiveEngine(pid_t pid, shm::Fd socket) : pid_(pid), socket_(std::move(socket)) {}
    Outcome<void> ask(std::uint32_t what, std::int64_t argument);
    Outcome<void> read_answer();
    int wait_for_end();

    pid_t pid_ = -1;
    shm::Fd socket_;
};

}  // namespace pinnace::scenario
