// SPDX-License-Identifier: Apache-2.0
// QueueClient: a queue as a whole: what waits in it, verbs by bookmark or by filter, purge and redrive.
//
// Verbs here wait until they are durable, and answer each bookmark; Subscriber's are the quick ones. Each
// comes after everything that this connection wrote before it (L13).
//
// Threads and ownership: as Connection says.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bindings/cpp/connection.h"
#include "bindings/cpp/error.h"
#include "bindings/cpp/message.h"

namespace pinnace {

enum class Verb : std::uint8_t;

// A message of a query.
struct FoundMessage {
    Bookmark bookmark;
    std::string_view topic;  // until the connection's end
    std::int64_t published_ns = 0;
    bool readable = true;  // false: the journal could not give the body back
    std::string body;
};

class QueueClient {
 public:
    // `unknown_topic` if there is no queue of this name.
    static std::expected<QueueClient, Error> open(const Connection& connection, std::string_view queue);

    // What is available, in delivery order (V1): not leased, due; of what matches `where`, if it is not
    // empty,
    // up to `count_max`. Leases nothing. The function may end it by saying false, and must not call back into
    // the connection. If the engine goes away in the middle, the error is `disconnected`.
    std::expected<void, Error> query(std::string_view where, std::uint64_t count_max,
                                     const std::function<bool(FoundMessage&&)>& call);
    std::expected<std::vector<FoundMessage>, Error> query(std::string_view where = {},
                                                          std::uint64_t count_max = UINT64_MAX);

    // A message by its bookmark alone; also for the verbs of Subscriber's messages, with their own leases.
    Lease at(Bookmark bookmark) const;
    // A list is applied as one (L4). An answer for each, in order: `none` is ok (L5-L10, F11). `cancel` and
    // `renew` need the current lease, so at() will not do for them.
    using Answers = std::expected<std::vector<ErrorCode>, Error>;
    Answers ack(std::span<const Lease> leases, Timeout timeout = kForever);
    Answers cancel(std::span<const Lease> leases, Timeout timeout = kForever);
    Answers expire(std::span<const Lease> leases, Timeout timeout = kForever);
    // 0: the same period again.
    Answers renew(std::span<const Lease> leases, std::chrono::nanoseconds period, Timeout timeout = kForever);

    // All messages of the queue that match (L4); how many it was done to.
    std::expected<std::uint64_t, Error> ack_where(std::string_view where);
    std::expected<std::uint64_t, Error> expire_where(std::string_view where);
    // A5: removes what is not leased.
    std::expected<std::uint64_t, Error> purge();
    // A4: moves all that is not leased to the end of the queue `to`.
    std::expected<std::uint64_t, Error> redrive(std::string_view to);

    std::string_view name() const { return name_; }

 private:
    QueueClient(std::shared_ptr<client::Session> session, std::string name, std::uint32_t id)
        : session_(std::move(session)), name_(std::move(name)), id_(id) {}
    Answers verb(Verb verb, std::span<const Lease> leases, std::int64_t period, Timeout timeout);
    std::expected<std::uint64_t, Error> verbs_where(Verb verb, std::string_view where);

    std::shared_ptr<client::Session> session_;
    std::string name_;
    std::uint32_t id_;
};

}  // namespace pinnace
