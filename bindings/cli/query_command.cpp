// SPDX-License-Identifier: Apache-2.0
// pinnace query QUEUE: shows what is available in a queue, and leases nothing (V1).
#include <fmt/format.h>

#include <memory>

#include "bindings/cli/client_option.h"
#include "bindings/cli/message_text.h"
#include "bindings/cli/output.h"

namespace pinnace::cli {
namespace {

struct Options {
    std::string socket;
    std::string queue;
    std::string where;
    std::uint64_t count = UINT64_MAX;
    std::string format = "json";
};

int query(const Options& options) {
    Connection connection = connect(options.socket, "pinnace query", false);
    QueueClient queue = or_fail(QueueClient::open(connection, options.queue));
    catch_signals();
    or_fail(queue.query(options.where, options.count, [&](const FoundMessage& message) {
        put_line(options.format == "json" ? json_line(message, options.queue) : message.body);
        return !is_interrupted() && std::ferror(stdout) == 0;
    }));
    flush_output();
    return kDone;
}

std::function<int()> declare(CLI::App& app) {
    auto options = std::make_shared<Options>();
    add_socket_option(app, options->socket);
    app.add_option("QUEUE", options->queue, "the queue's name")->required();
    app.add_option("--where", options->where, "only messages that match")->type_name("EXPR");
    app.add_option("--count", options->count, "so many messages at most [all]")->type_name("N");
    app.add_option("--format", options->format, "a line of JSON, or the bare body [json]")
        ->check(CLI::IsMember({"json", "body"}));
    app.footer("Available is what is not leased and due, also behind a barrier; in delivery order.");
    return [options] { return query(*options); };
}

const Registration kRegistration({"query", "shows the messages that are available in a queue", declare});

}  // namespace
}  // namespace pinnace::cli
