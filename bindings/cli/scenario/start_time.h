// SPDX-License-Identifier: Apache-2.0
// When the virtual time of every scenario begins.
#pragma once

#include <chrono>

#include "core/types.h"

namespace pinnace::scenario {

inline constexpr Time kStartTime =
    std::chrono::nanoseconds(std::chrono::sys_days{std::chrono::year{2026} / 1 / 1}.time_since_epoch())
        .count();

}  // namespace pinnace::scenario
