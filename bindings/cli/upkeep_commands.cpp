// SPDX-License-Identifier: Apache-2.0
// pinnace purge QUEUE, pinnace redrive FROM TO: rules A5 and A4.
#include <fmt/format.h>

#include <memory>

#include "bindings/cli/client_option.h"
#include "bindings/cli/output.h"

namespace pinnace::cli {
namespace {

struct Options {
    std::string socket;
    std::string queue;
    std::string to;
};

int purge(const Options& options) {
    Connection connection = connect(options.socket, "pinnace purge", false);
    QueueClient queue = or_fail(QueueClient::open(connection, options.queue));
    put_line(fmt::format(R"({{"purged":{}}})", or_fail(queue.purge())));
    flush_output();
    return kDone;
}

int redrive(const Options& options) {
    Connection connection = connect(options.socket, "pinnace redrive", false);
    QueueClient queue = or_fail(QueueClient::open(connection, options.queue));
    put_line(fmt::format(R"({{"redriven":{}}})", or_fail(queue.redrive(options.to))));
    flush_output();
    return kDone;
}

std::function<int()> declare_purge(CLI::App& app) {
    auto options = std::make_shared<Options>();
    add_socket_option(app, options->socket);
    app.add_option("QUEUE", options->queue, "the queue's name")->required();
    app.footer(
        "Leased messages stay with their holders, and leave instead of returning. Prints their number\n"
        "once it is durable.");
    return [options] { return purge(*options); };
}

std::function<int()> declare_redrive(CLI::App& app) {
    auto options = std::make_shared<Options>();
    add_socket_option(app, options->socket);
    app.add_option("FROM", options->queue, "a queue, of dead letters for example")->required();
    app.add_option("TO", options->to, "the queue that gets them, at its end")->required();
    app.footer(
        "Counts start again at 0. Leased messages stay, and so does what TO cannot take. Prints their\n"
        "number once it is durable.");
    return [options] { return redrive(*options); };
}

const Registration kPurge({"purge", "removes what is not leased from a queue", declare_purge});
const Registration kRedrive({"redrive", "moves the messages of one queue to the end of another",
                             declare_redrive});

}  // namespace
}  // namespace pinnace::cli
