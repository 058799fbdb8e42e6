// SPDX-License-Identifier: Apache-2.0
// The public classes: each call looks whether the session may be used, and hands over.
#include "bindings/cpp/connection.h"

#include <charconv>
#include <cstdlib>

#include "bindings/cpp/publisher.h"
#include "bindings/cpp/session.h"
#include "bindings/cpp/subscriber.h"

namespace pinnace {

using client::Deadline;
using client::Session;

std::string_view to_text(ErrorCode code) {
    static constexpr std::string_view kTexts[] = {
        "none",          "would_block", "timed_out", "too_large", "bad_request", "forked",    "closed",
        "unknown_topic", "bad_filter",  "bad_group", "bad_dedup", "bad_delay",   "duplicate", "gap",
        "fenced",        "unknown",     "not_owner", "stale",     "deferred",    "range",     "ended",
        "disconnected",  "refused",     "broken",    "local"};
    static_assert(std::size(kTexts) == static_cast<std::size_t>(ErrorCode::local) + 1);
    const auto index = static_cast<std::size_t>(code);
    return index < std::size(kTexts) ? kTexts[index] : "none";
}

std::string default_socket_path() {
    if (const char* named = std::getenv("PINNACE_SOCKET"); named != nullptr && *named != '\0') return named;
    const char* state = std::getenv("XDG_STATE_HOME");
    const char* home = std::getenv("HOME");
    std::string base = state != nullptr && *state != '\0'
                           ? std::string(state)
                           : std::string(home != nullptr ? home : "") + "/.local/state";
    return base + "/pinnace/pinnace.sock";
}

std::optional<Bookmark> Bookmark::parse(std::string_view text) {
    Bookmark bookmark;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bookmark.position);
    if (error != std::errc{} || end != text.data() + text.size() || bookmark.position == 0)
        return std::nullopt;
    return bookmark;
}

bool Message::valid() const { return view_ == nullptr || view_->is_valid(); }

// --- Connection

std::expected<Connection, Error> Connection::open(const ConnectionOptions& options) {
    auto session = Session::open(options);
    if (!session) return std::unexpected(session.error());
    return Connection(std::move(*session));
}

std::expected<void, Error> Connection::close(Timeout timeout) {
    if (!session_->is_usable()) return std::unexpected(session_->why_unusable());
    const Deadline deadline(timeout);
    std::expected<void, Error> result;
    if (session_->outbox().is_open()) {
        result = session_->outbox().wait_persisted(session_->outbox().published(), deadline);
    }
    if (const auto durable = session_->inbox().wait_durable(session_->inbox().written(), deadline);
        !durable) {
        result = durable;
    }
    session_->close();
    return result;
}

void Connection::abandon() { session_->abandon(); }

std::expected<std::string, Error> Connection::status() {
    if (!session_->is_usable()) return std::unexpected(session_->why_unusable());
    const auto answer = session_->request(protocol::RequestKind::status, {}, Deadline(kForever));
    if (!answer) return std::unexpected(answer.error());
    protocol::WireReader in(*answer);
    std::string text(in.get_text());
    if (!in.done()) return client::error(ErrorCode::broken, "the engine's answer to status is malformed");
    return text;
}

std::uint64_t Connection::reconnect_count() const { return session_->reconnect_count(); }
std::uint64_t Connection::epoch() const { return session_->shm().epoch(); }
bool Connection::is_connected() const { return session_->is_usable() && !session_->is_down(); }

std::expected<void, Error> Connection::poll(Timeout timeout) {
    if (!session_->is_usable()) return std::unexpected(session_->why_unusable());
    session_->look();
    if (const auto connected = session_->ensure(Deadline(timeout)); !connected) return connected;
    session_->collect();
    if (!session_->is_usable()) return std::unexpected(session_->why_unusable());
    return {};
}

int Connection::event_fd() const { return session_->shm().event_fd(); }

bool Connection::arm() {
    shm::ClientSession& shm = session_->shm();
    return shm.arm([&] { return shm.has_delivery() || shm.has_answer() || session_->is_down(); });
}

void Connection::disarm() { session_->shm().disarm(); }

// --- Publisher

