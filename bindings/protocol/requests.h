// SPDX-License-Identifier: Apache-2.0
// Requests: what a client asks of the engine over its session's socket, beside the rings. Each has one
// answer, in order.
//
// An answer begins with the u8 of core's Answer; if that is not `ok`, a text for a person follows and
// nothing else.
//
//   kind             request                                             answer after `ok`
//   resolve          text name                                           u32 topic, u32 queue (kNone: a
//   plain topic)
//   open_publisher   text name                                           u32 publisher, u64 highest number
//   seen
//   subscribe        text target, u64 max_backlog, text filter           u32 subscription, u64 limit
//   replace          u32 subscription, u8 given (bits 1 target, 2 limit, u32 subscription, u64 limit
//                    4 filter), text target, u64 max_backlog, text filter
//   unsubscribe      u32 subscription (its cursor is frozen)             nothing
//   topic_name       u32 topic                                           text name
//   queue_name       u32 queue                                           text name
//   status           nothing                                             text, one JSON object
//   query            u32 queue, u32 count max, text filter               u32 count, then u64 position each
//   leave            nothing: all cursors are frozen, the client goes    nothing
#pragma once

#include <cstdint>

namespace pinnace::protocol {

// On the wire: never change or reuse a value.
enum class RequestKind : std::uint32_t {
    resolve = 1,
    open_publisher = 2,
    subscribe = 3,
    replace = 4,
    unsubscribe = 5,
    topic_name = 6,
    queue_name = 7,
    status = 8,
    query = 9,
    leave = 10,
};

}  // namespace pinnace::protocol
