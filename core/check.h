// SPDX-License-Identifier: Apache-2.0
// PINNACE_CHECK: what can only be false if our own code is wrong. Stays on in release builds, since an engine
// that goes on with broken state loses messages. Never used on what a peer, a file or a user can cause.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace pinnace {

[[noreturn]] inline void check_failed(const char* expression, const char* file, int line) noexcept {
    std::fprintf(stderr, "pinnace: internal check failed: %s (%s:%d)\n", expression, file, line);
    std::abort();
}

}  // namespace pinnace

#define PINNACE_CHECK(expression) \
    (static_cast<bool>(expression) ? void(0) : ::pinnace::check_failed(#expression, __FILE__, __LINE__))
