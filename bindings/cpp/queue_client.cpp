// SPDX-License-Identifier: Apache-2.0
#include "bindings/cpp/queue_client.h"

#include "bindings/cpp/session.h"

namespace pinnace {
namespace {

using client::Deadline;
using client::Session;
using protocol::RequestKind;
using protocol::WireReader;
using protocol::WireWriter;

// After the rings were read; the answer's bytes after `ok`.
std::expected<std::vector<std::byte>, Error> ask(Session& session, RequestKind kind,
                                                 const WireWriter& payload) {
    if (!session.is_usable()) return std::unexpected(session.why_unusable());
    if (const auto read = session.let_read(Deadline(kForever)); !read) return std::unexpected(read.error());
    return session.request(kind, payload, Deadline(kForever));
}

std::expected<std::uint64_t, Error> ask_count(Session& session, RequestKind kind, const WireWriter& payload) {
    const auto answer = ask(session, kind, payload);
    if (!answer) return std::unexpected(answer.error());
    WireReader in(*answer);
    const auto count = in.get<std::uint64_t>();
    if (!in.done()) return client::error(ErrorCode::broken, "the engine's answer is malformed");
    return count;
}

// Messages out of the parts of a list, as far as they are whole.
class FoundReader {
 public:
    explicit FoundReader(Session& session) : session_(session) {}

    void add(std::span<const std::byte> part) {
        bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(used_));
        used_ = 0;
        bytes_.insert(bytes_.end(), part.begin(), part.end());
    }
    bool empty() const { return used_ == bytes_.size(); }
    // False: the next one is not there as a whole.
    std::expected<bool, Error> next(FoundMessage& message) {
        const auto left = std::span<const std::byte>(bytes_).subspan(used_);
        WireReader in(left);
        message.bookmark.position = in.get<std::uint64_t>();
        const auto topic = in.get<std::uint32_t>();
        message.published_ns = in.get<std::int64_t>();
        message.readable = in.get<std::uint8_t>() != 0;
        const std::string_view body = in.get_text();
        if (!in.good()) return false;
        message.body = body;
        used_ += kFixedSize + body.size();
        const auto name = session_.topic_name(topic);
        if (!name) return std::unexpected(name.error());
        message.topic = *name;
        return true;
    }

 private:
    static constexpr std::size_t kFixedSize = 8 + 4 + 8 + 1 + 4;

    Session& session_;
    std::vector<std::byte> bytes_;
    std::size_t used_ = 0;
};

}  // namespace

std::expected<QueueClient, Error> QueueClient::open(const Connection& connection, std::string_view queue) {
    Session& session = *connection.session_;
    WireWriter payload;
    payload.put(queue);
    const auto answer = ask(session, RequestKind::find_queue, payload);
    if (!answer) return std::unexpected(answer.error());
    WireReader in(*answer);
    const auto id = in.get<std::uint32_t>();
    if (!in.done()) return client::error(ErrorCode::broken, "the engine's answer is malformed");
    return QueueClient(connection.session_, std::string(queue), id);
}

std::expected<void, Error> QueueClient::query(std::string_view where, std::uint64_t count_max,
                                              const std::function<bool(FoundMessage&&)>& call) {
    WireWriter payload;
    payload.put(std::string_view(name_)).put(where).put(count_max);
    auto answer = ask(*session_, RequestKind::query, payload);
    FoundReader found(*session_);
    for (;;) {
        if (!answer) return std::unexpected(answer.error());
        WireReader in(*answer);
        const bool more = in.get<std::uint8_t>() != 0;
        if (!in.good()) return client::error(ErrorCode::broken, "the engine's answer to query is malformed");
        found.add(std::span<const std::byte>(*answer).subspan(1));
        for (;;) {
            FoundMessage message;
            const auto whole = found.next(message);
            if (!whole) return std::unexpected(whole.error());
            if (!*whole) break;
            if (!call(std::move(message))) return {};
        }
        if (!more && !found.empty())
            return client::error(ErrorCode::broken, "the engine's list ends within a message");
        if (!more) return {};
        answer = session_->request_once(RequestKind::more, {}, std::chrono::seconds(10));
    }
}

std::expected<std::vector<FoundMessage>, Error> QueueClient::query(std::string_view where,
                                                                   std::uint64_t count_max) {
    std::vector<FoundMessage> messages;
    const auto done = query(where, count_max, [&](FoundMessage&& message) {
        messages.push_back(std::move(message));
        return true;
    });
    if (!done) return std::unexpected(done.error());
    return messages;
}

Lease QueueClient::at(Bookmark bookmark) const { return {bookmark.position, 0, id_, UINT32_MAX, UINT32_MAX}; }

QueueClient::Answers QueueClient::verb(Verb verb, std::span<const Lease> leases, std::int64_t period,
                                       Timeout timeout) {
    if (!session_->is_usable()) return std::unexpected(session_->why_unusable());
    return session_->inbox().verb_now(verb, leases, period, Deadline(timeout));
}
QueueClient::Answers QueueClient::ack(std::span<const Lease> leases, Timeout timeout) {
    return verb(Verb::acknowledge, leases, 0, timeout);
}
QueueClient::Answers QueueClient::cancel(std::span<const Lease> leases, Timeout timeout) {
    return verb(Verb::cancel, leases, 0, timeout);
}
QueueClient::Answers QueueClient::expire(std::span<const Lease> leases, Timeout timeout) {
    return verb(Verb::expire, leases, 0, timeout);
}
QueueClient::Answers QueueClient::renew(std::span<const Lease> leases, std::chrono::nanoseconds period,
                                        Timeout timeout) {
    return verb(Verb::renew, leases, period.count(), timeout);
}

std::expected<std::uint64_t, Error> QueueClient::verbs_where(Verb verb, std::string_view where) {
    WireWriter payload;
    payload.put(static_cast<std::uint8_t>(verb)).put(std::string_view(name_)).put(where);
    return ask_count(*session_, RequestKind::verbs_where, payload);
}
std::expected<std::uint64_t, Error> QueueClient::ack_where(std::string_view where) {
    return verbs_where(Verb::acknowledge, where);
}
std::expected<std::uint64_t, Error> QueueClient::expire_where(std::string_view where) {
    return verbs_where(Verb::expire, where);
}

std::expected<std::uint64_t, Error> QueueClient::purge() {
    WireWriter payload;
    payload.put(std::string_view(name_));
    return ask_count(*session_, RequestKind::purge, payload);
}

std::expected<std::uint64_t, Error> QueueClient::redrive(std::string_view to) {
    WireWriter payload;
    payload.put(std::string_view(name_)).put(to);
    return ask_count(*session_, RequestKind::redrive, payload);
}

}  // namespace pinnace
