// SPDX-License-Identifier: Apache-2.0
// pinnace serve: the engine as a process.
#include <fmt/format.h>
#include <sys/prctl.h>
#include <time.h>

#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include "bindings/cli/command.h"
#include "bindings/config/configuration.h"
#include "bindings/daemon/engine.h"
#include "bindings/daemon/log_targets.h"
#include "bindings/daemon/reload.h"
#include "bindings/daemon/service_notify.h"
#include "bindings/protocol/default_paths.h"
#include "core/config_parse.h"

namespace pinnace::cli {
namespace {

struct Options {
    std::string config;
    std::string data;
    std::string socket;
    std::vector<std::string> queues;
    std::vector<std::string> topics;
    std::optional<unsigned> dispatcher_cpu;
    std::optional<unsigned> journal_cpu;
    std::string wait;
    std::string message_size_max;
    std::string segment_size;
    std::string log_size;
    std::string rejoin_grace;
    bool no_io_uring = false;
    bool no_pin = false;
};

std::uint64_t size_option(const char* name, const std::string& text, std::uint64_t otherwise,
                          std::uint64_t most) {
    if (text.empty()) return otherwise;
    const auto size = parse_size(text);
    if (!size || *size == 0 || *size > most) {
        throw CommandError{fmt::format("{} {}: a size is needed, for example 16MiB", name, text),
                           kWrongUsage};
    }
    return *size;
}

// What the file says; its warnings go to standard error.
config::Configuration load_configuration(const std::string& path) {
    auto loaded = config::load(path);
    if (!loaded) throw CommandError{loaded.error()};
    fmt::print(stderr, "{}", loaded->text(path, true));
    if (loaded->has_errors()) throw CommandError{fmt::format("{}: this configuration is not served", path)};
    return std::move(loaded->configuration);
}

// The command line's topics and queues; a queue covers its topics.
void define_by_options(const Options& options, Definitions& definitions) {
    for (const std::string& name : options.topics) definitions.topics.push_back({name, "json"});
    for (const std::string& line : options.queues) {
        auto queue = parse_queue_line(line);
        if (!queue)
            throw CommandError{fmt::format("--queue '{}': {}", line, queue.error().text), kWrongUsage};
        definitions.queues.push_back(std::move(*queue));
    }
}

// Options of the command line win over the file.
EngineOptions engine_options(const Options& options, const config::Configuration& configuration) {
    EngineOptions engine = config::engine_options(configuration);
    if (!options.data.empty()) engine.data_directory = options.data;
    if (engine.data_directory.empty()) engine.data_directory = protocol::default_data_directory();
    if (engine.data_directory.empty()) {
        throw CommandError{"neither --data nor XDG_STATE_HOME nor HOME says where the data is to be",
                           kWrongUsage};
    }
    if (!options.socket.empty()) engine.socket_path = options.socket;
    define_by_options(options, engine.definitions);
    if (options.dispatcher_cpu) engine.dispatcher_cpu = options.dispatcher_cpu;
    if (options.journal_cpu) engine.journal_cpu = options.journal_cpu;
    if (!options.wait.empty()) {
        engine.wait = options.wait == "spin"    ? WaitMode::spin
                      : options.wait == "yield" ? WaitMode::yield
                      : options.wait == "block" ? WaitMode::block
                                                : WaitMode::automatic;
    }
    engine.message_size_max = static_cast<std::uint32_t>(
        size_option("--message-size-max", options.message_size_max, engine.message_size_max, 1u << 30));
    const std::uint64_t least =
        std::max<std::uint64_t>(engine.segment_size, std::uint64_t{engine.message_size_max} * 4 + (1u << 20));
    engine.segment_size = size_option("--segment-size", options.segment_size, least, std::uint64_t{1} << 32);
    engine.log_small_size =
        size_option("--log-size", options.log_size, engine.log_small_size, std::uint64_t{1} << 40);
    if (!options.log_size.empty()) {
        engine.log_large_size = 2 * engine.log_small_size;
        engine.log_reread_size = engine.log_small_size;
    }
    if (!options.rejoin_grace.empty()) {
        const auto grace = parse_duration(options.rejoin_grace);
        if (!grace) {
            throw CommandError{
                fmt::format("--rejoin-grace {}: a time is needed, for example 500ms", options.rejoin_grace),
                kWrongUsage};
        }
        engine.rejoin_grace = *grace;
    }
    if (options.no_io_uring) engine.io_uring = false;
    if (options.no_pin) engine.pin = false;
    return engine;
}

std::string ready_line(const EngineReport& report) {
    const auto core = [](std::optional<unsigned> number) {
        return number ? fmt::format("{}", *number) : "any";
    };
    return fmt::format(
        "pinnace: ready at {}: life {}, {} messages queued, journal by {}, {}, waits by {}, dispatcher on "
        "core {}, "
        "journal on core {}",
        report.socket_path, report.epoch, report.message_count, report.journal_io, report.memory_rung,
        report.wait, core(report.dispatcher_cpu), core(report.journal_cpu));
}

// Waits for a signal to stop, or for the engine to fail; SIGHUP is for `hang_up`.
int wait_for_end(const sigset_t& signals, const Engine& engine, const std::function<void()>& hang_up) {
    for (;;) {
        const timespec look_again{0, 200'000'000};
        const int signal = sigtimedwait(&signals, nullptr, &look_again);
        if (signal == SIGHUP) {
            hang_up();
        } else if (signal > 0) {
            return signal;
        }
        if (engine.failed()) return 0;
    }
}

int serve(const Options& options) {
    if (!options.config.empty() && !(options.queues.empty() && options.topics.empty()))
        throw CommandError{"--queue and --topic go without a configuration file: write them into it",
                           kWrongUsage};
    config::Configuration configuration;
    if (!options.config.empty()) configuration = load_configuration(options.config);
    EngineOptions wanted = engine_options(options, configuration);
    auto log = daemon::LogTargets::open(configuration.log_targets);
    if (!log) throw CommandError{log.error()};
    wanted.log_line = [&log](std::string_view line) { (*log)->write(line); };
    // Clients of this user must not read the engine's memory through the debugger's door (rule 4).
    prctl(PR_SET_DUMPABLE, 0);
    std::signal(SIGPIPE, SIG_IGN);
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // before the engine's threads, which inherit it

    auto engine = Engine::start(wanted);
    if (!engine) throw CommandError{engine.error()};
    fmt::print("{}\n", ready_line((*engine)->report()));
    std::fflush(stdout);
    daemon::notify_service_manager("READY=1");
    const int signal = wait_for_end(signals, **engine, [&] {
        (*log)->reopen();
        if (options.config.empty()) return wanted.log_line("reload: there is no configuration file");
        daemon::notify_service_manager("RELOADING=1");
        daemon::reload(**engine, options.config, configuration, wanted.log_line);
        daemon::notify_service_manager("READY=1");
    });
    daemon::notify_service_manager("STOPPING=1");
    // Whoever asks again does not want to wait for clients and disk: what is durable stays so.
    sigset_t again;
    sigemptyset(&again);
    sigaddset(&again, SIGTERM);
    sigaddset(&again, SIGINT);
    pthread_sigmask(SIG_UNBLOCK, &again, nullptr);
    const auto stopped = (*engine)->stop();
    if (signal == 0)
        throw CommandError{"the journal failed: nothing more was reported persisted; start again to recover"};
    if (!stopped) throw CommandError{stopped.error()};
    return kDone;
}

std::function<int()> declare(CLI::App& app) {
    auto options = std::make_shared<Options>();
    app.add_option("CONFIG", options->config, "a configuration, an XML file");
    app.add_option("--data", options->data, "data directory [$XDG_STATE_HOME/pinnace]")->type_name("DIR");
    app.add_option("--socket", options->socket, "where clients connect [DIR/pinnace.sock]")
        ->type_name("PATH");
    app.add_option("--queue", options->queues, "a queue: 'NAME Element=value ...'; covers its topics")
        ->type_name("LINE")
        ->allow_extra_args(false);
    app.add_option("--topic", options->topics, "a topic that the transaction log covers")
        ->type_name("NAME")
        ->allow_extra_args(false);
    app.add_option("--dispatcher-cpu", options->dispatcher_cpu, "the dispatcher's core")->type_name("N");
    app.add_option("--journal-cpu", options->journal_cpu, "the journal thread's core")->type_name("N");
    app.add_option("--wait", options->wait, "how the dispatcher waits")
        ->check(CLI::IsMember({"auto", "spin", "yield", "block"}));
    app.add_option("--message-size-max", options->message_size_max, "limit of one publish [16MiB]")
        ->type_name("SIZE");
    app.add_option("--segment-size", options->segment_size, "of the journal's files [256MiB]")
        ->type_name("SIZE");
    app.add_option("--log-size", options->log_size,
                   "memory for bodies up to 32 KiB; three times as much for the others [64MiB]")
        ->type_name("SIZE");
    app.add_option("--rejoin-grace", options->rejoin_grace,
                   "after a crash, how long deliveries wait at most for the clients of before [1s]")
        ->type_name("TIME");
    app.add_flag("--no-io-uring", options->no_io_uring, "writes the journal by pwritev2");
    app.add_flag("--no-pin", options->no_pin, "pins no thread that was not given a core");
    return [options] { return serve(*options); };
}

const Registration kRegistration({"serve", "runs an engine on a data directory", declare});

}  // namespace
}  // namespace pinnace::cli
