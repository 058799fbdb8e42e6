// SPDX-License-Identifier: Apache-2.0
// Engine: the whole engine as one object, for `pinnace serve` and for programs that embed it. Opens and
// recovers the journal, makes the shared memory, listens, and runs the threads: dispatcher, control,
// journal and its helper, and a waker where the dispatcher never sleeps but clients do.
//
// Thread-safe where a function says so; everything else from the thread that made it. Errors are whole
// sentences that name the place and the mend.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/definitions.h"
#include "core/types.h"

namespace pinnace {

enum class WaitMode : std::uint8_t {
    automatic,  // block where cores are fewer than busy threads, else spin, then yield
    spin,
    yield,
    block,
};

struct EngineOptions {
    std::string data_directory;              // made if it is not there
    std::string socket_path;                 // empty: pinnace.sock in the data directory
    Definitions definitions;                 // topics, queues, message types, actions
    std::optional<unsigned> dispatcher_cpu;  // a core that cannot be had is an error
    std::optional<unsigned> journal_cpu;
    WaitMode wait = WaitMode::automatic;
    bool pin = true;  // false: pin nothing that was not named

    std::uint32_t message_size_max = 16u << 20;    // of one publish, batches included
    std::uint64_t segment_size = 256u << 20;       // of the journal; at least four messages
    std::uint64_t first_segment_size = 64u << 20;  // written out at the start, if there is none ready
    std::uint32_t ring_entry_count = 65'536;       // deliveries untaken by one session (D4)
    std::uint64_t log_small_size = 64u << 20;      // of the delivery log's areas, powers of two
    std::uint64_t log_large_size = 128u << 20;
    std::uint64_t log_reread_size = 64u << 20;
    std::uint32_t session_count_max_per_user = 1024;
    std::uint64_t dedup_count_max = 16u << 20;  // ids that a queue keeps (U4)
    // C4: after an unclean stop deliveries wait until all clients of the former life are back or dead, at
    // most so long. A client that is back later finds its unread acknowledgments late: they count if the
    // message was not delivered since.
    Duration rejoin_grace = 1'000'000'000;
    bool io_uring = true;  // false: pwritev2
    std::uint32_t message_count_hint = 0;

    // A clock that moves only by set_clock (scenarios): starts here.
    std::optional<Time> manual_clock;

    // One line for the operator, without a newline; called from any of the engine's threads.
    std::function<void(std::string_view)> log_line;
};

// What a start found and chose, for the line that says that the engine is ready.
struct EngineReport {
    std::string socket_path;
    std::string data_directory;
    std::string journal_io;   // "io_uring", or "pwritev2 (why)"
    std::string memory_rung;  // of the delivery log: "huge pages", "transparent huge pages" or "4 KiB pages"
    std::string wait;         // of the dispatcher
    std::string clock;
    std::optional<unsigned> dispatcher_cpu;
    std::optional<unsigned> journal_cpu;
    std::uint32_t epoch = 0;          // this life of the engine, counted from 1
    bool clean = true;                // the former life ended in order, or there was none
    std::uint64_t record_count = 0;   // recovered
    std::uint64_t message_count = 0;  // queued now, over all queues
    std::string torn_tail;            // what was cut from the journal's end; empty: nothing
};

class Engine {
 public:
    static std::expected<std::unique_ptr<Engine>, std::string> start(const EngineOptions& options);

    // Stops in order if stop() was not called.
    ~Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    const EngineReport& report() const;

    // Orderly: clients are told and freeze what they have not taken, everything read is made durable, then
    // all ends. The error says what could not be made durable.
    std::expected<void, std::string> stop();

    // True once the engine cannot go on (the journal failed); any thread.
    bool failed() const;

    // One JSON object: sessions, queues, journal, memory, threads. Any thread.
    std::string status_json();

    // Takes over what a running engine can: the message types, topics and queues of `added`, and the
    // limits of `changed` queues (Core::change_limits). All of it together must have been accepted by a
    // core of its own. Any thread.
    std::expected<void, std::string> extend(const Definitions& added,
                                            const std::vector<QueueConfig>& changed);

    // Manual clocks only: moves engine time on, and returns when everything that fell due has happened, each
    // thing at its own instant and settled before the next one. Any thread.
    void set_clock(Time now);
    // Returns when all that clients had written before the call has been applied, is durable, and has been
    // told. Any thread.
    void settle();
    // Clients that are connected, or whose end is not over yet. Any thread.
    std::size_t session_count() const;
    // Runs `task` in the dispatcher's thread, between two turns, and waits for it: to look at that thread,
    // or to prepare it (priorities, a system call filter). Any thread but the engine's own.
    void run_in_dispatcher(std::function<void()> task);

 private:
    struct Parts;
    explicit Engine(std::unique_ptr<Parts> parts);
    std::unique_ptr<Parts> parts_;
};

}  // namespace pinnace
