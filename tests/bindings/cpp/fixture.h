// SPDX-License-Identifier: Apache-2.0
// WithEngine: a test with a fake engine on a socket in a directory of its own, and helpers that fail loudly.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bindings/cpp/pinnace.h"
#include "tests/bindings/cpp/fake_engine.h"

namespace pinnace::client {

template <class T>
T must(std::expected<T, Error> result) {
    if (!result) {
        throw std::runtime_error("must: " + std::string(to_text(result.error().code)) + ": " +
                                 result.error().text);
    }
    if constexpr (!std::is_void_v<T>) return std::move(*result);
}

class WithEngine : public ::testing::Test {
 protected:
    WithEngine() {
        std::string name = ::testing::TempDir() + "pinnace_cpp_XXXXXX";
        directory_ = mkdtemp(name.data());
        engine_ = make_engine();
    }
    ~WithEngine() override {
        engine_.reset();
        std::filesystem::remove_all(directory_);
    }

    std::unique_ptr<FakeEngine> make_engine() {
        return std::make_unique<FakeEngine>(store_, directory_ + "/socket");
    }
    // Another life, on the same store.
    void next_life() {
        engine_ = make_engine();
        engine_->start();
    }
    ConnectionOptions options() const {
        ConnectionOptions options;
        options.socket = directory_ + "/socket";
        options.wait = ConnectionOptions::Wait::block;
        options.submit_size = 1u << 20;
        options.delivery_count = 1024;
        options.acknowledgment_count = 1024;
        return options;
    }
    Connection connect() const { return must(Connection::open(options())); }

    // Until something holds that only the engine's thread may look at.
    void look_until(const std::function<bool()>& holds) const {
        for (bool held = false; !held;) engine_->look([&] { held = holds(); });
    }

    // Numbers that have been stored, in order.
    std::vector<std::uint64_t> stored() const {
        std::vector<std::uint64_t> numbers;
        for (const FakeMessage& message : store_.messages) numbers.push_back(message.number);
        return numbers;
    }
    static std::vector<std::uint64_t> up_to(std::uint64_t last) {
        std::vector<std::uint64_t> numbers;
        for (std::uint64_t i = 1; i <= last; ++i) numbers.push_back(i);
        return numbers;
    }

    std::string directory_;
    FakeStore store_;
    std::unique_ptr<FakeEngine> engine_;
};

}  // namespace pinnace::client
