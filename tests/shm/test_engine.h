// SPDX-License-Identifier: Apache-2.0
// TestEngine: the engine's side of sessions without an engine: listener, regions, admission, no queues.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "shm/client_session.h"
#include "shm/listener.h"
#include "shm/server_handshake.h"

namespace pinnace::shm::test {

class TempFolder {
 public:
    TempFolder() {
        std::string path = std::filesystem::temp_directory_path() / "pinnace-shm-XXXXXX";
        path_ = mkdtemp(path.data());
    }
    ~TempFolder() { std::filesystem::remove_all(path_); }
    TempFolder(const TempFolder&) = delete;
    TempFolder& operator=(const TempFolder&) = delete;
    std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
    std::string path_;
};

inline LogGeometry small_log() {
    LogGeometry log;
    log.small = {64 * 1024, 4};
    log.large = {64 * 1024, 16};
    log.reread = {64 * 1024, 8};
    log.message_size_max = 200 * 1024;
    return log;
}

inline EngineOptions small_engine() {
    EngineOptions options;
    options.log = small_log();
    options.message_size_max = small_log().message_size_max;
    options.memory.huge_pages = false;
    options.memory.lock = false;
    return options;
}

class TestEngine {
 public:
    explicit TestEngine(const EngineOptions& options = small_engine(), const AdmissionLimits& limits = {})
        : regions(std::move(EngineRegions::create(options).value())),
          admission(*regions, limits),
          listener(std::make_unique<Listener>(Listener::create(path()).value())) {}
    // Another life at the same path.
    TestEngine(const TestEngine& former, const EngineOptions& options)
        : folder(former.folder),
          regions(std::move(EngineRegions::create(options).value())),
          admission(*regions, AdmissionLimits{}),
          listener(std::make_unique<Listener>(Listener::create(path()).value())) {}

    std::string path() const { return folder->file("s"); }

    Fd accept() {
        EXPECT_TRUE(wait_readable(listener->fd(), monotonic_ns() + 10'000'000'000));
        std::string error;
        auto fd = listener->accept(error);
        EXPECT_TRUE(fd.has_value()) << error;
        return fd ? std::move(*fd) : Fd();
    }

    // Serves one connection until its handshake is over.
    std::unique_ptr<ServerSession> serve_one(std::string* failure = nullptr) {
        ServerHandshake handshake(accept(), admission);
        using State = ServerHandshake::State;
        while (handshake.state() != State::done && handshake.state() != State::failed) {
            if (!wait_readable(handshake.fd(), monotonic_ns() + 10'000'000'000)) break;
            handshake.step();
        }
        if (failure != nullptr) *failure = handshake.failure();
        if (handshake.state() != State::done) return nullptr;
        auto session = handshake.take_session();
        if (session->is_consumer()) regions->log().pins().add(session->pins());
        return session;
    }

    ClientOptions client_options() const {
        ClientOptions options;
        options.socket_path = path();
        options.name = "test";
        options.wanted = {64 * 1024, 64, 64, 64};
        return options;
    }

    std::shared_ptr<TempFolder> folder = std::make_shared<TempFolder>();
    std::unique_ptr<EngineRegions> regions;
    Admission admission;
    std::unique_ptr<Listener> listener;
};

// A session's two ends in one process.
struct Pair {
    std::unique_ptr<ServerSession> server;
    std::unique_ptr<ClientSession> client;
    ConnectError error;
    std::string failure;
};

inline Pair connect(TestEngine& engine, const ClientOptions& options, ClientSession* former = nullptr) {
    Pair pair;
    std::thread client([&] {
        auto session = ClientSession::connect(options, former);
        if (session) {
            pair.client = std::move(*session);
        } else {
            pair.error = session.error();
        }
    });
    pair.server = engine.serve_one(&pair.failure);
    client.join();
    return pair;
}
inline Pair connect(TestEngine& engine) { return connect(engine, engine.client_options()); }

inline std::span<const std::byte> bytes(std::string_view text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}
inline std::string text(const std::byte* data, std::size_t size) {
    return std::string(reinterpret_cast<const char*>(data), size);
}

// How many descriptors this process has open, and how many mappings of pinnace regions.
inline std::size_t descriptor_count() {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
    return count;
}
std::size_t region_mapping_count();

// A seed that a failing run can be repeated with: PINNACE_SEED, or the same one always.
inline std::uint64_t seed() {
    const char* given = std::getenv("PINNACE_SEED");
    std::uint64_t value = given != nullptr ? std::strtoull(given, nullptr, 16) : 0;
    return value != 0 ? value : 0x9e3779b97f4a7c15;
}

// A small generator of our own, so that a seed means the same everywhere.
class Random {
 public:
    explicit Random(std::uint64_t start) : state_(start | 1) {}
    std::uint64_t next() {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
        return state_ * 0x2545f4914f6cdd1d;
    }
    std::uint64_t below(std::uint64_t bound) { return (next() >> 11) % bound; }

 private:
    std::uint64_t state_;
};

}  // namespace pinnace::shm::test
