// SPDX-License-Identifier: Apache-2.0
// Untrusted: a value that a peer wrote, loaded once, which gives itself away only to a check; and Violation:
// what a peer did against the protocol.
//
// Architecture rule 3: what a peer can write is loaded once into a local, range-checked, then used. The type
// makes the middle step hard to forget: there is no conversion to the number inside. Both directions use it,
// since a client trusts the engine as little as the engine trusts it.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>

namespace pinnace::shm {

template <std::unsigned_integral T>
class Untrusted {
 public:
    explicit constexpr Untrusted(T value) : value_(value) {}

    constexpr std::optional<T> at_most(T maximum) const {
        return value_ <= maximum ? std::optional<T>(value_) : std::nullopt;
    }
    constexpr std::optional<T> between(T minimum, T maximum) const {
        return value_ >= minimum && value_ <= maximum ? std::optional<T>(value_) : std::nullopt;
    }
    constexpr bool equals(T expected) const { return value_ == expected; }
    // For what is handed on unread, to be looked up or compared by somebody who checks it: ids, numbers,
    // handles. Never for a size, an offset or a count.
    constexpr T as_told() const { return value_; }

 private:
    T value_;
};

// What a peer did that an honest one never does. The peer is detached with one log line that says this.
enum class ViolationKind : std::uint8_t {
    none = 0,
    frame_type,       // a submit frame of a type that does not exist
    frame_flags,      // flags that do not exist or do not go together
    frame_size,       // sizes that exceed the frame limit or the lap
    padding,          // padding that does not end where the lap ends
    fragment,         // fragments out of order, or whose sizes do not add up
    batch,            // a batch larger than the message limit, or mixed up with fragments
    message_size,     // a message larger than the session's limit
    commit_word,      // neither empty, nor of this lap, nor of the one before
    cursor,           // a cursor that went back or past what was written
    ack_verb,         // a verb that does not exist
    ack_list,         // a list of acknowledgments longer than half the ring
    submit_position,  // an acknowledgment that refers to a publish that cannot be
    pin,              // a pin that names more slots than a message can cover
    descriptor,       // a delivery that points outside of the log
    message,          // a message over the socket that is malformed or out of turn
    mark,             // a cumulative mark that went back or ahead of what was written
};

struct Violation {
    ViolationKind kind = ViolationKind::none;
    std::uint64_t where = 0;  // position or index in the ring
    std::uint64_t value = 0;  // what stood there

    explicit operator bool() const { return kind != ViolationKind::none; }
    std::string text() const;
};

// What a look into a ring found.
enum class ReadStatus : std::uint8_t { nothing, ready, violation };

}  // namespace pinnace::shm
