// SPDX-License-Identifier: Apache-2.0
// The registry of subcommands of `pinnace`. Each is a file of its own that registers itself:
//
//   std::function<int()> declare(CLI::App& app) {
//       auto options = std::make_shared<Options>();
//       app.add_option("QUEUE", options->queue, "the queue to read")->required();
//       return [options] { return run(*options); };
//   }
//   const Registration kRegistration({"subscribe", "receives the messages of a queue", declare});
//
// The file is a source of the executable itself, never of a library, from which the linker would leave it
// out: target_sources(pinnace PRIVATE subscribe_command.cpp), from any folder.
#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <functional>
#include <vector>

namespace pinnace::cli {

// Exit codes of every subcommand.
inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kWrongUsage = 2;

// Thrown by an action: one line for stderr, and kFailed or kWrongUsage.
struct CommandError {
    std::string text;
    int exit_code = kFailed;
};

struct Command {
    const char* name = nullptr;
    const char* about = nullptr;  // a line of `pinnace --help`
    // Declares the options on `app` and returns the action; that runs after they have been parsed, and gives
    // the exit code.
    std::function<int()> (*declare)(CLI::App& app) = nullptr;
    // Further subcommands below this one, as of `pinnace journal verify`; declare may then be null.
    std::vector<Command> subcommands = {};
};

// Makes a command known; for objects of namespace scope.
class Registration {
 public:
    explicit Registration(const Command& command);
};

// Parses and runs; returns the exit code. Output goes to stdout, what went wrong to stderr in one line.
int run_command_line(int argc, const char* const* argv);

}  // namespace pinnace::cli
