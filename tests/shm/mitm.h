// SPDX-License-Identifier: Apache-2.0
// Middleman: stands between a client and an engine and changes what the engine says in the handshake.
#pragma once

#include <functional>
#include <thread>

#include "tests/shm/raw_peer.h"

namespace pinnace::shm::test {

class Middleman {
 public:
    using Change = std::function<void(WelcomeMessage&, std::vector<Fd>&)>;

    explicit Middleman(TestEngine& engine)
        : engine_(engine), listener_(std::make_unique<Listener>(Listener::create(path()).value())) {}

    std::string path() const { return engine_.folder->file("m"); }

    // One connection, with a changed welcome. What the client made of it is returned.
    std::expected<std::unique_ptr<ClientSession>, ConnectError> connect(ClientOptions options,
                                                                        const Change& change) {
        options.socket_path = path();
        std::expected<std::unique_ptr<ClientSession>, ConnectError> result;
        std::thread client([&] { result = ClientSession::connect(options); });
        relay(change);
        client.join();
        return result;
    }
    // The session at the engine's side of the last connection, if it came so far.
    ServerSession* server() const { return server_.get(); }

 private:
    void relay(const Change& change) {
        EXPECT_TRUE(wait_readable(listener_->fd(), -1));
        std::string error;
        Fd client = std::move(*listener_->accept(error));
        RawPeer engine(engine_);
        std::byte buffer[4096];
        EXPECT_TRUE(wait_readable(client.get(), -1));
        Received hello = receive_message(client.get(), buffer);
        EXPECT_EQ(send_message(engine.client.get(), {buffer, hello.size}), SendStatus::sent);
        engine.handshake.step();
        std::vector<Fd> descriptors;
        WelcomeMessage welcome = engine.welcome(descriptors);
        change(welcome, descriptors);
        std::vector<int> numbers;
        for (const Fd& fd : descriptors) numbers.push_back(fd.get());
        send_message(client.get(), bytes_of(welcome), numbers);
        descriptors.clear();
        wait_readable(client.get(), -1);
        Received mapped = receive_message(client.get(), buffer);
        if (mapped.status != ReceiveStatus::message) return;
        EXPECT_EQ(send_message(engine.client.get(), {buffer, mapped.size}), SendStatus::sent);
        engine.handshake.step();
        Received admitted = engine.hear();
        send_message(client.get(), {engine.buffer, admitted.size});
        if (engine.handshake.state() == ServerHandshake::State::done)
            server_ = engine.handshake.take_session();
        client_socket_ = std::move(client);
    }

    TestEngine& engine_;
    std::unique_ptr<Listener> listener_;
    std::unique_ptr<ServerSession> server_;
    Fd client_socket_;
};

}  // namespace pinnace::shm::test
