// SPDX-License-Identifier: Apache-2.0
// pinnace journal verify|dump DIR: looks at the journal of an engine that is not running, changes nothing.
#include <fmt/format.h>

#include <memory>

#include "bindings/cli/command.h"
#include "journal/inspect.h"

namespace pinnace::cli {
namespace {

struct Options {
    std::string directory;
    bool records_only = false;
    journal::DumpOptions dump;
};

void print_line(std::string_view line) { fmt::print("{}\n", line); }

// Damage is a failure; a torn end is what a crash leaves, and the next start cuts it.
int conclude(const std::expected<journal::VerifyResult, journal::Error>& result) {
    if (!result) throw CommandError{result.error().text};
    return result->damaged() ? kFailed : kDone;
}

std::function<int()> declare_verify(CLI::App& app) {
    auto directory = std::make_shared<std::string>();
    app.add_option("DIR", *directory, "the engine's data directory")->required();
    return [directory] { return conclude(journal::verify(*directory, print_line)); };
}

std::function<int()> declare_dump(CLI::App& app) {
    auto options = std::make_shared<Options>();
    app.add_option("DIR", options->directory, "the engine's data directory")->required();
    app.add_option("--first", options->dump.first, "only records of this position and later ones");
    app.add_option("--last", options->dump.last, "only records of this position and earlier ones");
    app.add_option("--body-size", options->dump.body_size_max, "bytes of a body that are shown")
        ->capture_default_str();
    app.add_flag("--records-only", options->records_only, "no lines for batches");
    return [options] {
        options->dump.batches = !options->records_only;
        return conclude(journal::dump(options->directory, options->dump, print_line));
    };
}

const Registration kRegistration(
    {"journal",
     "looks at a journal on disk without changing it",
     nullptr,
     {{"verify", "checks every byte; exit code 1 if there is damage", declare_verify, {}},
      {"dump", "shows the records", declare_dump, {}}}});

}  // namespace
}  // namespace pinnace::cli
