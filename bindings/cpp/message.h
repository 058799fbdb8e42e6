// SPDX-License-Identifier: Apache-2.0
// Message: what a subscriber takes, and Lease: what is needed to acknowledge it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace pinnace {

namespace shm {
class LogView;
}
namespace client {
class Subscription;
}

// A message's permanent identity (T2), and its printable form: a decimal number.
struct Bookmark {
    std::uint64_t position = 0;
    std::string text() const { return std::to_string(position); }
    static std::optional<Bookmark> parse(std::string_view text);
    bool operator==(const Bookmark&) const = default;
};

// Ownership of a delivered message. Small and free to copy; good for acknowledging also after the message's
// body is gone, or after a reconnect (where cancel and renew are answered `stale`).
struct Lease {
    std::uint64_t position = 0;
    std::uint64_t lease = 0;  // 0: nothing is to be acknowledged
    std::uint32_t queue = 0;
    std::uint32_t handle = 0;
    std::uint32_t subscription = 0;
};

// Valid until the subscriber's next take() or its end; the strings until the connection's end.
class Message {
 public:
    std::string_view topic() const { return topic_; }
    std::string_view queue() const { return queue_; }
    Bookmark bookmark() const { return {lease_.position}; }
    // 1 for the first delivery.
    std::uint32_t count() const { return count_; }
    // Engine time: nanoseconds since 1970 by the engine's clock.
    std::int64_t published_ns() const { return published_; }
    std::optional<std::int64_t> lease_end_ns() const {
        return deadline_ == kNever ? std::nullopt : std::optional(deadline_);
    }
    // B2: a barrier message needs no acknowledgment.
    bool is_barrier() const { return lease_.lease == 0; }
    const Lease& lease() const { return lease_; }

    std::span<const std::byte> body() const { return body_; }
    std::string_view text() const { return {reinterpret_cast<const char*>(body_.data()), body_.size()}; }
    // Large bodies are read in place, in the engine's memory. To be asked after reading: false, if the engine
    // could not keep it any longer; what was read may then be anything. Small ones are copies and always
    // valid.
    bool valid() const;

 private:
    friend class client::Subscription;
    static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

    Lease lease_;
    std::string_view topic_;
    std::string_view queue_;
    std::span<const std::byte> body_;
    std::int64_t published_ = 0;
    std::int64_t deadline_ = kNever;
    std::uint32_t count_ = 0;
    const shm::LogView* view_ = nullptr;
};

}  // namespace pinnace
