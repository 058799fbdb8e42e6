// SPDX-License-Identifier: Apache-2.0
// Protocol: the messages over a session's SOCK_SEQPACKET socket.
//
//   client                                    engine
//   hello (+ its old `up` memfd)       ──▶    checks versions, sizes, quotas; only then allocates
//                                      ◀──    refused, naming both versions; or welcome + memfds + wake end
//   maps what it got; mapped(nonce)    ──▶    seals `up`, verifies, maps it read-only, populates; the
//   kernel's
//                                             credentials on this message must name the process of the pidfd
//                                      ◀──    admitted
//   request(type, id, bytes)           ──▶    any number, both sides bounded
//                                      ◀──    answer(type, id, bytes); event(type, bytes)
//
// The first 32 bytes of hello and all of refused never change, so that any two versions understand a refusal.
#pragma once

#include <cstdint>
#include <type_traits>

#include "shm/layout.h"
#include "shm/log_writer.h"

namespace pinnace::shm {

inline constexpr std::uint32_t kProtocolVersion = 1;
inline constexpr std::uint64_t kHelloMagic = 0x314543414e4e4950;  // "PINNACE1"
inline constexpr std::uint32_t kByteOrderMark = 0x01020304;
inline constexpr std::uint64_t kFeaturesKnown =
    0;  // bits that both sides must know if one of them asks for them
inline constexpr std::size_t kPayloadSizeMax = 60 * 1024;
inline constexpr std::size_t kClientNameSize = 64;

enum class MessageKind : std::uint32_t {
    hello = 1,
    welcome = 2,
    refused = 3,
    mapped = 4,
    admitted = 5,
    request = 16,
    answer = 17,
    event = 18,
};

// Why a hello was refused.
enum class RefusalReason : std::uint32_t {
    none = 0,
    not_pinnace = 1,  // magic, byte order or word size
    version = 2,      // protocol or layout
    malformed = 3,
    too_many = 4,  // a quota
    no_memory = 5,
    descriptors = 6,  // descriptors were lost on the way, or came where none should
    adoption = 7,     // the old region cannot be taken over: connect anew
    credentials = 8,  // the process that answers is not the one that connected
    sealing = 9,      // a region is not what it was when it was sent
    stopping = 10,    // the engine is about to stop
};

inline constexpr std::uint32_t kHelloConsumer = 1;  // wants the log and a delivery ring of the wanted size
inline constexpr std::uint32_t kHelloAdopt = 2;     // brings an `up` region of a former session

struct HelloMessage {
    std::uint32_t kind = static_cast<std::uint32_t>(MessageKind::hello);
    std::uint32_t size = 0;
    std::uint64_t magic = kHelloMagic;
    std::uint32_t protocol_version = kProtocolVersion;
    std::uint32_t layout_version = kLayoutVersion;
    std::uint32_t byte_order = kByteOrderMark;
    std::uint32_t word_size = sizeof(void*);
    // From here on as the versions say.
    std::uint64_t features = 0;
    SessionGeometry wanted;  // with kHelloAdopt: what the old region has
    std::uint32_t flags = 0;
    std::uint32_t reserved = 0;
    // Adoption: where to go on reading, and the old ring's key.
    std::uint64_t submit_position = 0;
    std::uint64_t ack_index = 0;
    std::uint64_t ring_key = 0;
    char client_name[kClientNameSize] = {};
};
static_assert(sizeof(HelloMessage) == 168 && offsetof(HelloMessage, features) == 32);
static_assert(std::has_unique_object_representations_v<HelloMessage>);

struct RefusedMessage {
    std::uint32_t kind = static_cast<std::uint32_t>(MessageKind::refused);
    std::uint32_t reason = 0;
    std::uint32_t protocol_version = kProtocolVersion;
    std::uint32_t layout_version = kLayoutVersion;
    char text[240] = {};  // ends with a zero byte
};
static_assert(sizeof(RefusedMessage) == 256);

inline constexpr std::uint32_t kWelcomeConsumer = 1;
inline constexpr std::uint32_t kWelcomeAdopted = 2;

// Its descriptors, in this order: wake end, down, control; up unless adopted; small, large, reread if a
// consumer.
struct WelcomeMessage {
    std::uint32_t kind = static_cast<std::uint32_t>(MessageKind::welcome);
    std::uint32_t size = 0;
    std::uint32_t protocol_version = kProtocolVersion;
    std::uint32_t layout_version = kLayoutVersion;
    std::uint64_t features = 0;
    std::uint64_t session_id = 0;
    std::uint64_t nonce = 0;
    std::uint64_t ring_key = 0;
    std::uint64_t epoch = 0;
    std::uint8_t engine_id[16] = {};
    SessionGeometry geometry;
    LogGeometry log;
    std::uint64_t message_size_max = 0;  // of this session
    std::uint32_t flags = 0;
    std::uint32_t wait_mode = 0;  // WaitMode of the dispatcher
};
static_assert(sizeof(WelcomeMessage) == 176 && std::has_unique_object_representations_v<WelcomeMessage>);

struct MappedMessage {
    std::uint32_t kind = static_cast<std::uint32_t>(MessageKind::mapped);
    std::uint32_t reserved = 0;
    std::uint64_t nonce = 0;
};
static_assert(sizeof(MappedMessage) == 16);

struct AdmittedMessage {
    std::uint32_t kind = static_cast<std::uint32_t>(MessageKind::admitted);
    std::uint32_t reserved = 0;
    std::uint64_t session_id = 0;
};
static_assert(sizeof(AdmittedMessage) == 16);

// request, answer and event; the payload follows, at most kPayloadSizeMax bytes. Types and payloads are the
// engine's and the client library's own affair.
struct PayloadHeader {
    std::uint32_t kind = 0;
    std::uint32_t type = 0;
    std::uint64_t id = 0;  // the request's, 0 in events
};
static_assert(sizeof(PayloadHeader) == 16);

}  // namespace pinnace::shm
