// SPDX-License-Identifier: Apache-2.0
#include "bindings/daemon/outbox.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "core/check.h"
#include "shm/words.h"

namespace pinnace::daemon {

void Outbox::add(std::uint32_t session, SessionPort& port) {
    if (session >= ports_.size()) {
        ports_.resize(session + 1, nullptr);
        is_touched_.resize(session + 1, 0);
        touched_.reserve(ports_.size());
    }
    ports_[session] = &port;
}

void Outbox::ring_bells(Waker* waker) {
    if (touched_.empty()) return;
    shm::full_fence();  // pair: bell
    for (const std::uint32_t session : touched_) {
        is_touched_[session] = 0;
        SessionPort* port = ports_[session];
        if (port == nullptr || !port->session().bell().should_ring()) continue;
        if (waker != nullptr) {
            waker->ring(port->session().wake_fd());
        } else {
            port->session().bell().ring();
        }
    }
    touched_.clear();
}

void Outbox::violation(std::uint32_t session, std::string_view why) {
    DispatcherEvent event{DispatcherEvent::Kind::violation, session, {}};
    const shm::Violation violation = ports_[session]->session().violation();
    const std::string text = violation ? violation.text() : std::string(why);
    std::memcpy(event.text.data(), text.data(), std::min(text.size(), event.text.size() - 1));
    tell(event);
}

void Outbox::ended(std::uint32_t session) {
    ports_[session] = nullptr;
    tell({DispatcherEvent::Kind::ended, session, {}});
}

void Outbox::tell(const DispatcherEvent& event) {
    has_news_ = true;
    const bool room = events_.push(event);
    PINNACE_CHECK(room);  // two events a session at most, and sessions are fewer than half of the places
}

}  // namespace pinnace::daemon
