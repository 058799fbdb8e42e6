// SPDX-License-Identifier: Apache-2.0
#include "bindings/daemon/control.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "bindings/daemon/requests.h"

namespace pinnace::daemon {
namespace {

// epoll keys: what in the upper 32 bits, which in the lower.
enum class Watched : std::uint32_t { listener = 1, bell = 2, handshake = 3, session = 4 };
std::uint64_t key_of(Watched what, std::uint64_t which) {
    return (static_cast<std::uint64_t>(what) << 32) | which;
}

constexpr std::int64_t kTickNs = 20'000'000;
constexpr std::int64_t kCalibrationNs = 1'000'000'000;
constexpr std::int64_t kHangUpNs = 100'000'000;  // from the end of a socket to the proof of death

}  // namespace

Control::Control(Dispatcher& dispatcher, shm::Admission& admission, shm::Listener& listener,
                 shm::DispatcherSleeper& sleeper, EngineClock& clock, Waker* waker, FormerLife former,
                 ControlOptions options)
    : dispatcher_(dispatcher),
      admission_(admission),
      listener_(listener),
      sleeper_(sleeper),
      clock_(clock),
      waker_(waker),
      former_(std::move(former)),
      options_(std::move(options)),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      bell_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

Control::~Control() = default;

void Control::wake() {
    const std::uint64_t one = 1;
    // EAGAIN: the counter is full, so it is readable anyway.
    [[maybe_unused]] const ssize_t written = write(bell_.get(), &one, sizeof one);
}

void Control::post(std::function<void()> task) {
    {
        const std::lock_guard lock(tasks_mutex_);
        tasks_.push_back(std::move(task));
    }
    wake();
}

void Control::command(std::function<bool()> apply, std::function<void()> finish) {
    backlog_.push_back(std::make_unique<Command>(Command{std::move(apply), std::move(finish)}));
    while (!backlog_.empty() && dispatcher_.commands().post(backlog_.front()))
        backlog_.erase(backlog_.begin());
    dispatcher_.wake();
}

void Control::watch(int fd, std::uint64_t key, std::uint32_t events) {
    epoll_event event{};
    event.events = events;
    event.data.u64 = key;
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0 && errno == EEXIST) {
        epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event);
    }
}

void Control::run() {
    watch(listener_.fd(), key_of(Watched::listener, 0), EPOLLIN);
    watch(bell_.get(), key_of(Watched::bell, 0), EPOLLIN);
    former_.wait_from(shm::monotonic_ns());
    recalibrate();
    std::array<epoll_event, 64> events;
    while (!stopped_) {
        const bool hurry = !handshakes_.empty() || stopping_ || !former_.over() ||
                           std::ranges::any_of(sessions_, [](const auto& s) { return s.second.hung_up; });
        const int timeout_ms = static_cast<int>((hurry ? kTickNs : kCalibrationNs) / 1'000'000);
        const int count =
            epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), timeout_ms);
        for (int i = 0; i < count; ++i) {
            const std::uint64_t key = events[static_cast<std::size_t>(i)].data.u64;
            const auto which = static_cast<std::uint32_t>(key);
            switch (static_cast<Watched>(key >> 32)) {
                case Watched::listener:
                    on_listener();
                    break;
                case Watched::bell:
                    on_bell();
                    break;
                case Watched::handshake:
                    on_handshake(static_cast<int>(which));
                    break;
                case Watched::session:
                    on_session(which, events[static_cast<std::size_t>(i)].events);
                    break;
            }
        }
        tick();
    }
}

void Control::on_listener() {
    for (;;) {
        std::string error;
        auto socket = listener_.accept(error);
        if (!error.empty()) log(error);
        if (!socket) return;
        const int fd = socket->get();
        handshakes_[fd] = {std::make_unique<shm::ServerHandshake>(std::move(*socket), admission_),
                           shm::monotonic_ns() + options_.handshake_timeout_ns};
        watch(fd, key_of(Watched::handshake, static_cast<std::uint32_t>(fd)), EPOLLIN);
    }
}

void Control::on_handshake(int fd) {
    const auto found = handshakes_.find(fd);
    if (found == handshakes_.end()) return;
    shm::ServerHandshake& handshake = *found->second.handshake;
    switch (handshake.step()) {
        case shm::ServerHandshake::State::awaiting_hello:
        case shm::ServerHandshake::State::awaiting_mapped:
            return;
        case shm::ServerHandshake::State::failed:
            log(fmt::format("a client was not admitted: {}", handshake.failure()));
            break;
        case shm::ServerHandshake::State::done:
            admit(handshake.take_session());
            break;
    }
    handshakes_.erase(found);
}

