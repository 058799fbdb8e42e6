// SPDX-License-Identifier: Apache-2.0
// Connection: a process's attachment to an engine. Publishers and subscribers are made from it and share it.
//
// When the engine stops or dies, the connection notices during the next call, waits for the engine at its
// socket with growing pauses, and goes on: publishes that were not persisted are sent again (and never stored
// twice), acknowledgments that were not read are handed in, subscriptions are made again (C4). All that
// happens inside of calls that may wait; the library has no thread of its own. What the application sees of
// it is a pause, and messages that come again as the contract allows.
//
// Threads: a connection with all that was made from it belongs to one thread at a time. Open one for each
// thread. Ownership: publishers and subscribers keep the connection alive; it ends with the last of them, in
// order: what was written is read by the engine, what was not taken goes back uncounted. Nothing waits for
// the disk then; close() can. fork(): in the child every call fails with `forked`; the parent notices
// nothing.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <string>

#include "bindings/cpp/error.h"

namespace pinnace {

namespace client {
class Session;
}

struct ConnectionOptions {
    enum class Wait : std::uint8_t {
        automatic,  // block with fewer than four cores, else yield
        spin,       // burns a core, reacts at once
        yield,      // spins a little, then yields the core
        block,      // spins a little, then sleeps until the engine rings
    };

    std::string socket;  // empty: default_socket_path()
    std::string name;    // shown by `pinnace status`
    Wait wait = Wait::automatic;

    bool subscribes = true;                       // false: publishes only, and maps no bodies
    std::uint64_t submit_size = 32u << 20;        // bytes of the submit ring, a power of two
    std::uint64_t delivery_count = 65'536;        // deliveries that can wait to be taken, a power of two
    std::uint64_t acknowledgment_count = 65'536;  // acknowledgments that can wait to be read, a power of two
    Timeout connect_timeout = std::chrono::seconds(10);  // for open(); what is not there yet is waited for

    bool reconnect = true;  // false: the end of the engine is an error of each call
    Timeout pause_min = std::chrono::milliseconds(1);  // between two tries, doubled up to pause_max
    Timeout pause_max = std::chrono::milliseconds(100);
};

// $PINNACE_SOCKET, else pinnace/pinnace.sock in $XDG_STATE_HOME, else in ~/.local/state.
std::string default_socket_path();

class Connection {
 public:
    // Waits for an engine that is not there yet, up to connect_timeout.
    static std::expected<Connection, Error> open(const ConnectionOptions& options = {});

    // Ends orderly, after everything published and acknowledged is durable, or the time is over.
    std::expected<void, Error> close(Timeout timeout = kForever);

    // Ends as if this process had been killed at this instant: nothing more is said or waited for, and what
    // was
    // not taken counts as such. The engine notices when all that was made from the connection is destroyed.
    // For tests and scenarios.
    void abandon();

    // The engine's status as one JSON object.
    std::expected<std::string, Error> status();

    // How often the connection was made anew, and the number of the engine's life that it is with.
    std::uint64_t reconnect_count() const;
    std::uint64_t epoch() const;
    // As far as known without a look.
    bool is_connected() const;

    // Looks whether the engine is still there, and connects anew if it is not; also collects answers. For
    // threads that make no other calls for a while.
    std::expected<void, Error> poll(Timeout timeout = Timeout::zero());

    // For an event loop: a descriptor that is readable when something may have come. Before each wait: arm();
    // false means that something is there already. After it: disarm().
    int event_fd() const;
    bool arm();
    void disarm();

 private:
    friend class Publisher;
    friend class QueueClient;
    friend class Subscriber;
    explicit Connection(std::shared_ptr<client::Session> session) : session_(std::move(session)) {}
    std::shared_ptr<client::Session> session_;
};

}  // namespace pinnace
