// SPDX-License-Identifier: Apache-2.0
#include "bindings/cli/client_option.h"

#include <fmt/format.h>

#include <csignal>

#include "core/config_parse.h"

namespace pinnace::cli {

namespace {

volatile std::sig_atomic_t interrupted = 0;

}  // namespace

void add_socket_option(CLI::App& app, std::string& socket) {
    app.add_option("--socket", socket,
                   "where the engine listens [$PINNACE_SOCKET, else $XDG_STATE_HOME/pinnace/pinnace.sock]")
        ->type_name("PATH");
}

std::chrono::nanoseconds duration_option(const char* option, const std::string& text) {
    const auto duration = parse_duration(text);
    if (!duration) {
        throw CommandError{fmt::format("{} {}: a duration is needed, for example 10s", option, text),
                           kWrongUsage};
    }
    return std::chrono::nanoseconds(*duration);
}

Connection connect(const std::string& socket, const char* name, bool subscribes, bool publishes) {
    ConnectionOptions options;
    options.socket = socket;
    options.name = name;
    options.subscribes = subscribes;
    if (!publishes) options.submit_size = 1u << 20;
    options.connect_timeout = Timeout::zero();
    return or_fail(Connection::open(options));
}

void catch_signals() {
    struct sigaction action{};
    action.sa_handler = [](int) { interrupted = 1; };
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
}

bool is_interrupted() { return interrupted != 0; }

}  // namespace pinnace::cli
