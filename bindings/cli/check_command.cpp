// SPDX-License-Identifier: Apache-2.0
// pinnace check CONFIG.xml: all that is wrong with a configuration, or what it comes to.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <string>

#include "bindings/cli/command.h"
#include "bindings/config/configuration.h"

namespace pinnace::cli {
namespace {

struct Options {
    std::string path;
    bool print = false;
};

int check(const Options& options) {
    const auto loaded = config::load(options.path);
    if (!loaded) throw CommandError{loaded.error()};
    fmt::print(stderr, "{}", loaded->text(options.path, true));
    if (loaded->has_errors())
        throw CommandError{fmt::format("{}: this configuration is not served", options.path)};
    if (options.print) {
        fmt::print("{}", config::write(loaded->configuration));
    } else {
        const Definitions& definitions = loaded->configuration.definitions;
        fmt::print("{}: good; topics: {}, queues: {}, actions: {}, warnings: {}\n", options.path,
                   definitions.topics.size(), definitions.queues.size(), definitions.actions.size(),
                   loaded->problems.size());
    }
    return kDone;
}

std::function<int()> declare(CLI::App& app) {
    auto options = std::make_shared<Options>();
    app.add_option("CONFIG", options->path, "the configuration, an XML file")->required();
    app.add_flag("--print", options->print, "writes the effective configuration, defaults included");
    return [options] { return check(*options); };
}

const Registration kRegistration({"check", "says what is wrong with a configuration file", declare, {}});

}  // namespace
}  // namespace pinnace::cli
