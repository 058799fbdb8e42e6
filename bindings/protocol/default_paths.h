// SPDX-License-Identifier: Apache-2.0
// Where engine and clients meet if nobody says otherwise.
#pragma once

#include <cstdlib>
#include <string>

namespace pinnace::protocol {

// $XDG_STATE_HOME/pinnace, else ~/.local/state/pinnace; empty if neither is known.
inline std::string default_data_directory() {
    if (const char* state = std::getenv("XDG_STATE_HOME"); state != nullptr && *state != '\0') {
        return std::string(state) + "/pinnace";
    }
    if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') {
        return std::string(home) + "/.local/state/pinnace";
    }
    return {};
}

inline constexpr const char* kSocketName = "pinnace.sock";

}  // namespace pinnace::protocol
