// SPDX-License-Identifier: Apache-2.0
// pinnace status: what the engine is doing, as a page or as JSON.
#include <fmt/format.h>
#include <simdjson.h>

#include <memory>

#include "bindings/cli/client_option.h"

namespace pinnace::cli {
namespace {

using simdjson::dom::element;

// A member as text; "-" where there is none.
std::string text_of(const element& object, const char* key) {
    element value;
    if (object[key].get(value) != simdjson::SUCCESS || value.is_null()) return "-";
    if (value.is_string()) return std::string(std::string_view(value));
    return simdjson::minify(value);
}

void print_engine(const element& status) {
    fmt::print("engine {} in its life {}, waits by {}, clock {}\n", text_of(status, "version"),
               text_of(status, "epoch"), text_of(status, "wait"), text_of(status, "clock"));
    fmt::print("data   {}\n", text_of(status, "data"));
    simdjson::dom::array threads;
    if (status["threads"].get(threads) == simdjson::SUCCESS) {
        for (const element& thread : threads) {
            fmt::print("thread {} on core {}\n", text_of(thread, "name"), text_of(thread, "cpu"));
        }
    }
    element memory;
    if (status["memory"].get(memory) == simdjson::SUCCESS) {
        fmt::print("memory {}, {} bytes of message state\n", text_of(memory, "rung"),
                   text_of(memory, "state_bytes"));
    }
    element expressions;
    if (status["expressions"].get(expressions) == simdjson::SUCCESS) {
        fmt::print(
            "expressions: {} evaluations, {} malformed messages, {} patterns stopped, {} texts too long\n",
            text_of(expressions, "evaluations"), text_of(expressions, "malformed"),
            text_of(expressions, "patterns_stopped"), text_of(expressions, "texts_too_long"));
    }
    element journal;
    if (status["journal"].get(journal) == simdjson::SUCCESS) {
        fmt::print("journal {} by {}: {} records, {} durable, segment {}, {} bytes in {} batches\n",
                   text_of(journal, "state"), text_of(journal, "io"), text_of(journal, "records"),
                   text_of(journal, "durable"), text_of(journal, "segment"),
                   text_of(journal, "bytes_written"), text_of(journal, "batches"));
    }
}

void print_lists(const element& status) {
    simdjson::dom::array queues;
    if (status["queues"].get(queues) == simdjson::SUCCESS) {
        fmt::print("\n{:<28} {:>10} {:>10} {:>14} {:>14}\n", "queue", "depth", "leased", "oldest",
                   "its age, ms");
        for (const element& queue : queues) {
            fmt::print("{:<28} {:>10} {:>10} {:>14} {:>14}\n", text_of(queue, "name"),
                       text_of(queue, "depth"), text_of(queue, "leased"), text_of(queue, "oldest_position"),
                       text_of(queue, "oldest_age_ms"));
        }
    }
    simdjson::dom::array sessions;
    if (status["sessions"].get(sessions) == simdjson::SUCCESS) {
        fmt::print("\n{:<28} {:>10} {:>10} {:>14} {:>14}\n", "session", "pid", "untaken", "deliveries",
                   "verbs");
        for (const element& session : sessions) {
            fmt::print("{:<28} {:>10} {:>10} {:>14} {:>14}\n", text_of(session, "name"),
                       text_of(session, "pid"), text_of(session, "untaken"), text_of(session, "deliveries"),
                       text_of(session, "acknowledgments"));
        }
    }
}

int show(const std::string& socket, bool as_json) {
    Connection connection = connect(socket, "pinnace status", false);
    const std::string text = or_fail(connection.status());
    if (as_json) {
        fmt::print("{}\n", text);
        return kDone;
    }
    simdjson::dom::parser parser;
    element status;
    if (parser.parse(text).get(status) != simdjson::SUCCESS) {
        throw CommandError{"the engine's status is not JSON"};
    }
    print_engine(status);
    print_lists(status);
    return kDone;
}

std::function<int()> declare(CLI::App& app) {
    auto socket = std::make_shared<std::string>();
    auto as_json = std::make_shared<bool>(false);
    add_socket_option(app, *socket);
    app.add_flag("--json", *as_json, "one JSON object");
    return [socket, as_json] { return show(*socket, *as_json); };
}

const Registration kRegistration({"status", "shows what the engine is doing", declare});

}  // namespace
}  // namespace pinnace::cli
