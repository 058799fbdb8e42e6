// SPDX-License-Identifier: Apache-2.0
#include "bindings/cpp/session.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "core/core.h"

namespace pinnace::client {

namespace {

// How often this process is a child of the one that loaded the library: sessions of another count are not
// ours.
std::atomic<std::uint32_t> fork_count{0};

void count_forks() {
    static const int registered = pthread_atfork(nullptr, nullptr, [] {
        fork_count.fetch_add(1, std::memory_order_relaxed);  // relaxed: the child has one thread
    });
    static_cast<void>(registered);
}

unsigned allowed_core_count() {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
    return static_cast<unsigned>(CPU_COUNT(&set));
}

shm::WaitMode wait_mode(ConnectionOptions::Wait wait) {
    switch (wait) {
        case ConnectionOptions::Wait::spin:
            return shm::WaitMode::spin;
        case ConnectionOptions::Wait::yield:
            return shm::WaitMode::yield;
        case ConnectionOptions::Wait::block:
            return shm::WaitMode::block;
        case ConnectionOptions::Wait::automatic:
            break;
    }
    return allowed_core_count() < 4 ? shm::WaitMode::block : shm::WaitMode::yield;
}

Error from_connect(const shm::ConnectError& from) {
    switch (from.kind) {
        case shm::ConnectErrorKind::unreachable:
        case shm::ConnectErrorKind::timed_out:
            return {ErrorCode::disconnected, from.text};
        case shm::ConnectErrorKind::refused:
        case shm::ConnectErrorKind::version:
            return {ErrorCode::refused, from.text};
        case shm::ConnectErrorKind::local:
            return {ErrorCode::local, from.text};
        case shm::ConnectErrorKind::broken:
            break;
    }
    return {ErrorCode::broken, from.text};
}

// Whether another try may end otherwise. An engine that is about to stop or dies in the handshake is one that
// was not there yet.
bool is_worth_another_try(const shm::ConnectError& error) {
    switch (error.kind) {
        case shm::ConnectErrorKind::unreachable:
        case shm::ConnectErrorKind::timed_out:
        case shm::ConnectErrorKind::broken:
            return true;
        case shm::ConnectErrorKind::refused:
            return error.reason == shm::RefusalReason::stopping ||
                   error.reason == shm::RefusalReason::too_many ||
                   error.reason == shm::RefusalReason::no_memory ||
                   error.reason == shm::RefusalReason::adoption;
        case shm::ConnectErrorKind::version:
        case shm::ConnectErrorKind::local:
            break;
    }
    return false;
}

void sleep_ns(std::int64_t span) {
    const timespec time{span / 1'000'000'000, span % 1'000'000'000};
    nanosleep(&time, nullptr);  // a signal ends it early, and the caller looks again
}

}  // namespace

ErrorCode code_of_answer(std::uint32_t answer) {
    static constexpr ErrorCode kCodes[] = {
        ErrorCode::none,       ErrorCode::duplicate, ErrorCode::unknown,   ErrorCode::not_owner,
        ErrorCode::stale,      ErrorCode::deferred,  ErrorCode::range,     ErrorCode::unknown_topic,
        ErrorCode::gap,        ErrorCode::fenced,    ErrorCode::too_large, ErrorCode::bad_filter,
        ErrorCode::bad_group,  ErrorCode::bad_dedup, ErrorCode::bad_delay, ErrorCode::bad_request,
        ErrorCode::would_block};
    static_assert(std::size(kCodes) == static_cast<std::size_t>(Answer::would_block) + 1);
    return answer < std::size(kCodes) ? kCodes[answer] : ErrorCode::bad_request;
}

std::uint32_t Session::current_fork_count() {
    return fork_count.load(std::memory_order_relaxed);  // relaxed: changes only where there is one thread
}

shm::ClientOptions Session::shm_options(const ConnectionOptions& options) {
    shm::ClientOptions out;
    out.socket_path = options.socket;
    out.name = options.name;
    out.wanted.submit_capacity = options.submit_size;
    out.wanted.ack_count = options.acknowledgment_count;
    out.wanted.delivery_count = options.subscribes ? options.delivery_count : shm::kEntryCountMin;
    out.is_consumer = options.subscribes;
    out.wait_mode = wait_mode(options.wait);
    out.connect_timeout_ns = 5'000'000'000;
    return out;
}

std::expected<std::shared_ptr<Session>, Error> Session::open(const ConnectionOptions& given) {
    ConnectionOptions options = given;
    if (options.socket.empty()) options.socket = default_socket_path();
    count_forks();
    const Deadline deadline(options.connect_timeout);
    std::int64_t pause = std::max<std::int64_t>(options.pause_min.count(), 100'000);
    for (;;) {
        auto connected = shm::ClientSession::connect(shm_options(options));
        if (connected) return std::shared_ptr<Session>(new Session(options, std::move(*connected)));
        if (!is_worth_another_try(connected.error()) || deadline.is_over()) {
            return std::unexpected(from_connect(connected.error()));
        }
        sleep_ns(deadline.left_ns(pause));
        pause = std::min(pause * 2, std::max(pause, options.pause_max.count()));
    }
}

Session::Session(const ConnectionOptions& options, std::unique_ptr<shm::ClientSession> shm)
    : options_(options),
      shm_(std::move(shm)),
      outbox_(*this),
      inbox_(*this),
      fork_count_(current_fork_count()) {}

Session::~Session() {
    if (fork_count_ != current_fork_count()) {
        // The parent's: its memory is not mapped here, and its descriptors end with this process or its exec.
        static_cast<void>(shm_.release());
        for (auto& former : former_) static_cast<void>(former.release());
        return;
    }
    leave();
}

void Session::leave() {
    if (is_closed_ || is_down_ || fork_count_ != current_fork_count()) return;
    shm_->freeze();
    static_cast<void>(request_once(protocol::RequestKind::leave, {}, std::chrono::milliseconds(500)));
    is_down_ = true;
}

// The engine believes the cursor of a dead process or of a frozen one (rule 17); this one goes on living.
void Session::abandon() {
    if (is_closed_ || fork_count_ != current_fork_count()) return;
    if (!is_down_) shm_->freeze();
    is_down_ = true;
    is_closed_ = true;  // the socket closes with the last one who holds the session
}

std::expected<void, Error> Session::let_read(const Deadline& deadline) {
    if (outbox_.is_open()) {
        if (const auto read = outbox_.wait_read(deadline); !read) return read;
    }
    return inbox_.wait_applied(inbox_.written(), deadline);
}

Error Session::why_unusable() const {
    if (fork_count_ != current_fork_count()) {
        return {ErrorCode::forked, "the connection belongs to the parent process"};
    }
    if (is_closed_) return {ErrorCode::closed, "the connection was closed"};
    return broken_;
}

void Session::fail(ErrorCode code, std::string text) {
    if (is_broken_) return;
    is_broken_ = true;
    is_down_ = true;
    broken_ = {code, std::move(text)};
}

void Session::collect() {
    const std::uint64_t submitted = shm_->submit().refresh();
    const std::uint64_t durable = shm_->ack_durable();
    shm::AnswerEntry entry;
    shm::ReadStatus status = shm_->take(entry);
    for (; status == shm::ReadStatus::ready; status = shm_->take(entry)) {
        switch (static_cast<shm::AnswerKind>(entry.kind)) {
            case shm::AnswerKind::publish:
                outbox_.take_answer(entry);
                break;
            case shm::AnswerKind::acknowledgment:
                inbox_.take_answer(entry);
                break;
            case shm::AnswerKind::subscription_ended:
                inbox_.end_subscription(static_cast<std::uint32_t>(entry.number));
                break;
            case shm::AnswerKind::none:
                break;
        }
    }
    outbox_.settle(submitted);
    inbox_.settle(durable);
    if (const shm::Violation violation = shm_->violation()) fail(ErrorCode::broken, violation.text());
}

void Session::look_now(std::int64_t now) {
    looked_at_ns_ = now;
    if (is_broken_) return;
    if (!is_down_) {
        shm_->disarm();
        if (!shm_->is_disconnected() && !is_ending()) return;
        lose();
    }
    if (options_.reconnect && !is_broken_ && now_ns() >= next_try_ns_) {
        static_cast<void>(reconnect(Deadline(Timeout::zero())));
    }
}

// The engine has stopped, died, or ended this session. What it said last still lies in its rings.
void Session::lose() {
    if (is_down_) return;
    const bool is_ended = shm_->state() == shm::SessionState::ended;
    if (!is_ended && !shm_->is_disconnected()) leave();  // an orderly stop: it waits for this
    is_down_ = true;
    collect();
    if (is_ended && shm_->end_reason() != 0) {
        shm::Violation why;
        why.kind = static_cast<shm::ViolationKind>(shm_->end_reason());
        fail(ErrorCode::refused, "the engine ended the session: " + why.text());
    }
    pause_ns_ = std::max<std::int64_t>(options_.pause_min.count(), 100'000);
    next_try_ns_ = 0;
    lost_at_ns_ = now_ns();
}

std::expected<void, Error> Session::reconnect(const Deadline& deadline) {
    if (is_broken_) return std::unexpected(broken_);
    if (!options_.reconnect) return error(ErrorCode::disconnected, "the engine has gone");
    if (is_rejoining_) return error(ErrorCode::disconnected, "the engine has gone while connecting anew");
    for (;;) {
        if (const std::int64_t wait = next_try_ns_ - now_ns(); wait > 0) {
            if (deadline.is_over()) return error(ErrorCode::timed_out, "the engine is not there");
            sleep_ns(deadline.left_ns(wait));
            continue;
        }
        is_rejoining_ = true;
        const auto joined = rejoin();
        is_rejoining_ = false;
        if (joined) return {};
        if (is_broken_) return std::unexpected(broken_);
        next_try_ns_ = now_ns() + pause_ns_;
        pause_ns_ = std::min(pause_ns_ * 2, std::max(pause_ns_, options_.pause_max.count()));
    }
}

// An engine that stops in order still looks at our cursors until it hangs up; a hello would set them back.
bool Session::is_still_there() {
    if (shm_->is_disconnected() || now_ns() - lost_at_ns_ > kStopPatienceNs) return false;
    shm_->disarm();
    return !shm_->is_disconnected();
}

std::expected<void, Error> Session::rejoin() {
    if (is_still_there()) return error(ErrorCode::disconnected, "the engine is about to stop");
    collect();
    outbox_.withhold(*shm_);
    inbox_.withhold(*shm_);
    const shm::ClientOptions options = shm_options(options_);
    auto connected = shm::ClientSession::connect(options, shm_.get());
    if (!connected && connected.error().reason == shm::RefusalReason::adoption) {
        connected = shm::ClientSession::connect(options);
    }
    if (!connected) {
        Error why = from_connect(connected.error());
        if (!is_worth_another_try(connected.error())) fail(why.code, why.text);
        return std::unexpected(std::move(why));
    }
    std::unique_ptr<shm::ClientSession> former = std::exchange(shm_, std::move(*connected));
    shm::ClientSession* source = shm_->is_adopted() ? nullptr : former.get();
    is_down_ = false;
    auto done = outbox_.rejoin(source);
    if (done) done = inbox_.rejoin(source == nullptr);
    if (inbox_.has_views()) {
        former_.push_back(std::move(former));
    } else {
        former_.clear();
    }
    if (!done) {
        is_down_ = true;
        const ErrorCode code = done.error().code;
        if (code == ErrorCode::gap || code == ErrorCode::broken) fail(code, done.error().text);
        return done;
    }
    ++reconnect_count_;
    pause_ns_ = std::max<std::int64_t>(options_.pause_min.count(), 100'000);
    return {};
}

std::expected<std::vector<std::byte>, Error> Session::request_once(protocol::RequestKind kind,
                                                                   const protocol::WireWriter& payload,
                                                                   Timeout timeout) {
    if (payload.bytes().size() > shm::kPayloadSizeMax) {
        return error(ErrorCode::bad_request, "the request is too large");
    }
    const auto answer = shm_->request(static_cast<std::uint32_t>(kind), payload.bytes(), timeout.count());
    if (!answer) {
        return error(answer.error().is_timeout ? ErrorCode::timed_out : ErrorCode::disconnected,
                     answer.error().text);
    }
    protocol::WireReader in(answer->payload);
    const auto code = in.get<std::uint8_t>();
    if (!in.good()) return error(ErrorCode::broken, "the engine gave an empty answer");
    if (code == 0) return std::vector<std::byte>(answer->payload.begin() + 1, answer->payload.end());
    return error(code_of_answer(code), std::string(in.get_text()));
}

std::expected<std::vector<std::byte>, Error> Session::request(protocol::RequestKind kind,
                                                              const protocol::WireWriter& payload,
                                                              const Deadline& deadline) {
    for (;;) {
        if (const auto connected = ensure(deadline); !connected) return std::unexpected(connected.error());
        auto answer = request_once(kind, payload, kRequestTimeout);
        if (answer || answer.error().code != ErrorCode::disconnected || !options_.reconnect) return answer;
        lose();
        if (is_broken_) return std::unexpected(broken_);
    }
}

std::expected<std::string_view, Error> Session::name(protocol::RequestKind kind, Names& names,
                                                     std::uint32_t id) {
    if (const auto found = names.find(id); found != names.end()) return std::string_view(found->second);
    protocol::WireWriter payload;
    payload.put(id);
    const auto answer = request_once(kind, payload, kRequestTimeout);
    if (!answer) return std::unexpected(answer.error());
    protocol::WireReader in(*answer);
    const std::string_view text = in.get_text();
    if (!in.done())
        return error(ErrorCode::broken, "the engine's answer to a question for a name is malformed");
    return std::string_view(names.emplace(id, text).first->second);
}

}  // namespace pinnace::client
