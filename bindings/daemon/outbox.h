// SPDX-License-Identifier: Apache-2.0
// Outbox: what the pump tells beyond the rings: who is to be woken, and what the control thread must hear.
// Threads: the dispatcher's, but for next_event(), which is the control thread's.
#pragma once

#include <array>
#include <boost/lockfree/spsc_queue.hpp>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings/daemon/session_port.h"
#include "bindings/daemon/waker.h"
#include "core/effects.h"

namespace pinnace::daemon {

// News for the control thread.
struct DispatcherEvent {
    enum class Kind : std::uint8_t { violation, ended };
    Kind kind = Kind::violation;
    std::uint32_t session = 0;
    std::array<char, 100> text{};  // violation: why, zero-terminated
};

class Outbox {
 public:
    void add(std::uint32_t session, SessionPort& port);
    // Null: no such session.
    SessionPort* port(std::uint32_t session) const {
        return session < ports_.size() ? ports_[session] : nullptr;
    }

    // Once a turn, after everything was written: one fence for all (see shm/doorbell.h). `waker` null: from
    // here.
    void ring_bells(Waker* waker);
    bool take_news() { return std::exchange(has_news_, false); }
    bool next_event(DispatcherEvent& event) { return events_.pop(event); }

    // --- Outside, for the pump
    void violation(std::uint32_t session, std::string_view why);
    void ended(std::uint32_t session);
    void touched(std::uint32_t session) {
        if (is_touched_[session] != 0) return;
        is_touched_[session] = 1;
        touched_.push_back(session);
    }
    void expired(const Expired&) {
    }  // actions are not built yet; the core has done what the queue itself says

 private:
    void tell(const DispatcherEvent& event);

    std::vector<SessionPort*> ports_;
    std::vector<std::uint32_t> touched_;  // sessions of this turn
    std::vector<std::uint8_t> is_touched_;
    boost::lockfree::spsc_queue<DispatcherEvent, boost::lockfree::capacity<4096>> events_;
    bool has_news_ = false;
};

}  // namespace pinnace::daemon
