// SPDX-License-Identifier: Apache-2.0
// Flags of hand_over records; on disk for ever.
#pragma once

#include <cstdint>

namespace pinnace {

inline constexpr std::uint16_t kHandOverMore = 1;  // more positions that stayed, of the same number
inline constexpr std::uint16_t kHandOverBack = 2;  // number 0: this one was not taken after all

}  // namespace pinnace
