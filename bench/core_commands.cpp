// SPDX-License-Identifier: Apache-2.0
#include "bench/core_commands.h"

#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "bench/depth.h"
#include "bench/filter.h"
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

std::function<int()> declare_filter(CLI::App& app) {
    struct Options {
        std::string only;
        std::string file;
        int rounds = 20;
        bool json = false;
    };
    auto options = std::make_shared<Options>();
    std::vector<std::string> names(bench::kFilterTypes.begin(), bench::kFilterTypes.end());
    app.add_option("--type", options->only, "this message type alone [all]")->check(CLI::IsMember(names));
    app.add_option("--file", options->file, "JSON messages, one a line [made here]")
        ->check(CLI::ExistingFile);
    app.add_option("--rounds", options->rounds, "passes, the fastest counts [20]")
        ->type_name("N")
        ->check(CLI::Range(1, 1'000'000));
    app.add_flag("--json", options->json, "one JSON object a line");
    return [options] {
        if (!options->json) fmt::print("{}\n", bench::environment());
        for (const std::string_view type : bench::kFilterTypes) {
            if (!options->only.empty() && options->only != type) continue;
            std::vector<std::string> messages;
            if (type == "json" && !options->file.empty()) {
                std::ifstream file(options->file);
                for (std::string line; std::getline(file, line);) messages.push_back(line);
            } else {
                messages = bench::filter_messages(type, 10'000);
            }
            const auto figures = bench::filter(type, messages, options->rounds);
            if (!figures) throw CommandError{fmt::format("{}: {}", type, figures.error())};
            fmt::print("{}\n", options->json ? figures->to_json() : figures->to_text());
        }
        return kDone;
    };
}

}  // namespace pinnace::cli
