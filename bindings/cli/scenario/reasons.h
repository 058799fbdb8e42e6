// SPDX-License-Identifier: Apache-2.0
// The reasons of X1 as words.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "core/effects.h"

namespace pinnace::scenario {

// Joined by commas, in the order of X1.
inline std::string reasons_in_words(std::uint8_t reasons) {
    static constexpr std::pair<Reason, std::string_view> kNames[] = {{kTimeLimit, "time_limit"},
                                                                     {kMaxCancels, "max_cancels"},
                                                                     {kMaxDeliveries, "max_deliveries"},
                                                                     {kForcedExpire, "forced_expire"}};
    std::string text;
    for (const auto& [bit, name] : kNames) {
        if ((reasons & bit) == 0) continue;
        if (!text.empty()) text += ',';
        text += name;
    }
    return text;
}

}  // namespace pinnace::scenario
