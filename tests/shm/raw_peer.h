// SPDX-License-Identifier: Apache-2.0
// RawPeer: a client that says over its socket whatever a test wants it to say, step by step.
#pragma once

#include <cstring>

#include "tests/shm/test_engine.h"

namespace pinnace::shm::test {

inline HelloMessage good_hello() {
    HelloMessage hello;
    hello.size = sizeof(hello);
    hello.wanted = {64 * 1024, 64, 64, 64};
    hello.flags = kHelloConsumer;
    return hello;
}

// A connection whose both ends the test holds, step by step.
struct RawPeer {
    explicit RawPeer(TestEngine& engine)
        : client(std::move(connect_to(engine.path()).value())),
          handshake(engine.accept(), engine.admission) {}

    template <class Message>
    void say(const Message& message, std::span<const int> descriptors = {}) {
        ASSERT_EQ(send_message(client.get(), bytes_of(message), descriptors), SendStatus::sent);
        handshake.step();
    }
    Received hear() { return receive_message(client.get(), buffer); }
    RefusedMessage refusal() {
        RefusedMessage message;
        const Received received = hear();
        EXPECT_EQ(received.status, ReceiveStatus::message);
        EXPECT_EQ(received.size, sizeof(message));
        EXPECT_TRUE(received.descriptors.empty());
        std::memcpy(&message, buffer, sizeof(message));
        return message;
    }
    RefusalReason reason() { return static_cast<RefusalReason>(refusal().reason); }
    WelcomeMessage welcome(std::vector<Fd>& descriptors) {
        WelcomeMessage message;
        Received received = hear();
        EXPECT_EQ(received.size, sizeof(message));
        std::memcpy(&message, buffer, sizeof(message));
        descriptors = std::move(received.descriptors);
        return message;
    }

    Fd client;
    ServerHandshake handshake;
    std::byte buffer[4096] = {};
};

}  // namespace pinnace::shm::test
