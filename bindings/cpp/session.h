// SPDX-License-Identifier: Apache-2.0
// Session: what stands behind a Connection: one attachment to the engine after the other, requests, and the
// names of ids. What is published lies in Outbox, what is taken and acknowledged in Inbox.
//
// Invariants
//   1. While `is_down()`, the rings of the last attachment are still there and are written to: a new engine
//      adopts them, or their contents are written into the new ones (rules 23, 24).
//   2. Whatever comes from the engine was checked by shm; ids and texts are looked at here. A lie makes the
//      session `broken` for good; it never stops the process.
//   3. Answers are collected before a mark is believed, so that a mark never passes an answer.
//
// Ordering pairs
//   stopping  the control page's word, released by the engine before it looks for frozen cursors.
//
// Thread: one at a time.
#pragma once

#include <expected>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bindings/cpp/connection.h"
#include "bindings/cpp/deadline.h"
#include "bindings/cpp/inbox.h"
#include "bindings/cpp/outbox.h"
#include "bindings/protocol/requests.h"
#include "bindings/protocol/wire.h"
#include "shm/client_session.h"

namespace pinnace::client {

// From core's Answer, as a peer tells it.
ErrorCode code_of_answer(std::uint32_t answer);

inline std::unexpected<Error> error(ErrorCode code, std::string text = {}) {
    return std::unexpected(Error{code, std::move(text)});
}

class Session {
 public:
    static std::expected<std::shared_ptr<Session>, Error> open(const ConnectionOptions& options);
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    // Of every call from outside: not forked, not closed, not broken.
    bool is_usable() const { return fork_count_ == current_fork_count() && !is_closed_ && !is_broken_; }
    Error why_unusable() const;
    // This process is a child of the owner: what is shared with the engine is not mapped here.
    bool is_inert() const { return fork_count_ != current_fork_count(); }

    shm::ClientSession& shm() { return *shm_; }
    const shm::ClientSession& shm() const { return *shm_; }
    Outbox& outbox() { return outbox_; }
    Inbox& inbox() { return inbox_; }
    bool is_down() const { return is_down_; }
    std::uint64_t reconnect_count() const { return reconnect_count_; }

    // Looks whether the engine is there, at most every few milliseconds; where it is not, tries once to
    // connect anew if it is time for that.
    void look() {
        const std::int64_t now = coarse_now_ns();
        if (now - looked_at_ns_ >= kLookPauseNs) look_now(now);
    }

    // Connects anew, if that is needed; `timed_out` if there was no engine up to the deadline.
    std::expected<void, Error> ensure(const Deadline& deadline) {
        if (!is_down_) return {};
        return reconnect(deadline);
    }

    // True: ready() said so; false: the time is over. Connects anew in between. The function must ask shm()
    // each time.
    template <class Ready>
    std::expected<bool, Error> wait(Ready&& ready, const Deadline& deadline) {
        for (;;) {
            if (const auto connected = ensure(deadline); !connected) {
                if (connected.error().code == ErrorCode::timed_out) return false;
                return std::unexpected(connected.error());
            }
            if (ready()) return true;
            if (deadline.is_zero()) return false;
            if (shm_->spin(ready)) return true;
            const auto result = shm_->wait([&] { return ready() || is_ending(); }, deadline.left_ns());
            if (ready()) return true;
            if (result == shm::WaitResult::disconnected || is_ending()) {
                lose();
                if (is_broken_) return std::unexpected(why_unusable());
            } else if (result == shm::WaitResult::timed_out) {
                return false;
            }
        }
    }

    // The answer's bytes after `ok`. Connects anew and asks again if the engine goes away meanwhile.
    std::expected<std::vector<std::byte>, Error> request(protocol::RequestKind kind,
                                                         const protocol::WireWriter& payload,
                                                         const Deadline& deadline);
    // The same without connecting anew, for what belongs to this attachment.
    std::expected<std::vector<std::byte>, Error> request_once(protocol::RequestKind kind,
                                                              const protocol::WireWriter& payload,
                                                              Timeout timeout);

    // Takes all answers out of their ring.
    void collect();
    // The engine has gone: from here on `is_down()`.
    void lose();
    void fail(ErrorCode code, std::string text);

    // Names live as long as the session.
    std::expected<std::string_view, Error> topic_name(std::uint32_t topic) {
        return name(protocol::RequestKind::topic_name, topic_names_, topic);
    }
    std::expected<std::string_view, Error> queue_name(std::uint32_t queue) {
        return name(protocol::RequestKind::queue_name, queue_names_, queue);
    }

    // Orderly: freezes what was not taken, and says so.
    void leave();
    void close() {
        leave();
        is_closed_ = true;
    }
    // Ends without a word.
    void abandon();
    // Until the engine has read what was written to the rings: a request made after it comes after them
    // (L13).
    std::expected<void, Error> let_read(const Deadline& deadline);

 private:
    using Names = std::unordered_map<std::uint32_t, std::string>;
    static constexpr std::int64_t kLookPauseNs = 4'000'000;
    static constexpr std::int64_t kStopPatienceNs = 10'000'000'000;
    static constexpr Timeout kRequestTimeout = std::chrono::seconds(10);

    Session(const ConnectionOptions& options, std::unique_ptr<shm::ClientSession> shm);
    static std::uint32_t current_fork_count();
    static shm::ClientOptions shm_options(const ConnectionOptions& options);

    bool is_ending() const {
        const std::uint64_t stopping =
            shm::shared(shm_->control().stopping).load(std::memory_order_acquire);  // pair: stopping
        return stopping != 0 || shm_->state() == shm::SessionState::ended;
    }
    void look_now(std::int64_t now);
    std::expected<void, Error> reconnect(const Deadline& deadline);
    std::expected<void, Error> rejoin();
    bool is_still_there();
    std::expected<std::string_view, Error> name(protocol::RequestKind kind, Names& names, std::uint32_t id);

    ConnectionOptions options_;
    std::unique_ptr<shm::ClientSession> shm_;
    // Attachments of the past whose logs are still looked at by views that the application holds.
    std::vector<std::unique_ptr<shm::ClientSession>> former_;
    Outbox outbox_;
    Inbox inbox_;
    Names topic_names_;
    Names queue_names_;
    std::uint32_t fork_count_;
    bool is_down_ = false;
    bool is_closed_ = false;
    bool is_broken_ = false;
    bool is_rejoining_ = false;
    Error broken_;
    std::uint64_t reconnect_count_ = 0;
    std::int64_t looked_at_ns_ = 0;
    std::int64_t lost_at_ns_ = 0;
    std::int64_t next_try_ns_ = 0;
    std::int64_t pause_ns_ = 0;
};

}  // namespace pinnace::client
