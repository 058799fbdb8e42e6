// SPDX-License-Identifier: Apache-2.0
// pinnace bench: each benchmark is a subcommand.
#include <fmt/format.h>

#include <memory>

#include "bench/client_bench.h"
#include "bench/core_commands.h"
#include "bench/floor.h"
#include "bench/recovery.h"
#include "bindings/cli/command.h"

namespace pinnace::cli {
namespace {

struct Options {
    std::uint64_t size = 64;
    std::uint64_t count = 0;
    std::string data;
    std::string cpus;
    std::string wait = "spin";
    bool persisted = false;
    bool json = false;
};

using Bench = std::expected<bench::Report, std::string> (*)(const bench::ClientChoice&);

std::expected<bench::Report, std::string> run_floor(const bench::ClientChoice& choice) {
    return bench::floor(choice.engine.place, choice.size, choice.count);
}

int run(const Options& options, Bench bench, std::uint64_t count) {
    const auto place = bench::choose_place(options.cpus, options.data);
    if (!place) throw CommandError{place.error()};
    if (options.size > 16u << 20)
        throw CommandError{"--size: a message has at most 16777216 bytes", kWrongUsage};
    bench::ClientChoice choice;
    choice.engine.place = *place;
    choice.engine.data_directory = options.data;
    choice.size = options.size;
    choice.count = options.count != 0 ? options.count : count;
    choice.persisted = options.persisted;
    choice.engine.wait = options.wait == "spin"    ? WaitMode::spin
                         : options.wait == "yield" ? WaitMode::yield
                                                   : WaitMode::block;
    using Wait = ConnectionOptions::Wait;
    // A client that shares its core with the journal thread must leave it the core while it waits for the
    // disk.
    choice.wait = options.wait == "block" ? Wait::block
                  : options.wait == "spin" && bench != bench::durable && bench != bench::throughput
                      ? Wait::spin
                      : Wait::yield;
    if (place->shared() && options.wait == "spin") {
        fmt::print(stderr, "pinnace bench: one core only, so that both sides yield\n");
        choice.engine.wait = WaitMode::yield;
        choice.wait = Wait::yield;
    }
    if (!options.json) fmt::print("{}\n", bench::environment());
    const auto report = bench(choice);
    if (!report) throw CommandError{report.error()};
    fmt::print("{}\n", options.json ? report->to_json() : report->to_text());
    return kDone;
}

template <Bench kBench, std::uint64_t kCount>
std::function<int()> declare(CLI::App& app) {
    auto options = std::make_shared<Options>();
    app.add_option("--size", options->size, "bytes of a message [64]")->type_name("N");
    app.add_option("--count", options->count, fmt::format("messages [{}]", kCount))->type_name("N");
    app.add_option("--data", options->data, "data directory [a fresh one in $TMPDIR]")->type_name("DIR");
    app.add_option("--cpus", options->cpus, "cores [the first and the last allowed one]")
        ->type_name("CLIENT,DISPATCHER");
    app.add_option("--wait", options->wait, "how both sides wait")
        ->check(CLI::IsMember({"spin", "yield", "block"}));
    app.add_flag("--persisted", options->persisted, "throughput: ends when all is reported persisted");
    app.add_flag("--json", options->json, "one JSON object");
    return [options] { return run(*options, kBench, kCount); };
}

std::function<int()> declare_recovery(CLI::App& app) {
    auto choice = std::make_shared<bench::RecoveryChoice>();
    auto json = std::make_shared<bool>(false);
    choice->message_count = 10'000'000;
    app.add_option("--messages", choice->message_count, "messages in the queue [10000000]")
        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 31))
        ->type_name("N");
    app.add_option("--size", choice->size, "bytes of a message [64]")
        ->check(CLI::Range(1u, 1u << 20))
        ->type_name("N");
    app.add_option("--data", choice->data_directory, "empty data directory [a fresh one in $TMPDIR]")
        ->type_name("DIR");
    app.add_flag("--json", *json, "one JSON object");
    return [choice, json] {
        if (!*json) fmt::print("{}\n", bench::environment());
        const auto report = bench::recovery(*choice);
        if (!report) throw CommandError{report.error()};
        fmt::print("{}\n", *json ? report->to_json() : report->to_text());
        return kDone;
    };
}

const Registration kRegistration({
    .name = "bench",
    .about = "measures this machine and this engine",
    .subcommands = {{"roundtrip", "from publish to the message in hand, one at a time",
                     declare<bench::roundtrip, 200'000>},
                    {"throughput", "messages a second from publish to acknowledged",
                     declare<bench::throughput, 5'000'000>},
                    {"durable", "from publish to persisted, one at a time", declare<bench::durable, 3'000>},
                    {"recovery", "how long a start takes that finds many messages", declare_recovery},
                    {"floor", "what the machine itself takes for a round trip", declare<run_floor, 200'000>},
                    {"depth", "memory and speed of the core over many queued messages", declare_depth},
                    {"filter", "what a filter costs for a message of each type", declare_filter}},
});

}  // namespace
}  // namespace pinnace::cli
