// SPDX-License-Identifier: Apache-2.0
// pinnace ack|cancel|expire QUEUE BOOKMARK...|--where EXPR: verbs by bookmark or by filter (L3-L8).
#include <fmt/format.h>

#include <memory>

#include "bindings/cli/client_option.h"
#include "bindings/cli/output.h"

namespace pinnace::cli {
namespace {

enum class Which : std::uint8_t { ack, cancel, expire };

struct Options {
    std::string socket;
    std::string queue;
    std::vector<std::string> bookmarks;
    std::optional<std::string> where;
};

std::vector<Lease> leases_of(const QueueClient& queue, const std::vector<std::string>& bookmarks) {
    std::vector<Lease> leases;
    for (const std::string& text : bookmarks) {
        const auto bookmark = Bookmark::parse(text);
        if (!bookmark) {
            throw CommandError{
                fmt::format("{}: not a bookmark; `pinnace query` and `pinnace receive` show them", text),
                kWrongUsage};
        }
        leases.push_back(queue.at(*bookmark));
    }
    return leases;
}

int by_filter(QueueClient& queue, Which which, const std::string& where) {
    const std::uint64_t count =
        or_fail(which == Which::ack ? queue.ack_where(where) : queue.expire_where(where));
    put_line(fmt::format(R"({{"{}":{}}})", which == Which::ack ? "acknowledged" : "expired", count));
    flush_output();
    return kDone;
}

// A line for each; exit code 1 if one of them was answered otherwise than ok or deferred.
int by_bookmark(QueueClient& queue, Which which, const std::vector<std::string>& bookmarks) {
    const std::vector<Lease> leases = leases_of(queue, bookmarks);
    const auto answers = or_fail(which == Which::ack      ? queue.ack(leases)
                                 : which == Which::cancel ? queue.cancel(leases)
                                                          : queue.expire(leases));
    int exit_code = kDone;
    for (std::size_t i = 0; i < answers.size(); ++i) {
        const bool is_ok = answers[i] == ErrorCode::none;
        put_line(fmt::format(R"({{"bookmark":"{}","answer":"{}"}})", bookmarks[i],
                             is_ok ? "ok" : to_text(answers[i])));
        if (!is_ok && answers[i] != ErrorCode::deferred) exit_code = kFailed;
    }
    flush_output();
    return exit_code;
}

int run(const Options& options, Which which) {
    if (options.bookmarks.empty() == !options.where) {
        throw CommandError{
            which == Which::cancel ? "bookmarks are needed" : "bookmarks are needed, or --where, not both",
            kWrongUsage};
    }
    Connection connection = connect(options.socket, "pinnace verb", true);
    QueueClient queue = or_fail(QueueClient::open(connection, options.queue));
    return options.where ? by_filter(queue, which, *options.where)
                         : by_bookmark(queue, which, options.bookmarks);
}

std::function<int()> declare(CLI::App& app, Which which) {
    auto options = std::make_shared<Options>();
    add_socket_option(app, options->socket);
    app.add_option("QUEUE", options->queue, "the queue's name")->required();
    app.add_option("BOOKMARK", options->bookmarks, "messages, all in one list");
    if (which != Which::cancel) {
        app.add_option("--where", options->where, "all messages of the queue that match, leased or not")
            ->type_name("EXPR");
    }
    app.footer(
        "Prints a line for each bookmark with its answer: ok, unknown, not_owner, stale or deferred;\n"
        "with --where one line with their number. What is printed is durable. The exit code is 1 if an\n"
        "answer is neither ok nor deferred.");
    return [options, which] { return run(*options, which); };
}

std::function<int()> declare_ack(CLI::App& app) { return declare(app, Which::ack); }
std::function<int()> declare_expire(CLI::App& app) { return declare(app, Which::expire); }

std::function<int()> declare_cancel(CLI::App& app) {
    auto action = declare(app, Which::cancel);
    app.footer(
        app.get_footer() +
        "\nTo cancel takes the lease itself, under sublet too, and a lease ends with its client: another\n"
        "command's is answered stale. `pinnace receive --then cancel` takes messages and cancels them.");
    return action;
}

const Registration kAck({"ack", "acknowledges messages: they leave the queue for good", declare_ack});
const Registration kCancel({"cancel", "returns leased messages to the queue", declare_cancel});
const Registration kExpire({"expire", "makes messages leave with reason forced_expire", declare_expire});

}  // namespace
}  // namespace pinnace::cli
