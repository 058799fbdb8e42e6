// SPDX-License-Identifier: Apache-2.0
#include "bindings/cli/scenario/live_engine.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <thread>

namespace pinnace::scenario {
namespace {

enum class Order : std::uint32_t { set_clock = 1, settle, await_sessions, stop };
struct OrderMessage {
    Order order = Order::settle;
    std::uint32_t reserved = 0;
    std::int64_t argument = 0;
};
// An answer: one byte, how it went, and a text.
enum class Went : char { well = 'w', refused = 'r', broken = 'b' };

constexpr int kMeanwhileMs = 2;
constexpr auto kSessionTimeout = std::chrono::seconds(20);

std::unexpected<Fault> broken(std::string text) {
    return std::unexpected(Fault{Fault::Kind::broken, std::move(text), 0});
}

void answer(int socket, Went how, const std::string& text = {}) {
    const std::string message = static_cast<char>(how) + text.substr(0, 4000);
    [[maybe_unused]] const ssize_t sent = send(socket, message.data(), message.size(), MSG_NOSIGNAL);
}

bool await_few_sessions(Engine& engine, std::size_t count) {
    const auto deadline = std::chrono::steady_clock::now() + kSessionTimeout;
    while (engine.session_count() > count) {
        if (std::chrono::steady_clock::now() > deadline) return false;
        // The control thread looks at ends of clients; it is ahead of us in its queue of tasks.
        engine.run_in_dispatcher([] {});
        std::this_thread::yield();
    }
    engine.settle();
    return true;
}

// The engine's process.
[[noreturn]] void serve(const EngineOptions& options, int socket) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "pinnace-live");
    auto started = Engine::start(options);
    if (!started) {
        answer(socket, Went::refused, started.error());
        _exit(1);
    }
    Engine& engine = **started;
    answer(socket, Went::well);
    OrderMessage order;
    while (recv(socket, &order, sizeof order, 0) == sizeof order) {
        switch (order.order) {
            case Order::set_clock:
                engine.set_clock(order.argument);
                break;
            case Order::settle:
                engine.settle();
                break;
            case Order::await_sessions:
                if (await_few_sessions(engine, static_cast<std::size_t>(order.argument))) break;
                answer(socket, Went::broken, "a session does not end");
                continue;
            case Order::stop: {
                const auto stopped = engine.stop();
                answer(socket, stopped ? Went::well : Went::broken, stopped ? "" : stopped.error());
                _exit(stopped ? 0 : 1);
            }
        }
        answer(socket, engine.failed() ? Went::broken : Went::well,
               engine.failed() ? "the journal failed" : "");
    }
    _exit(1);
}

}  // namespace

Outcome<LiveEngine> LiveEngine::start(const EngineOptions& options) {
    int ends[2] = {};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return broken(std::strerror(errno));
    shm::Fd ours(ends[0]);
    shm::Fd theirs(ends[1]);
    std::fflush(nullptr);
    const pid_t pid = fork();
    if (pid < 0) return broken(std::strerror(errno));
    if (pid == 0) {
        ours = shm::Fd();
        serve(options, theirs.get());
    }
    LiveEngine engine(pid, std::move(ours));
    theirs = shm::Fd();
    if (auto started = engine.read_answer(); !started) return std::unexpected(started.error());
    return engine;
}

LiveEngine::LiveEngine(LiveEngine&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), socket_(std::move(other.socket_)) {}

LiveEngine& LiveEngine::operator=(LiveEngine&& other) noexcept {
    if (this == &other) return *this;
    kill();
    pid_ = std::exchange(other.pid_, -1);
    socket_ = std::move(other.socket_);
    return *this;
}

Outcome<void> LiveEngine::set_clock(Time now) {
    return ask(static_cast<std::uint32_t>(Order::set_clock), now);
}
Outcome<void> LiveEngine::settle() { return ask(static_cast<std::uint32_t>(Order::settle), 0); }
Outcome<void> LiveEngine::await_sessions(std::size_t count) {
    return ask(static_cast<std::uint32_t>(Order::await_sessions), static_cast<std::int64_t>(count));
}

Outcome<void> LiveEngine::ask(std::uint32_t what, std::int64_t argument) {
    const OrderMessage order{static_cast<Order>(what), 0, argument};
    if (send(socket_.get(), &order, sizeof order, MSG_NOSIGNAL) != sizeof order)
        return broken("the engine's process has ended");
    return read_answer();
}

Outcome<void> LiveEngine::read_answer() {
    std::array<char, 4096> text{};
    const ssize_t size = recv(socket_.get(), text.data(), text.size(), 0);
    if (size <= 0) {
        const int status = wait_for_end();
        return broken(WIFSIGNALED(status)
                          ? fmt::format("the engine's process was ended by signal {}", WTERMSIG(status))
                          : std::string("the engine's process has ended"));
    }
    const std::string said(text.data() + 1, static_cast<std::size_t>(size) - 1);
    switch (static_cast<Went>(text[0])) {
        case Went::well:
            return {};
        case Went::refused:
            if (said.find("not supported yet") != std::string::npos) return unsupported(said);
            return refused(said);
        case Went::broken:
            break;
    }
    return broken(said);
}

Outcome<void> LiveEngine::stop(const std::function<void()>& meanwhile) {
    const OrderMessage order{Order::stop, 0, 0};
    if (send(socket_.get(), &order, sizeof order, MSG_NOSIGNAL) != sizeof order)
        return broken("the engine's process has ended");
    pollfd entry{socket_.get(), POLLIN, 0};
    while (poll(&entry, 1, kMeanwhileMs) == 0) meanwhile();
    const auto stopped = read_answer();
    wait_for_end();
    return stopped;
}

void LiveEngine::kill() {
    if (pid_ > 0) ::kill(pid_, SIGKILL);
    wait_for_end();
}

int LiveEngine::wait_for_end() {
    int status = 0;
    while (pid_ > 0 && waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return status;
}

}  // namespace pinnace::scenario