std::expected<Publisher, Error> Publisher::open(const Connection& connection, std::string_view name) {
    Session& session = *connection.session_;
    if (!session.is_usable()) return std::unexpected(session.why_unusable());
    if (const auto opened = session.outbox().open(name); !opened) return std::unexpected(opened.error());
    return Publisher(connection.session_);
}

std::expected<void, Error> Publisher::check(std::string_view topic) {
    if (!session_->is_usable()) return std::unexpected(session_->why_unusable());
    return session_->outbox().check_topic(topic);
}

std::expected<Receipt, Error> Publisher::publish(std::string_view topic, std::span<const std::byte> body,
                                                 Timeout timeout) {
    if (!session_->is_usable()) return std::unexpected(session_->why_unusable());
    return session_->outbox().publish(topic, body, timeout);
}

std::expected<Receipt, Error> Publisher::publish(std::string_view topic, std::span<const std::byte> body,
                                                 const MessageOptions& options, Timeout timeout) {
    if (!session_->is_usable()) return std::unexpected(session_->why_unusable());
    return session_->outbox().publish(topic, body, options, timeout);
}

std::expected<Receipt, Error> Publisher::publish(std::span<const OutgoingMessage> messages, Timeout timeout) {
    if (!session_->is_usable()) return std::unexpected(session_->why_unusable());
    return session_->outbox().publish(messages, timeout);
}

std::uint64_t Publisher::persisted() {
    if (!session_->is_usable()) return 0;
    return session_->outbox().persisted();
}

std::uint64_t Publisher::published() const { return session_->outbox().published(); }

std::expected<void, Error> Publisher::wait_persisted(Receipt receipt, Timeout timeout) {
    if (!session_->is_usable()) return std::unexpected(session_->why_unusable());
    return session_->outbox().wait_persisted(receipt.number, Deadline(timeout));
}

std::expected<void, Error> Publisher::wait_read(Timeout timeout) {
    if (!session_->is_usable()) return std::unexpected(session_->why_unusable());
    return session_->outbox().wait_read(Deadline(timeout));
}

std::vector<PublishAnswer> Publisher::answers() {
    if (session_->is_usable()) session_->collect();
    return session_->outbox().take_answers();
}

void Publisher::on_answer(std::function<void(const PublishAnswer&)> call) {
    session_->outbox().on_answer(std::move(call));
}

std::uint64_t Publisher::message_size_max() const { return session_->shm().message_size_max(); }
std::string_view Publisher::name() const { return session_->outbox().name(); }

// --- Subscriber

std::expected<Subscriber, Error> Subscriber::open(const Connection& connection, std::string_view target,
                                                  const SubscribeOptions& options) {
    Session& session = *connection.session_;
    if (!session.is_usable()) return std::unexpected(session.why_unusable());
    auto subscription = session.inbox().subscribe(target, options);
    if (!subscription) return std::unexpected(subscription.error());
    return Subscriber(connection.session_, std::move(*subscription));
}

std::expected<Subscriber, Error> Subscriber::open_for_pulls(const Connection& connection,
                                                            std::string_view queue, std::string_view filter) {
    Session& session = *connection.session_;
    if (!session.is_usable()) return std::unexpected(session.why_unusable());
    if (!session.shm().is_consumer()) {
        return client::error(ErrorCode::bad_request, "this connection was opened for publishing only");
    }
    return Subscriber(connection.session_, session.inbox().open_for_pulls(queue, filter));
}

std::expected<std::span<const Message>, Error> Subscriber::receive(std::size_t max, Timeout timeout,
                                                                   std::string_view queue) {
    if (!session_->is_usable()) return std::unexpected(session_->why_unusable());
    if (max == 0) return std::span<const Message>();
    return session_->inbox().receive(*subscription_, queue, max, timeout);
}

std::expected<void, Error> Subscriber::replace(const ReplaceOptions& options) {
    if (!session_->is_usable()) return std::unexpected(session_->why_unusable());
    return session_->inbox().replace(*subscription_, options);
}

