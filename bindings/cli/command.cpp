// SPDX-License-Identifier: Apache-2.0
#include "bindings/cli/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>

namespace pinnace::cli {
namespace {

// Lives before the first static object that registers itself, whatever the order of their files.
std::vector<Command>& registered() {
    static std::vector<Command> commands;
    return commands;
}

using Action = std::function<int()>;

// Declares the command below `parent`; `chosen` becomes its action if it is the one that is called.
void declare_below(CLI::App& parent, const Command& command, Action& chosen) {
    CLI::App* app = parent.add_subcommand(command.name, command.about);
    for (const Command& below : command.subcommands) declare_below(*app, below, chosen);
    app->require_subcommand(0, 1);
    if (command.declare == nullptr) return;
    Action action = command.declare(*app);
    app->callback([&chosen, action = std::move(action)] { chosen = action; });
}

// `pinnace journal verify`: the name of the subcommand that was called, for messages.
std::string called(const CLI::App& top) {
    std::string name = top.get_name();
    const CLI::App* app = &top;
    while (true) {
        const auto below = app->get_subcommands();
        if (below.empty()) return name;
        app = below.front();
        name += " " + app->get_name();
    }
}

void complain(const std::string& who, std::string text) {
    while (text.ends_with('\n')) text.pop_back();
    std::ranges::replace(text, '\n', ' ');
    fmt::print(stderr, "{}: {}\n", who, text);
}

int run_action(const CLI::App& app, const Action& action) {
    int exit_code = kFailed;
    try {
        exit_code = action();
    } catch (const CommandError& error) {
        complain(called(app), error.text);
        return error.exit_code;
    } catch (const std::exception& error) {
        complain(called(app), error.what());
        return kFailed;
    }
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
        complain(called(app), "the output could not be written");
        return kFailed;
    }
    return exit_code;
}

}  // namespace

Registration::Registration(const Command& command) { registered().push_back(command); }

int run_command_line(int argc, const char* const* argv) {
    CLI::App app("Message queues between the processes of one host, through shared memory", "pinnace");
    app.set_version_flag("--version", "pinnace " PINNACE_VERSION);
    // At most one: that one is missing is said below, after an unknown option, which is the better complaint.
    app.require_subcommand(0, 1);
    std::ranges::sort(registered(), {},
                      [](const Command& command) { return std::string_view(command.name); });
    Action action;
    for (const Command& command : registered()) declare_below(app, command, action);
    try {
        app.parse(argc, argv);
    } catch (const CLI::Success& wanted) {  // --help, --version
        return app.exit(wanted) == 0 && std::fflush(stdout) == 0 ? kDone : kFailed;
    } catch (const CLI::ParseError& error) {
        const std::string who = called(app);
        complain(who, fmt::format("{}; see `{} --help`", error.what(), who));
        return kWrongUsage;
    }
    if (!action) {
        const std::string who = called(app);
        complain(who, fmt::format("a subcommand is missing; see `{} --help`", who));
        return kWrongUsage;
    }
    return run_action(app, action);
}

}  // namespace pinnace::cli
