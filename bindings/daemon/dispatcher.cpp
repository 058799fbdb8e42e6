// SPDX-License-Identifier: Apache-2.0
#include "bindings/daemon/dispatcher.h"

#include <algorithm>
#include <cstring>

namespace pinnace::daemon {
namespace {

// How long the dispatcher sleeps at most while it waits for the journal, which rings no bell.
constexpr std::int64_t kJournalPollNs = 50'000;

}  // namespace

void Dispatcher::attach(World world) {
    world_ = std::move(world);
    log_.attach(world_.regions->log(), *world_.journal);
}

void Dispatcher::run() {
    shm::Waiter waiter(world_.wait);
    while (!stopping_) {
        const bool applied = commands_.apply_wanted();
        bool work = pump_.turn(world_.clock->now());
        if (applied) {
            log_.publish();
            work = true;
        }
        ring_bells();
        if (applied || has_news_) {
            has_news_ = false;
            world_.tell_control();
        }
        if (work) {
            idle_turns_ = 0;
            waiter.reset();
        } else {
            ++idle_turns_;
            // While a command waits its turn must come again.
            if (waiter.idle() && !commands_.waiting()) sleep();
        }
    }
    finish();
}

void Dispatcher::sleep() {
    const Time now = world_.clock->now();
    const Time due = pump_.core().next_due();
    std::int64_t timeout = due == kNever ? -1 : std::max<std::int64_t>(due - now, 0);
    if (!pump_.quiet() && (timeout < 0 || timeout > kJournalPollNs)) timeout = kJournalPollNs;
    // What is blocked by the journal would have it turn for ever.
    const bool blocked = pump_.blocked();
    world_.sleeper->sleep([&] { return !commands_.idle() || (!blocked && pump_.has_input()); }, timeout);
}

void Dispatcher::ring_bells() {
    if (touched_.empty()) return;
    shm::full_fence();  // pair: dekker
    for (const std::uint32_t session : touched_) {
        is_touched_[session] = 0;
        SessionPort* port = ports_[session];
        if (port == nullptr || !port->session().bell().should_ring()) continue;
        if (world_.waker != nullptr) {
            world_.waker->ring(port->session().wake_fd());
        } else {
            port->session().bell().ring();
        }
    }
    touched_.clear();
}

// The orderly stop: what clients have written is read and made durable, they are told, and all ends.
void Dispatcher::finish() {
    pump_.drain();
    shm::Waiter waiter(shm::WaitMode::yield);
    const auto wait_for_journal = [&] {
        while (log_.durable() < log_.appended() && world_.journal->state() != journal::State::failed)
            waiter.idle();
        pump_.tell_durable();
        ring_bells();
    };
    wait_for_journal();
    pump_.stop();
    RecordHeader stop;
    stop.kind = static_cast<std::uint16_t>(RecordKind::stop);
    stop.time = pump_.core().now();
    log_.append(stop, {}, {});
    log_.end_step(pump_.core().now());
    log_.publish();
    wait_for_journal();
    commands_.apply_wanted();
    world_.tell_control();
}

std::uint32_t Dispatcher::open_session(SessionPort& port) {
    const std::uint32_t session = pump_.open_session(port, port.session().credentials().uid);
    if (session >= ports_.size()) {
        ports_.resize(session + 1, nullptr);
        is_touched_.resize(session + 1, 0);
        touched_.reserve(ports_.size());
    }
    ports_[session] = &port;
    world_.regions->log().pins().add(port.session().pins());
    return session;
}

void Dispatcher::append(const RecordHeader& header, std::span<const std::byte> head) {
    log_.append(header, head, {});
    log_.end_step(pump_.core().now());
}

void Dispatcher::touched(std::uint32_t session) {
    if (session >= is_touched_.size() || is_touched_[session] != 0) return;
    is_touched_[session] = 1;
    touched_.push_back(session);
}

void Dispatcher::violation(std::uint32_t session, std::string_view why) {
    DispatcherEvent event{DispatcherEvent::Kind::violation, session, {}};
    const shm::Violation violation = ports_[session]->session().violation();
    const std::string text = violation ? violation.text() : std::string(why);
    std::memcpy(event.text.data(), text.data(), std::min(text.size(), event.text.size() - 1));
    tell(event);
}

void Dispatcher::ended(std::uint32_t session) {
    world_.regions->log().pins().remove(ports_[session]->session().pins());
    ports_[session] = nullptr;
    tell({DispatcherEvent::Kind::ended, session, {}});
}

void Dispatcher::tell(const DispatcherEvent& event) {
    has_news_ = true;
    const bool room = events_.push(event);
    PINNACE_CHECK(room);  // two events a session at most, and sessions are fewer than half of the places
}

}  // namespace pinnace::daemon