void Control::admit(std::unique_ptr<shm::ServerSession> admitted) {
    const std::uint64_t id = admitted->id();
    {
        const std::lock_guard lock(sessions_mutex_);
        Session& made = sessions_[id];
        made.session = std::move(admitted);
        made.port = std::make_unique<SessionPort>(*made.session);
    }
    Session& s = sessions_[id];
    if (auto added = sleeper_.add(s.session->wake_fd()); !added) log(added.error());
    former_.is_back(s.session->ring_key());
    const std::uint64_t key = s.session->ring_key();
    const ProcessIdentity process = identify_process(s.session->credentials().pid);
    command(
        [this, &s, key, process] {
            s.pump_session = dispatcher_.open_session(*s.port);
            dispatcher_.append(session_record(key, true, dispatcher_.pump().core().now()),
                               std::as_bytes(std::span<const ProcessIdentity, 1>(&process, 1)));
            return true;
        },
        [this, &s, id] {
            s.admitted = true;
            s.session->publish_state(shm::SessionState::running, 0);
            watch(s.session->socket().fd(), key_of(Watched::session, id), EPOLLIN | EPOLLRDHUP);
            if (s.session->watch().pidfd() >= 0) {
                watch(s.session->watch().pidfd(), key_of(Watched::session, id), EPOLLIN);
            }
            on_session(id, 0);
        });
}

void Control::on_session(std::uint64_t id, std::uint32_t events) {
    const auto found = sessions_.find(id);
    if (found == sessions_.end() || !found->second.admitted) return;
    Session& s = found->second;
    if (s.session->socket().wants_write()) s.session->socket().flush();
    read_requests(s);
    check_life(s, (events & (EPOLLHUP | EPOLLRDHUP | EPOLLERR)) != 0 && s.requesting);
    if (!s.ending && !s.hung_up) watch_again(s);
}

// The next request stays in the socket while one is under way (C3), without waking us for it again and again.
void Control::watch_again(Session& s) {
    std::uint32_t events = EPOLLRDHUP;
    if (!s.requesting) events |= EPOLLIN;
    if (s.session->socket().wants_write()) events |= EPOLLOUT;
    watch(s.session->socket().fd(), key_of(Watched::session, s.session->id()), events);
}

void Control::read_requests(Session& s) {
    shm::SocketMessage request;
    if (s.requesting || s.ending || !s.session->socket().receive(request)) return;
    s.requesting = true;
    RequestContext context;
    context.dispatcher = &dispatcher_;
    context.session = s.pump_session;
    context.port = s.port.get();
    context.uid = s.session->credentials().uid;
    context.deliveries_allowed = [this] { return former_.over(); };
    context.status = options_.status;
    context.state = s.requests.get();
    command(make_request(context, request.type, request.payload, s.answer),
            [this, &s, type = request.type, number = request.id, id = s.session->id()] {
                s.requesting = false;
                s.session->socket().send(shm::MessageKind::answer, type, number, s.answer);
                on_session(id, 0);
            });
}

void Control::check_life(Session& s, bool hung_up) {
    if (s.ending) return;
    shm::SessionSocket& socket = s.session->socket();
    if (s.session->watch().is_dead()) return end(s, true);
    if (socket.violation()) {
        log(fmt::format("session {} (pid {}) is detached: {}", s.session->id(), s.session->credentials().pid,
                        socket.violation().text()));
        return end(s, false);
    }
    if (!socket.is_closed() && !hung_up && !s.hung_up) return;
    if (s.session->is_frozen()) return end(s, true);
    const std::int64_t now = shm::monotonic_ns();
    if (!s.hung_up) {
        s.hung_up = true;
        s.end_deadline_ns = now + kHangUpNs;
        // It stays readable from now on; the clock decides.
        epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, socket.fd(), nullptr);
    } else if (now >= s.end_deadline_ns) {
        end(s, false);
    }
}

void Control::end(Session& s, bool cursor_believed) {
    s.ending = true;
    s.hung_up = false;
    epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, s.session->socket().fd(), nullptr);
    if (s.session->watch().pidfd() >= 0) {
        epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, s.session->watch().pidfd(), nullptr);
    }
    command(
        [this, &s, cursor_believed] {
            dispatcher_.pump().end_session(s.pump_session, cursor_believed);
            return true;
        },
        {});
}

