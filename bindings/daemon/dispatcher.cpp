// SPDX-License-Identifier: Apache-2.0
#include "bindings/daemon/dispatcher.h"

#include <algorithm>

namespace pinnace::daemon {
namespace {

// How long the dispatcher sleeps at most while it waits for the journal, which rings no bell.
constexpr std::int64_t kJournalPollNs = 50'000;
// Between two idle turns, which look at clock, journal and commands, the rings are looked at this often.
constexpr int kLooksPerTurn = 64;

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
        outbox_.ring_bells(world_.waker);
        if (outbox_.take_news() || applied) world_.tell_control();
        if (work) {
            idle_turns_ = 0;
            waiter.reset();
        } else {
            ++idle_turns_;
            for (int look = 0; look < kLooksPerTurn && !pump_.has_input(); ++look) {
            }
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

// The orderly stop: what clients have written is read and made durable, they are told, and all ends.
void Dispatcher::finish() {
    pump_.drain();
    shm::Waiter waiter(shm::WaitMode::yield);
    const auto wait_for_journal = [&] {
        while (log_.durable() < log_.appended() && world_.journal->state() != journal::State::failed) {
            log_.publish();  // what was spilled
            waiter.idle();
        }
        pump_.tell_durable();
        outbox_.ring_bells(world_.waker);
    };
    wait_for_journal();
    pump_.stop();
    wait_for_journal();
    commands_.apply_wanted();
    world_.tell_control();
}

std::uint32_t Dispatcher::open_session(SessionPort& port) {
    // The id is known only afterwards, but nothing is delivered to a session before it subscribes.
    const std::uint32_t session = pump_.open_session(port, port.session().credentials().uid);
    outbox_.add(session, port);
    world_.regions->log().pins().add(port.session().pins());
    return session;
}

void Dispatcher::close_session(SessionPort& port) {
    world_.regions->log().pins().remove(port.session().pins());
}

void Dispatcher::append(const RecordHeader& header, std::span<const std::byte> head) {
    log_.append(header, head, {});
    log_.end_step(pump_.core().now());
}

}  // namespace pinnace::daemon
