// SPDX-License-Identifier: Apache-2.0
// Requests: what a client asks of the engine over its session's socket, beside the rings. Each has one
// answer, in order.
//
// An answer begins with the u8 of core's Answer; if that is not `ok`, a text for a person follows and
// nothing else.
//
//   kind             request                                         answer after `ok`
//   resolve          text name                                       u32 topic, u32 queue (kNone: publishes
//   need not say that they came by its name)
//   open_publisher   text name                                       u32 publisher, u64 highest number seen
//   subscribe        text target, u64 max_backlog, text filter       u32 subscription, u64 limit
//   replace          u32 subscription, u8 given (bits 1 target,      u32 subscription, u64 limit
//                    2 limit, 4 filter), text target,
//                    u64 max_backlog, text filter
//   unsubscribe      u32 subscription (its cursor is frozen)         nothing
//   topic_name       u32 topic                                       text name
//   queue_name       u32 queue                                       text name
//   status           nothing                                         text, one JSON object
//   leave            nothing: all cursors are frozen, the client     nothing
//                    goes
//   find_queue       text name                                       u32 queue
//   query            text queue, text where, u64 count max           part of a list
//   more             nothing                                         the next part
//   pull             u32 subscription or kNone, text queue,          u32 subscription, u32 count: so many
//                    u32 count max, text filter                      deliveries of it are under way
//   verbs_where      u8 verb, text queue, text where                 u64 count
//   purge            text queue                                      u64 count
//   redrive          text from, text to                              u64 count
//
// The last three are answered when their effects are durable. A part of a list is an u8 (1: there is more,
// ask
// for it) and bytes; the bytes of all parts together are the messages: u64 position, u32 topic, i64 publish
// time, u8 (1: the body could be read), text body each. A new query ends the one before.
#pragma once

#include <cstdint>

namespace pinnace::protocol {

// What one pull takes at most (PL1); a list's bytes in one part.
inline constexpr std::uint32_t kPullCountMax = 1024;
inline constexpr std::size_t kPartSizeMax = 56 * 1024;

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
    // 9 was a query that answered positions only.
    leave = 10,
    find_queue = 11,
    query = 12,
    more = 13,
    pull = 14,
    verbs_where = 15,
    purge = 16,
    redrive = 17,
};

}  // namespace pinnace::protocol
