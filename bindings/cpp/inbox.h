// SPDX-License-Identifier: Apache-2.0
// Inbox: a connection's subscriptions and verbs: deliveries out of the ring they share, verbs into the ack
// ring.
//
// Over a reconnect, verbs that the old engine had not read stay in the ring that the new one adopts; those
// that it had read without making them durable are written again, unless it had answered that they did not
// work (rule 23).
//
// Invariants
//   1. Messages of one subscription are handed over in the order of their descriptors: one whose body is gone
//      from the log and was asked for again holds back those after it.
//   2. Descriptors of a subscription that does not exist any more are dropped: their messages have been taken
//      back.
//   3. A verb's number is its index in the ack ring plus base_ + 1, and goes on over reconnects; an entry
//      that repeats a verb has that one's number.
//   4. undurable_ holds, in order, every verb from durable_ on; durable_ moves only when all up to it are
//      durable.
//
// Ordering pairs
//   entry  a commit word that is put back, acquired by the engine's EntryReader.
//
// Thread: as Session.
#pragma once

#include <deque>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "bindings/cpp/deadline.h"
#include "bindings/cpp/fifo.h"
#include "bindings/cpp/subscriber.h"
#include "bindings/cpp/subscription.h"
#include "core/core.h"
#include "shm/client_session.h"

namespace pinnace::client {

class Session;

class Inbox {
 public:
    explicit Inbox(Session& session) : session_(session) {}

    std::expected<std::shared_ptr<Subscription>, Error> subscribe(std::string_view target,
                                                                  const SubscribeOptions& options);
    std::shared_ptr<Subscription> open_for_pulls(std::string_view queue, std::string_view filter);
    std::expected<std::span<const Message>, Error> receive(Subscription& subscription, std::string_view queue,
                                                           std::size_t max, Timeout timeout);
    std::expected<void, Error> replace(Subscription& subscription, const ReplaceOptions& options);
    std::expected<void, Error> unsubscribe(Subscription& subscription);
    // Forgets it without a word to the engine.
    void remove(const Subscription& subscription);
    std::expected<std::span<const Message>, Error> take(Subscription& subscription, std::size_t max,
                                                        Timeout timeout);

    // The number of the last one. `period` is for renew.
    std::expected<std::uint64_t, Error> verb(Verb verb, std::span<const Lease> leases, std::int64_t period);
    // Applies a list and waits until that is durable; an answer for each, which answers() does not show.
    std::expected<std::vector<ErrorCode>, Error> verb_now(Verb verb, std::span<const Lease> leases,
                                                          std::int64_t period, const Deadline& deadline);
    // The number of the last one that was written.
    std::uint64_t written() const;
    // Applied by the engine, or answered otherwise.
    std::uint64_t applied() const;
    std::expected<void, Error> wait_applied(std::uint64_t number, const Deadline& deadline);
    std::uint64_t durable();
    std::expected<void, Error> wait_durable(std::uint64_t number, const Deadline& deadline);

    std::vector<VerbAnswer> take_answers();
    void on_answer(std::function<void(const VerbAnswer&)> call) { call_ = std::move(call); }

    // --- For Session
    void take_answer(const shm::AnswerEntry& entry);
    void end_subscription(std::uint32_t id);
    // After all answers were collected: so many entries of the ack ring are durable.
    void settle(std::uint64_t entry_count);
    // Before the ring is handed to another engine: takes the first unread commit word back, so that no verb
    // is read before the publishes that it refers to.
    void withhold(shm::ClientSession& former);
    std::expected<void, Error> rejoin(bool is_adopted);
    // Somebody still looks at bodies in the log of an attachment that is gone.
    bool has_views() const;

 private:
    struct Withheld {
        std::uint64_t* commit = nullptr;
        std::uint64_t index = 0;
    };
    // Entries of the ring that were written again after a reconnect.
    struct Rewritten {
        std::uint64_t begin = 0;
        std::uint64_t end = 0;
        std::uint64_t former_base = 0;       // of the entries before them
        std::vector<std::uint64_t> numbers;  // which verbs they repeat
    };

    // A list whose answers somebody waits for.
    struct Watched {
        std::uint64_t first = 0;
        std::vector<ErrorCode> codes;
    };

    void list(Verb verb, std::span<const Lease> leases, std::int64_t period, bool with_bookmarks);
    std::expected<std::uint32_t, Error> pull(Subscription& subscription, std::string_view queue,
                                             std::size_t max);
    std::expected<std::span<const Message>, Error> take_pulled(Subscription& subscription, std::size_t count,
                                                               const Deadline& deadline);
    std::expected<void, Error> send_subscribe(Subscription& subscription);
    std::expected<void, Error> fill(Subscription& subscription, std::size_t max);
    std::expected<void, Error> accept(Subscription& subscription, const shm::DeliveryEntry& entry,
                                      bool is_wanted);
    std::expected<void, Error> name(const shm::DeliveryEntry& entry);
    std::expected<void, Error> ask_again(Subscription& subscription, const shm::DeliveryEntry& entry,
                                         const Subscription::Names& names);
    std::expected<void, Error> look_after(Subscription& subscription);
    std::expected<std::uint64_t, Error> write(std::span<shm::AckEntry> entries);
    std::expected<void, Error> rewrite(bool is_adopted);
    void release();
    Subscription* find(std::uint32_t id) const;
    // The number of the last verb that is in the ring; less than written() only when a reconnect failed
    // midway.
    std::uint64_t in_ring() const;
    // How many verbs stand in entries before this one, not counting repeated ones; and which one stands
    // there.
    std::uint64_t count_before(std::uint64_t index) const;
    std::uint64_t number_of(std::uint64_t index) const;

    static constexpr std::size_t kAnswersKept = 65'536;

    Session& session_;
    // Of the last delivery; names live as long as the session.
    Subscription::Names names_;
    std::uint64_t named_topic_ = UINT64_MAX;  // no id
    std::uint64_t named_queue_ = UINT64_MAX;
    std::vector<std::shared_ptr<Subscription>> subscriptions_;
    std::uint64_t base_ = 0;     // may be "negative": sums are modulo 2^64
    std::uint64_t durable_ = 0;  // number
    Fifo<shm::AckEntry> undurable_;
    std::set<std::uint64_t> answered_;  // numbers above durable_ that did not work
    std::vector<Rewritten> rewritten_;
    std::uint64_t read_ = 0;  // number, at the last look before a reconnect
    Withheld withheld_;
    std::vector<shm::AckEntry> list_;
    std::optional<Watched> watched_;
    std::deque<VerbAnswer> answers_;
    std::function<void(const VerbAnswer&)> call_;
};

}  // namespace pinnace::client