Subscriber& Subscriber::operator=(Subscriber&& other) noexcept {
    if (this == &other) return *this;
    Subscriber old(std::move(*this));
    session_ = std::move(other.session_);
    subscription_ = std::move(other.subscription_);
    return *this;
}

Subscriber::~Subscriber() {
    if (subscription_ == nullptr) return;
    if (session_->is_usable() && subscription_->is_open()) {
        static_cast<void>(session_->inbox().unsubscribe(*subscription_));
    }
    session_->inbox().remove(*subscription_);
    // A view looks at memory that a child of the owner does not have.
    if (session_->is_inert()) subscription_->abandon_views();
}

std::uint64_t Subscriber::max_backlog() const { return subscription_->limit(); }

std::expected<std::span<const Message>, Error> Subscriber::take(std::size_t max, Timeout timeout) {
    if (!session_->is_usable()) return std::unexpected(session_->why_unusable());
    if (max == 0) return std::span<const Message>();
    return session_->inbox().take(*subscription_, max, timeout);
}

std::expected<void, Error> Subscriber::run(const std::function<bool(const Message&)>& call) {
    for (;;) {
        const auto messages = take(1);
        if (!messages) return std::unexpected(messages.error());
        for (const Message& message : *messages) {
            if (!call(message)) return {};
        }
    }
}

std::expected<std::uint64_t, Error> Subscriber::ack(const Lease& lease) {
    return verb(Verb::acknowledge, {&lease, 1}, 0);
}
std::expected<std::uint64_t, Error> Subscriber::cancel(const Lease& lease) {
    return verb(Verb::cancel, {&lease, 1}, 0);
}
std::expected<std::uint64_t, Error> Subscriber::expire(const Lease& lease) {
    return verb(Verb::expire, {&lease, 1}, 0);
}
std::expected<std::uint64_t, Error> Subscriber::renew(const Lease& lease, std::chrono::nanoseconds period) {
    if (period.count() < 0) return client::error(ErrorCode::range, "a period is not negative");
    return verb(Verb::renew, {&lease, 1}, period.count());
}
std::expected<std::uint64_t, Error> Subscriber::ack(std::span<const Lease> leases) {
    return verb(Verb::acknowledge, leases, 0);
}
std::expected<std::uint64_t, Error> Subscriber::cancel(std::span<const Lease> leases) {
    return verb(Verb::cancel, leases, 0);
}
std::expected<std::uint64_t, Error> Subscriber::expire(std::span<const Lease> leases) {
    return verb(Verb::expire, leases, 0);
}

std::expected<std::uint64_t, Error> Subscriber::verb(Verb verb, std::span<const Lease> leases,
                                                     std::int64_t period_ns) {
    if (!session_->is_usable()) return std::unexpected(session_->why_unusable());
    return session_->inbox().verb(verb, leases, period_ns);
}

std::uint64_t Subscriber::applied_acks() {
    if (!session_->is_usable()) return 0;
    return session_->inbox().applied();
}

std::expected<void, Error> Subscriber::wait_applied(std::uint64_t number, Timeout timeout) {
    if (!session_->is_usable()) return std::unexpected(session_->why_unusable());
    return session_->inbox().wait_applied(number, Deadline(timeout));
}

std::uint64_t Subscriber::durable_acks() {
    if (!session_->is_usable()) return 0;
    return session_->inbox().durable();
}

std::uint64_t Subscriber::acks_written() const { return session_->inbox().written(); }

std::expected<void, Error> Subscriber::wait_durable(std::uint64_t number, Timeout timeout) {
    if (!session_->is_usable()) return std::unexpected(session_->why_unusable());
    return session_->inbox().wait_durable(number, Deadline(timeout));
}

std::vector<VerbAnswer> Subscriber::answers() {
    if (session_->is_usable()) session_->collect();
    return session_->inbox().take_answers();
}

void Subscriber::on_answer(std::function<void(const VerbAnswer&)> call) {
    session_->inbox().on_answer(std::move(call));
}

std::expected<void, Error> Subscriber::unsubscribe() {
    if (!session_->is_usable()) return std::unexpected(session_->why_unusable());
    subscription_->reset();
    return session_->inbox().unsubscribe(*subscription_);
}

}  // namespace pinnace
