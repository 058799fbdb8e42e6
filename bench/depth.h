// SPDX-License-Identifier: Apache-2.0
// Depth: what a queued message costs the core in memory, and whether the core is as fast over millions of
// them as over a thousand (D11). The core alone: no journal, no clients, one thread.
//
// A queue is filled to its depth; then each round publishes one message and acknowledges the oldest one that
// is leased, so that another one is leased and the depth stays.
#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

namespace pinnace::bench {

enum class DepthCase : std::uint8_t {
    plain,     // three subscriptions
    filtered,  // 100 distinct filters, one of which matches 1 message in 1,000
    priority,  // 64 levels, at random
    fifo,      // a tenth as many groups as messages, ids of 16 bytes, DedupWindow=0
};
inline constexpr std::array kDepthCases{DepthCase::plain, DepthCase::filtered, DepthCase::priority,
                                        DepthCase::fifo};
std::string_view to_text(DepthCase which);

struct DepthFigures {
    DepthCase which = DepthCase::plain;
    std::uint64_t messages = 0;
    double state_bytes_per_message = 0;  // all indexes included
    double rate_at_1k = 0;               // messages a second: publish, lease, acknowledge
    double rate_at_depth = 0;

    std::string to_json() const;
    std::string to_text() const;
};

// The error is a whole sentence. The memory of the depth is taken for as long as it runs.
inline constexpr std::uint64_t kDepthMessagesMin = 1'000;
std::expected<DepthFigures, std::string> depth(DepthCase which, std::uint64_t messages);

}  // namespace pinnace::bench
