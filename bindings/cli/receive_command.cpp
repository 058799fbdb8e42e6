// SPDX-License-Identifier: Apache-2.0
// pinnace receive QUEUE: one pull of up to N messages (PL1), and what becomes of them.
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
    std::string filter;
    std::uint64_t max = 1;
    std::string wait = "0";
    std::string then = "ack";
    std::string format = "json";
};

// Waits in short pieces, so that a signal ends it.
std::span<const Message> pull(Subscriber& subscriber, const Options& options, Timeout wait) {
    const auto end = std::chrono::steady_clock::now() + std::min<Timeout>(wait, std::chrono::hours(24 * 365));
    for (;;) {
        const Timeout left = end - std::chrono::steady_clock::now();
        const Timeout piece = std::clamp<Timeout>(left, Timeout::zero(), std::chrono::milliseconds(200));
        const auto messages = or_fail(subscriber.receive(options.max, piece));
        if (!messages.empty() || left <= piece || is_interrupted()) return messages;
    }
}

int receive(const Options& options) {
    const Timeout wait = duration_option("--wait", options.wait);
    Connection connection = connect(options.socket, "pinnace receive", true);
    QueueClient queue = or_fail(QueueClient::open(connection, options.queue));
    Subscriber subscriber = or_fail(Subscriber::open_for_pulls(connection, options.queue, options.filter));
    catch_signals();
    std::vector<Lease> leases;
    for (const Message& message : pull(subscriber, options, wait)) {
        put_line(options.format == "json" ? json_line(message) : message.text());
        leases.push_back(message.lease());
    }
    // Settled is only what has really been written.
    flush_output();
    if (options.then == "ack") {
        or_fail(queue.ack(leases));
    } else if (options.then == "cancel") {
        or_fail(queue.cancel(leases));
    } else if (options.then == "expire") {
        or_fail(queue.expire(leases));
    }
    return kDone;
}

std::function<int()> declare(CLI::App& app) {
    auto options = std::make_shared<Options>();
    add_socket_option(app, options->socket);
    app.add_option("QUEUE", options->queue, "the queue's name")->required();
    app.add_option("--max", options->max, "so many messages at most [1]")
        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1024}))
        ->type_name("N");
    app.add_option("--wait", options->wait, "how long to wait for the first one [0]")->type_name("DURATION");
    app.add_option("--filter", options->filter, "only messages that match")->type_name("EXPR");
    app.add_option("--then", options->then, "what becomes of them once they are printed [ack]")
        ->check(CLI::IsMember({"ack", "cancel", "expire", "nothing"}));
    app.add_option("--format", options->format, "a line of JSON, or the bare body [json]")
        ->check(CLI::IsMember({"json", "body"}));
    app.footer(
        "With --then nothing they go back to the queue when the command ends, and count as delivered.");
    return [options] { return receive(*options); };
}

const Registration kRegistration({"receive", "pulls messages from a queue, once", declare});

}  // namespace
}  // namespace pinnace::cli
