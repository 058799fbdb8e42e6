// SPDX-License-Identifier: Apache-2.0
#include "bindings/cli/client_option.h"

#include <csignal>

namespace pinnace::cli {

namespace {

volatile std::sig_atomic_t interrupted = 0;

}  // namespace

void add_socket_option(CLI::App& app, std::string& socket) {
    app.add_option("--socket", socket,
                   "where the engine listens [$PINNACE_SOCKET, else $XDG_STATE_HOME/pinnace/pinnace.sock]")
        ->type_name("PATH");
}

Connection connect(const std::string& socket, const char* name, bool subscribes) {
    ConnectionOptions options;
    options.socket = socket;
    options.name = name;
    options.subscribes = subscribes;
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
