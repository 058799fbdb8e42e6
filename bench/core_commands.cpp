// SPDX-License-Identifier: Apache-2.0
#include "bench/core_commands.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "bench/depth.h"
#include "bench/place.h"
#include "bindings/cli/command.h"

namespace pinnace::cli {

std::function<int()> declare_depth(CLI::App& app) {
    struct Options {
        std::uint64_t messages = 10'000'000;
        std::string only;
        bool json = false;
    };
    auto options = std::make_shared<Options>();
    app.add_option("--messages", options->messages, "the depth [10000000]")
        ->type_name("N")
        ->check(CLI::Range(bench::kDepthMessagesMin, std::uint64_t{1} << 31));
    std::vector<std::string> names;
    for (const bench::DepthCase which : bench::kDepthCases) names.emplace_back(bench::to_text(which));
    app.add_option("--case", options->only, "this one alone [all]")->check(CLI::IsMember(names));
    app.add_flag("--json", options->json, "one JSON object a line");
    return [options] {
        if (!options->json) fmt::print("{}\n", bench::environment());
        for (const bench::DepthCase which : bench::kDepthCases) {
            if (!options->only.empty() && options->only != bench::to_text(which)) continue;
            const auto figures = bench::depth(which, options->messages);
            if (!figures) throw CommandError{fmt::format("{}: {}", bench::to_text(which), figures.error())};
            fmt::print("{}\n", options->json ? figures->to_json() : figures->to_text());
            std::fflush(stdout);
        }
        return kDone;
    };
}

}  // namespace pinnace::cli
