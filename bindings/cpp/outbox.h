// SPDX-License-Identifier: Apache-2.0
// Outbox: a connection's publisher: numbers, the way into the submit ring, what is not persisted yet, and
// answers.
//
// Each message has the number after the last one's, and carries the newest number that is known to be stored
// for good as the one before its own. So a refused message, which uses up no number, does not make the engine
// refuse what was sent after it, and an engine that has lost what it called durable is found out (`gap`).
//
// Over a reconnect the submit ring is the store (rule 24). The engine that adopts it must not read a frame
// before the publisher's name is bound to the new session: the first frame's commit word is taken back before
// the ring is handed in, and put back when the name is bound. Meanwhile the frames are marked as re-sent.
//
// Invariants
//   1. sent_ holds, in order, the end of each message's frames in the submit ring, from the persisted mark
//      on.
//   2. While backlog_ is not empty nothing is written to the ring but from it: order is kept over a
//      reconnect.
//
// Ordering pairs
//   submitted  the commit word that is put back, acquired by the engine's SubmitReader.
//
// Thread: as Session.
#pragma once

#include <deque>
#include <expected>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bindings/cpp/deadline.h"
#include "bindings/cpp/fifo.h"
#include "bindings/cpp/publisher.h"
#include "shm/client_session.h"

namespace pinnace::client {

class Session;

class Outbox {
 public:
    explicit Outbox(Session& session) : session_(session) {}

    std::expected<void, Error> open(std::string_view name);
    bool is_open() const { return is_open_; }
    const std::string& name() const { return name_; }

    // Without options, as most are: the same as with none set, in fewer steps.
    std::expected<Receipt, Error> publish(std::string_view topic, std::span<const std::byte> body,
                                          Timeout timeout);
    std::expected<Receipt, Error> publish(std::string_view topic, std::span<const std::byte> body,
                                          const MessageOptions& options, Timeout timeout);
    std::expected<Receipt, Error> publish(std::span<const OutgoingMessage> messages, Timeout timeout);
    std::expected<void, Error> check_topic(std::string_view name);

    std::uint64_t published() const { return number_; }
    std::uint64_t persisted();
    std::expected<void, Error> wait_persisted(std::uint64_t number, const Deadline& deadline);
    std::expected<void, Error> wait_read(const Deadline& deadline);

    std::vector<PublishAnswer> take_answers();
    void on_answer(std::function<void(const PublishAnswer&)> call) { call_ = std::move(call); }

    // --- For Session
    void take_answer(const shm::AnswerEntry& entry);
    // After all answers were collected: everything up to this position of the ring is done with.
    void settle(std::uint64_t position);
    // Before the ring is handed to another engine: takes the first commit word back.
    void withhold(shm::ClientSession& former);
    // The attachment was made anew. `former`: the one before, if its ring was not adopted.
    std::expected<void, Error> rejoin(shm::ClientSession* former);
    // Writes what waits outside of the ring, as far as there is room. True: nothing waits.
    bool flush();

 private:
    struct Target {
        std::uint32_t topic = 0;
        std::uint32_t queue = 0;
    };
    struct Sent {
        std::uint64_t end = 0;
        std::uint64_t number = 0;
    };
    // A message of a former ring, kept until there is room in the new one.
    struct Kept {
        shm::PublishFields fields;
        std::vector<std::byte> options;
        std::vector<std::byte> body;
        bool is_batch_end = true;
    };
    struct Withheld {
        shm::SubmitHeader* header = nullptr;
        std::uint64_t commit = 0;
        std::uint64_t position = 0;
    };

    std::expected<Target, Error> target(std::string_view name);
    std::expected<void, Error> check(const OutgoingMessage& message) const;
    shm::PublishFields fields(const Target& target, std::uint64_t number,
                              std::span<const std::byte> options) const;
    // Of the first message of a publish.
    std::uint64_t first_number(const MessageOptions& options) const {
        return options.number.value_or(number_ + 1);
    }
    // Items of consecutive numbers, the last one `number`.
    std::expected<Receipt, Error> send(std::span<const shm::PublishItem> items, std::uint64_t number,
                                       Timeout timeout);
    Receipt note_sent(std::uint64_t end, std::uint64_t number);
    void keep(const shm::ClientSession& former);
    void change_publisher(std::uint32_t id);
    void release();
    Error too_large(std::uint64_t size) const;

    static constexpr std::size_t kAnswersKept = 65'536;
    static constexpr std::uint64_t kSettleMask = 1023;

    Session& session_;
    bool is_open_ = false;
    bool is_fenced_ = false;
    std::string name_;
    std::uint32_t id_ = 0;
    std::uint64_t number_ = 0;     // the last one given out
    std::uint64_t persisted_ = 0;  // all up to this are durable or answered otherwise
    std::uint64_t stored_ = 0;     // the newest that is known to be durable
    std::uint64_t resent_ = 0;     // up to here numbers may come twice: their duplicates are no news
    Fifo<Sent> sent_;
    std::deque<Kept> backlog_;
    Withheld withheld_;
    std::unordered_map<std::string, Target> targets_;
    std::string last_name_;
    Target last_target_;
    std::map<std::uint64_t, ErrorCode> refused_;
    std::deque<PublishAnswer> answers_;
    std::function<void(const PublishAnswer&)> call_;
};

}  // namespace pinnace::client
