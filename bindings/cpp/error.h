// SPDX-License-Identifier: Apache-2.0
// Error: what can go wrong for a client, as a code to act on and a sentence to read; and the time-outs.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace pinnace {

enum class ErrorCode : std::uint8_t {
    none = 0,

    // What the caller chose, or did.
    would_block,  // no room, and the time-out was 0 (C5)
    timed_out,
    too_large,    // above the limit; the text names it
    bad_request,  // the text says what is wrong
    forked,       // this is a child of the process that opened the connection: open one of your own
    closed,       // close() or unsubscribe() was called

    // What the engine answered.
    unknown_topic,  // T9
    bad_filter,
    bad_group,  // F1
    bad_dedup,  // U2
    bad_delay,  // F9
    duplicate,  // was accepted before (T7, U1); a publish is done all the same
    gap,        // the engine does not know the messages before this one (T7)
    fenced,     // a newer session of this user owns the publisher's name (T7)
    unknown,    // the message has left already (L8)
    not_owner,  // strict leasing: leased to somebody else (L5)
    stale,      // not the current lease (L6, L10)
    deferred,   // kept until the message enters (L8)
    range,      // a period out of range (L10)
    ended,      // the engine ended the subscription

    // The world.
    disconnected,  // the engine is not there, or has stopped; with reconnect = false also after that
    refused,       // by the engine, at the hello; the text says why
    broken,        // the engine does not keep to the protocol
    local,         // this process lacks something: descriptors, memory
};

// "would_block", as scripts read it.
std::string_view to_text(ErrorCode code);

struct Error {
    ErrorCode code = ErrorCode::none;
    std::string text;  // a whole sentence; may be empty where the code says it all
};

// Time-outs: 0 is not to wait at all.
using Timeout = std::chrono::nanoseconds;
inline constexpr Timeout kForever = Timeout::max();

}  // namespace pinnace
