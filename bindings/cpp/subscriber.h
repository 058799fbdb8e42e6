// SPDX-License-Identifier: Apache-2.0
// Subscriber: takes messages of a queue under leases, and acknowledges them.
//
// A message that is not acknowledged before its lease ends comes again, to this subscriber or to another
// (L1). So does one that was taken when this process died. Acknowledge when the work is done.
//
// Verbs (ack, cancel, expire, renew) are written into memory shared with the engine; each has a number, and
// only what did not work is answered: answers() or on_answer(). durable_acks() tells up to which number their
// effects survive everything (L13). A verb is applied after everything that this connection published before
// it (rule 8).
//
// Threads and ownership: as Connection says. Several subscribers of one connection share its delivery ring;
// each gets only what is its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "bindings/cpp/connection.h"
#include "bindings/cpp/error.h"
#include "bindings/cpp/message.h"

namespace pinnace {

enum class Verb : std::uint8_t;

struct SubscribeOptions {
    std::uint64_t max_backlog = 1;  // messages that it may hold unacknowledged (D4)
    std::string_view filter = {};   // empty: none
};

// What is not given stays as it is (R1).
struct ReplaceOptions {
    std::optional<std::string_view> target = {};
    std::optional<std::uint64_t> max_backlog = {};
    std::optional<std::string_view> filter = {};
};

// What became of a verb that did not simply work.
struct VerbAnswer {
    std::uint64_t number = 0;
    std::uint64_t position = 0;
    ErrorCode code = ErrorCode::none;
};

class Subscriber {
 public:
    // `target`: a queue's name, or a pattern over queues' names (D8).
    static std::expected<Subscriber, Error> open(const Connection& connection, std::string_view target,
                                                 const SubscribeOptions& options = {});
    // One that is no subscription of the queue and gets nothing but by receive() (PL1). One for each queue
    // and filter of a connection; the engine hears of it at the first pull.
    static std::expected<Subscriber, Error> open_for_pulls(const Connection& connection,
                                                           std::string_view queue,
                                                           std::string_view filter = {});
    Subscriber(Subscriber&&) noexcept = default;
    Subscriber& operator=(Subscriber&& other) noexcept;
    // Unsubscribes, if unsubscribe() was not called; what was not taken goes back uncounted.
    ~Subscriber();

    // The limit that holds, which may be less than what was asked for (D4).
    std::uint64_t max_backlog() const;

    // Up to `max` messages, as soon as there is one; none if the time is over. The messages of the call
    // before are invalid from here on, their leases are not.
    std::expected<std::span<const Message>, Error> take(std::size_t max = 1, Timeout timeout = kForever);

    // Pulls up to `max` messages, at most 1,024, whatever its own backlog (PL1); waits for the first one, by
    // asking again with growing pauses of up to 20 ms. Older deliveries that were not taken yet come first.
    // `queue`: if it is not what this one was opened for.
    std::expected<std::span<const Message>, Error> receive(std::size_t max = 1, Timeout timeout = kForever,
                                                           std::string_view queue = {});

    // Takes and hands over one message after the other until the function says false. Returns early only with
    // an error.
    std::expected<void, Error> run(const std::function<bool(const Message&)>& call);

    // Verbs. Each returns its number. They wait for nothing but room in the ring, which the engine makes at
    // once.
    std::expected<std::uint64_t, Error> ack(const Lease& lease);
    std::expected<std::uint64_t, Error> ack(const Message& message) { return ack(message.lease()); }
    std::expected<std::uint64_t, Error> cancel(const Lease& lease);
    std::expected<std::uint64_t, Error> expire(const Lease& lease);
    // 0: the same period again.
    std::expected<std::uint64_t, Error> renew(const Lease& lease,
                                              std::chrono::nanoseconds period = std::chrono::nanoseconds(0));
    // A list is applied as one (L4); the number is the last one's, and they follow each other. An empty one
    // does nothing.
    std::expected<std::uint64_t, Error> ack(std::span<const Lease> leases);
    std::expected<std::uint64_t, Error> cancel(std::span<const Lease> leases);
    std::expected<std::uint64_t, Error> expire(std::span<const Lease> leases);

    // Verbs up to this number are durable, or were answered otherwise. All of a connection share the numbers.
    std::uint64_t durable_acks();
    // Verbs up to this number have been applied by the engine that the connection is with, or answered
    // otherwise.
    std::uint64_t applied_acks();
    // The number of the last verb that was written.
    std::uint64_t acks_written() const;
    std::expected<void, Error> wait_applied(std::uint64_t number, Timeout timeout = kForever);
    std::expected<void, Error> wait_durable(std::uint64_t number, Timeout timeout = kForever);

    // As Publisher's. Those of all subscribers of the connection.
    std::vector<VerbAnswer> answers();
    void on_answer(std::function<void(const VerbAnswer&)> call);

    // Changes target, limit or filter in one step; leases stay (R1, R2).
    std::expected<void, Error> replace(const ReplaceOptions& options);

    // Returns when the engine has taken back what was delivered and not acknowledged.
    std::expected<void, Error> unsubscribe();

 private:
    Subscriber(std::shared_ptr<client::Session> session, std::shared_ptr<client::Subscription> subscription)
        : session_(std::move(session)), subscription_(std::move(subscription)) {}
    std::expected<std::uint64_t, Error> verb(Verb verb, std::span<const Lease> leases,
                                             std::int64_t period_ns);
    std::shared_ptr<client::Session> session_;
    std::shared_ptr<client::Subscription> subscription_;
};

}  // namespace pinnace
