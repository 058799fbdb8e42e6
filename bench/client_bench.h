// SPDX-License-Identifier: Apache-2.0
// What a client sees of an engine in another process: round trip, rate, and time to persisted.
#pragma once

#include <cstdint>
#include <expected>
#include <string>

#include "bench/engine_child.h"
#include "bench/report.h"
#include "bindings/cpp/pinnace.h"

namespace pinnace::bench {

struct ClientChoice {
    EngineChoice engine;
    ConnectionOptions::Wait wait = ConnectionOptions::Wait::spin;
    std::uint64_t size = 64;
    std::uint64_t count = 100'000;
    bool persisted = false;  // throughput: each message is reported persisted before the clock stops
};

// How long from publish to the message in hand, and to its acknowledgment applied, one at a time? Also the
// round trip of two boost spsc_queues on the same cores, in the same run.
std::expected<Report, std::string> roundtrip(const ClientChoice& choice);
// How many messages a second go from publish to acknowledged, one client thread doing all three?
std::expected<Report, std::string> throughput(const ClientChoice& choice);
// How long from publish to persisted, one at a time? In turn with a raw append of 4 KiB with the same flags,
// in the same directory, while the same dispatcher waits in its way.
std::expected<Report, std::string> durable(const ClientChoice& choice);

}  // namespace pinnace::bench
