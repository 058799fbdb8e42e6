// SPDX-License-Identifier: Apache-2.0
// Messages as a line of JSON, for people and scripts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "bindings/cpp/message.h"
#include "bindings/cpp/queue_client.h"

namespace pinnace::cli {

// Whether it is UTF-8 throughout, without NUL bytes.
bool is_text(std::string_view bytes);
std::string json_string(std::string_view text);
std::string base64(std::string_view bytes);
// Engine time as 20261130T150000.000000Z.
std::string time_text(std::int64_t ns);

// topic, queue, bookmark, count, published, lease_end, and body, or body_base64 where it is not text. No
// newline.
std::string json_line(const Message& message);
// The same of a query's message: topic, queue, bookmark, published, and body; null where it could not be
// read.
std::string json_line(const FoundMessage& message, std::string_view queue);

}  // namespace pinnace::cli
