// SPDX-License-Identifier: Apache-2.0
// Publisher: sends messages, numbered, so that each is stored once whatever dies in between.
//
// publish() writes into memory shared with the engine and returns; it waits only for room. The message is
// safe against the end of this process as soon as the engine has read it, and against everything else once it
// is persisted: wait_persisted(), persisted(). If the engine dies before, the message is sent again by
// itself; that needs this process. Messages of one publisher keep their order (T2).
//
// What the engine refuses, it says later: answers() or on_answer(). The others go on regardless.
//
// Threads and ownership: as Connection says. One publisher for each connection.
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

namespace pinnace {

struct MessageOptions {
    std::optional<std::string_view> group = {};  // F1
    std::optional<std::string_view> dedup = {};  // U1
    std::optional<std::chrono::nanoseconds> delay = {};
    std::optional<std::chrono::nanoseconds> expiration = {};  // 0: never
    // The application's own number for it (T7), for one that numbers its messages by itself over its lives:
    // at or below the highest that the engine has seen it is a re-send, answered `duplicate`.
    std::optional<std::uint64_t> number = {};
    bool answer = false;  // an answer also if it was simply stored, for its bookmark
};

struct OutgoingMessage {
    std::string_view topic;  // a topic's or a queue's name
    std::span<const std::byte> body;
    MessageOptions options = {};
};

// Names a publish; numbers grow by one.
struct Receipt {
    std::uint64_t number = 0;
};

// What became of a message that was not simply stored.
struct PublishAnswer {
    std::uint64_t number = 0;
    ErrorCode code = ErrorCode::none;  // `duplicate` is no failure
    std::uint64_t position = 0;        // of the first one, if it is a duplicate and still known
};

class Publisher {
 public:
    // The name belongs to the user: whoever opens it anew fences the former owner, and goes on after the
    // highest number that the engine has seen. Empty: a name of its own.
    static std::expected<Publisher, Error> open(const Connection& connection, std::string_view name = {});

    // Whether there is such a topic or queue to publish to; `unknown_topic` if not (T9).
    std::expected<void, Error> check(std::string_view topic);

    // Refused at once: an unknown topic, a body above message_size_max(). A malformed group or dedup id is
    // refused by the engine, if a queue that takes the message in needs it.
    std::expected<Receipt, Error> publish(std::string_view topic, std::span<const std::byte> body,
                                          Timeout timeout = kForever);
    std::expected<Receipt, Error> publish(std::string_view topic, std::string_view body,
                                          Timeout timeout = kForever) {
        return publish(topic, std::as_bytes(std::span(body)), timeout);
    }
    std::expected<Receipt, Error> publish(std::string_view topic, std::span<const std::byte> body,
                                          const MessageOptions& options, Timeout timeout = kForever);

    // All or none, next to each other in the order given; the receipt is the last one's. The limit holds for
    // the sum. A number of the application's own is given to the first one, and counts up.
    std::expected<Receipt, Error> publish(std::span<const OutgoingMessage> messages,
                                          Timeout timeout = kForever);

    // The number up to which everything is durable, or was answered otherwise (T8).
    std::uint64_t persisted();
    // The last number given out.
    std::uint64_t published() const;
    // The error is the engine's answer, if it did not store this message; `duplicate` is no error.
    std::expected<void, Error> wait_persisted(Receipt receipt, Timeout timeout = kForever);
    std::expected<void, Error> wait_persisted(Timeout timeout = kForever) {
        return wait_persisted({published()}, timeout);
    }

    // Until the engine has read all: from there on it goes on with them whatever becomes of this process.
    std::expected<void, Error> wait_read(Timeout timeout = kForever);

    // The answers that came since the last call; or have them given to a function, which must not call back
    // into the connection. At most 65,536 are kept, then the oldest go.
    std::vector<PublishAnswer> answers();
    void on_answer(std::function<void(const PublishAnswer&)> call);

    std::uint64_t message_size_max() const;
    // The publisher's name, also where it was given by the library.
    std::string_view name() const;

 private:
    explicit Publisher(std::shared_ptr<client::Session> session) : session_(std::move(session)) {}
    std::shared_ptr<client::Session> session_;
};

}  // namespace pinnace
