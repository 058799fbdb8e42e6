// SPDX-License-Identifier: Apache-2.0
// Socket: messages with descriptors and credentials over a Unix SOCK_SEQPACKET socket, never blocking.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "shm/memory.h"
#include "shm/protocol.h"

namespace pinnace::shm {

inline constexpr std::size_t kDescriptorsMax = 8;
inline constexpr std::size_t kMessageSizeOverall = sizeof(PayloadHeader) + kPayloadSizeMax;

struct PeerCredentials {
    pid_t pid = 0;
    uid_t uid = 0;
    gid_t gid = 0;
};

enum class ReceiveStatus : std::uint8_t {
    message,
    would_block,
    closed,
    truncated,         // larger than any message of ours
    descriptors_lost,  // MSG_CTRUNC: some did not arrive (too many, or no room in this process); none is kept
    failed,
};

struct Received {
    ReceiveStatus status = ReceiveStatus::failed;
    std::size_t size = 0;  // bytes in the caller's buffer
    std::vector<Fd> descriptors;
    std::optional<PeerCredentials> credentials;  // of the sender, by the kernel, where asked for
};

Received receive_message(int socket, std::span<std::byte> buffer);

enum class SendStatus : std::uint8_t { sent, would_block, closed, failed };
SendStatus send_message(int socket, std::span<const std::byte> bytes, std::span<const int> descriptors = {});

// The bytes of a message that is one struct.
template <class Message>
std::span<const std::byte> bytes_of(const Message& message) {
    return std::as_bytes(std::span<const Message, 1>(&message, 1));
}

std::expected<PeerCredentials, std::string> peer_credentials(int socket);
// From now on received messages carry their sender's credentials.
std::expected<void, std::string> ask_for_credentials(int socket);

// Waits until the socket is readable, has hung up, or the deadline (CLOCK_MONOTONIC, -1: none) is over:
// false.
bool wait_readable(int socket, std::int64_t deadline_ns);
std::int64_t monotonic_ns();

// The address of a path, or why it cannot be one.
std::expected<Fd, std::string> connect_to(const std::string& path);

}  // namespace pinnace::shm
