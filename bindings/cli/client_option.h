// SPDX-License-Identifier: Apache-2.0
// What commands that talk to an engine share: the option --socket, and opening a connection or failing in one
// line.
#pragma once

#include <chrono>
#include <string>

#include "bindings/cli/command.h"
#include "bindings/cpp/pinnace.h"

namespace pinnace::cli {

void add_socket_option(CLI::App& app, std::string& socket);

// A duration as scenarios and the configuration write it: a number and ns, us, ms, s, m, h or d.
std::chrono::nanoseconds duration_option(const char* option, const std::string& text);

// `name` is shown by status. An engine that is not there is an error at once.
// One that publishes gets room for messages.
Connection connect(const std::string& socket, const char* name, bool subscribes, bool publishes = false);

// The value, or the error as one line.
template <class T>
T or_fail(std::expected<T, Error> result) {
    if (!result) {
        const std::string code(to_text(result.error().code));
        const std::string& text = result.error().text;
        throw CommandError{text.empty() ? code : text.starts_with(code) ? text : code + ": " + text};
    }
    if constexpr (!std::is_void_v<T>) return std::move(*result);
}

// SIGINT and SIGTERM end a command in order: from this call on they only set a flag.
void catch_signals();
bool is_interrupted();

}  // namespace pinnace::cli
