// SPDX-License-Identifier: Apache-2.0
// How requests are answered: `ok` and values, or why not and a text (see bindings/protocol/requests.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "bindings/protocol/wire.h"
#include "core/core.h"

namespace pinnace::daemon {

// Both say true: the request is done.
template <class... Values>
bool give(std::vector<std::byte>& answer, const Values&... values) {
    protocol::WireWriter writer;
    writer.put(static_cast<std::uint8_t>(Answer::ok));
    (writer.put(values), ...);
    answer = writer.take();
    return true;
}

inline bool refuse(std::vector<std::byte>& answer, Answer why, std::string_view text) {
    protocol::WireWriter writer;
    writer.put(static_cast<std::uint8_t>(why)).put(text);
    answer = writer.take();
    return true;
}

}  // namespace pinnace::daemon
