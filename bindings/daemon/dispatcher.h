// SPDX-License-Identifier: Apache-2.0
// Dispatcher: the one thread that owns all queue state. Runs the pump over the real ports, rings clients
// that sleep, and sleeps itself when there is nothing to do and the wait mode says so.
//
// While there is work it makes no system call, allocation or lock (rule 20). Exceptions, each rare: a
// command of the control thread, news for the control thread, a bell in block mode.
//
// Threads: run() is the dispatcher's; commands(), next_event() and wake() are the control thread's.
#pragma once

#include <cstdint>
#include <functional>

#include "bindings/daemon/clock.h"
#include "bindings/daemon/commands.h"
#include "bindings/daemon/engine_log.h"
#include "bindings/daemon/outbox.h"
#include "core/pump.h"
#include "shm/doorbell.h"
#include "shm/engine_regions.h"
#include "shm/wait.h"

namespace pinnace::daemon {

class Dispatcher {
 public:
    using EnginePump = Pump<SessionPort, EngineLog, Outbox>;

    Dispatcher(const CoreOptions& core, const PumpLimits& limits) : pump_(log_, outbox_, core, limits) {}

    // What the dispatcher runs over. The core is there before, since the journal's recovery fills it.
    struct World {
        shm::EngineRegions* regions = nullptr;
        journal::Journal* journal = nullptr;
        EngineClock* clock = nullptr;
        shm::DispatcherSleeper* sleeper = nullptr;
        Waker* waker = nullptr;  // null: bells are rung from here
        shm::WaitMode wait = shm::WaitMode::block;
        std::function<void()> tell_control;  // makes the control thread look at events and finished commands
    };
    void attach(World world);

    EnginePump& pump() { return pump_; }
    EngineLog& log() { return log_; }

    // Until a command has called stop(). Ends with everything durable that can be, and told.
    void run();
    // Dispatcher, from within a command: the orderly stop.
    void stop() { stopping_ = true; }
    // Dispatcher, from within a command: true when a whole turn found nothing to do, here and in the
    // journal.
    void start_settling() { idle_turns_ = 0; }
    bool settled() {
        const bool all_durable =
            log_.durable() >= log_.appended() || world_.journal->state() == journal::State::failed;
        return idle_turns_ >= 2 && pump_.quiet() && all_durable;
    }

    Commands& commands() { return commands_; }
    bool next_event(DispatcherEvent& event) { return outbox_.next_event(event); }
    void wake() { world_.sleeper->wake(); }

    // Dispatcher, from within commands: whether the pump's session is still the one of this port.
    bool is_open(std::uint32_t session, const SessionPort* port) const {
        return outbox_.port(session) == port;
    }
    // Dispatcher, from within commands: which port belongs to which session of the pump.
    std::uint32_t open_session(SessionPort& port);
    void close_session(SessionPort& port);
    // Dispatcher, from within commands: a record of the engine's own, as a step of its own.
    void append(const RecordHeader& header, std::span<const std::byte> head);

 private:
    void finish();
    void sleep();

    World world_;
    Commands commands_;
    EngineLog log_;
    Outbox outbox_;
    bool stopping_ = false;
    std::uint64_t idle_turns_ = 0;
    EnginePump pump_;  // last: it calls back into what stands above
};

}  // namespace pinnace::daemon
