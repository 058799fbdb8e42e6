// SPDX-License-Identifier: Apache-2.0
// pinnace subscribe QUEUE: takes messages, prints them, and acknowledges what was printed.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "bindings/cli/client_option.h"
#include "bindings/cli/message_text.h"

namespace pinnace::cli {
namespace {

struct Options {
    std::string socket;
    std::string queue;
    std::string filter;
    std::uint64_t max_backlog = 1;
    std::uint64_t count = 0;  // 0: for ever
    bool no_ack = false;
    std::string format = "json";
};

void print(const Message& message, bool as_json) {
    if (as_json) {
        fmt::print("{}\n", json_line(message));
    } else {
        std::fwrite(message.text().data(), 1, message.text().size(), stdout);
        std::fputc('\n', stdout);
    }
}

int subscribe(const Options& options) {
    Connection connection = connect(options.socket, "pinnace subscribe", true);
    Subscriber subscriber =
        or_fail(Subscriber::open(connection, options.queue, {options.max_backlog, options.filter}));
    if (subscriber.max_backlog() < options.max_backlog) {
        fmt::print(stderr, "pinnace subscribe: the backlog is limited to {} here\n",
                   subscriber.max_backlog());
    }
    catch_signals();
    std::uint64_t left = options.count == 0 ? UINT64_MAX : options.count;
    while (left != 0 && !is_interrupted()) {
        const auto messages =
            or_fail(subscriber.take(std::min<std::uint64_t>(left, 64), std::chrono::milliseconds(200)));
        for (const Message& message : messages) print(message, options.format == "json");
        // Acknowledged is only what has really been written.
        if (!messages.empty() && std::fflush(stdout) != 0)
            throw CommandError{"the output could not be written"};
        for (const Message& message : messages) {
            if (!options.no_ack) or_fail(subscriber.ack(message));
        }
        left -= messages.size();
    }
    if (!options.no_ack)
        or_fail(subscriber.wait_durable(subscriber.acks_written(), std::chrono::seconds(10)));
    return kDone;
}

std::function<int()> declare(CLI::App& app) {
    auto options = std::make_shared<Options>();
    add_socket_option(app, options->socket);
    app.add_option("QUEUE", options->queue, "a queue's name, or a pattern over names")->required();
    app.add_option("--max-backlog", options->max_backlog, "messages to hold unacknowledged at most [1]")
        ->check(CLI::PositiveNumber)
        ->type_name("N");
    app.add_option("--count", options->count, "ends after so many messages [never]")
        ->check(CLI::PositiveNumber)
        ->type_name("N");
    app.add_option("--filter", options->filter, "only messages that match")->type_name("EXPR");
    app.add_flag("--no-ack", options->no_ack, "acknowledges nothing: the messages come again");
    app.add_option("--format", options->format, "a line of JSON, or the bare body [json]")
        ->check(CLI::IsMember({"json", "body"}));
    return [options] { return subscribe(*options); };
}

const Registration kRegistration({"subscribe", "takes messages from a queue and prints them", declare});

}  // namespace
}  // namespace pinnace::cli