void Control::on_bell() {
    std::uint64_t rung = 0;
    [[maybe_unused]] const ssize_t taken = read(bell_.get(), &rung, sizeof rung);
    serve_dispatcher();
}

void Control::serve_dispatcher() {
    dispatcher_.commands().finish_done();
    while (!backlog_.empty() && dispatcher_.commands().post(backlog_.front())) {
        backlog_.erase(backlog_.begin());
        dispatcher_.wake();
    }
    DispatcherEvent event;
    while (dispatcher_.next_event(event)) {
        const auto found = std::ranges::find_if(sessions_, [&](const auto& entry) {
            return entry.second.admitted && entry.second.pump_session == event.session;
        });
        if (found == sessions_.end()) continue;
        Session& s = found->second;
        if (event.kind == DispatcherEvent::Kind::ended) {
            destroy(found->first);
            continue;
        }
        log(fmt::format("session {} (pid {}, \"{}\") is detached: {}", s.session->id(),
                        s.session->credentials().pid, s.session->client_name(), event.text.data()));
        s.session->publish_state(shm::SessionState::ended,
                                 static_cast<std::uint32_t>(s.session->violation().kind));
        if (!s.ending) end(s, false);
    }
    std::vector<std::function<void()>> tasks;
    {
        const std::lock_guard lock(tasks_mutex_);
        tasks.swap(tasks_);
    }
    for (const auto& task : tasks) task();
}

void Control::destroy(std::uint64_t id) {
    Session& s = sessions_.at(id);
    const std::uint64_t key = s.session->ring_key();
    // A request of it may still be on its way back; both come through the same ring, in order.
    command(
        [this, &s, key] {
            dispatcher_.close_session(*s.port);
            dispatcher_.append(session_record(key, false, dispatcher_.pump().core().now()), {});
            return true;
        },
        [this, id] {
            sleeper_.remove(sessions_.at(id).session->wake_fd());
            if (waker_ != nullptr) waker_->drain();
            const std::lock_guard lock(sessions_mutex_);
            sessions_.erase(id);
        });
    s.admitted = false;
}

void Control::tick() {
    serve_dispatcher();  // it may have come while it could not ring
    const std::int64_t now = shm::monotonic_ns();
    std::erase_if(handshakes_, [&](const auto& entry) {
        if (now < entry.second.deadline_ns) return false;
        log(fmt::format("a client (pid {}) was not admitted: it did not finish its hello in time",
                        entry.second.handshake->credentials().pid));
        return true;
    });
    for (auto& [id, s] : sessions_) {
        if (s.hung_up) check_life(s, true);
    }
    if (!former_.over()) {
        former_.check(now);
        if (former_.over()) dispatcher_.wake();
    }
    if (now >= next_calibration_ns_) recalibrate();
    if (stopping_) continue_stop();
}

void Control::recalibrate() {
    next_calibration_ns_ = shm::monotonic_ns() + kCalibrationNs;
    clock_.recalibrate();
    shm::write_clock(admission_.regions().control(), clock_.calibration());
}

void Control::stop() {
    stopping_ = true;
    freeze_deadline_ns_ = shm::monotonic_ns() + options_.freeze_timeout_ns;
    admission_.stop();
    // pair: stopping is acquired by the client library before it takes a delivery.
    shm::shared(admission_.regions().control().stopping).store(1, std::memory_order_release);
    for (auto& [id, s] : sessions_) s.session->bell().ring();
}

void Control::continue_stop() {
    const bool all_frozen = std::ranges::all_of(sessions_, [](const auto& entry) {
        return !entry.second.session->is_consumer() || entry.second.session->is_frozen();
    });
    if (!all_frozen && shm::monotonic_ns() < freeze_deadline_ns_) return;
    stopped_ = true;
    command(
        [this] {
            dispatcher_.stop();
            return true;
        },
        {});
}

std::vector<Control::SessionFacts> Control::sessions() const {
    const std::lock_guard lock(sessions_mutex_);
    std::vector<SessionFacts> facts;
    for (const auto& [id, s] : sessions_) {
        facts.push_back({s.pump_session, id, s.session->credentials().pid, s.session->credentials().uid,
                         s.session->client_name(), s.session->is_consumer(), s.session.get()});
    }
    return facts;
}

}  // namespace pinnace::daemon
