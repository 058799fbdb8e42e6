// SPDX-License-Identifier: Apache-2.0
// pinnace scenario PATH...: runs scenario files and says which hold.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

#include "bindings/cli/command.h"
#include "bindings/cli/scenario/live_world.h"
#include "bindings/cli/scenario/runner.h"
#include "bindings/cli/scenario/simulated_world.h"

namespace pinnace::cli {
namespace {

namespace fs = std::filesystem;

struct Options {
    std::vector<std::string> paths;
    bool live = false;
};

constexpr const char* kForm = R"(A scenario is a text file of one command a line. Definitions come first:
  queue NAME Element=value ...     topic NAME     sow NAME Key=/id ...     view NAME Element=value ...
  config <<END ... END             refuse DEFINITION => word ...
Commands:
  publish TOPIC BODY [as M] [expiration=D] [delay=D] [group=G] [dedup=K] [from=P seq=N]
  batch TOPIC <<END ... END        delta TOPIC BODY [as M]       delete TOPIC where EXPR
  subscribe S QUEUE [max_backlog=N] [filter=EXPR] [client=C] [user=U] [take=manual] [bookmark=B]
  tail S TOPIC [bookmark=B] [filter=EXPR]      replace S [topic=T] [max_backlog=N] [filter=EXPR]
  unsubscribe S     disconnect C     kill C    take S [N]        expect S ITEM ...
  ack S M ...       cancel S M ...   expire S M ...              renew S M ... [D]
  ack S QUEUE where EXPR           receive S QUEUE max=N         advance D
  restart     crash                sow QUEUE [where EXPR]        rows VIEW [where EXPR]
  depth QUEUE     leased QUEUE     expired QUEUE                 redrive FROM TO     purge QUEUE
Behind `=>` stands what the command must answer; time moves only by `advance`.)";

// The files that a path stands for: itself, or all *.scn below it, in the order of their names.
std::vector<fs::path> files_of(const std::string& path) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (!fs::exists(status)) {
        throw CommandError{fmt::format("{}: {}", path, error ? error.message() : "no such file or folder")};
    }
    if (!fs::is_directory(status)) return {path};
    std::vector<fs::path> files;
    for (auto entry = fs::recursive_directory_iterator(path, error); !error && entry != fs::end(entry);
         entry.increment(error)) {
        if (entry->path().extension() == ".scn" && !entry->is_directory(error))
            files.push_back(entry->path());
    }
    if (error) throw CommandError{fmt::format("{}: {}", path, error.message())};
    if (files.empty()) throw CommandError{fmt::format("{}: there is no file *.scn in it", path)};
    std::ranges::sort(files);
    return files;
}

std::string read_file(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    std::string text;
    char buffer[16'384];
    while (in.read(buffer, sizeof(buffer)) || in.gcount() > 0) {
        text.append(buffer, static_cast<std::size_t>(in.gcount()));
    }
    if (!in.eof()) throw CommandError{fmt::format("{}: {}", path.string(), std::strerror(errno))};
    return text;
}

int run(const Options& options) {
    std::vector<fs::path> files;
    for (const std::string& path : options.paths) {
        const auto more = files_of(path);
        files.insert(files.end(), more.begin(), more.end());
    }
    int passed_count = 0;
    int failed_count = 0;
    const auto make_world = [&]() -> std::unique_ptr<scenario::ScenarioWorld> {
        if (options.live) return std::make_unique<scenario::LiveWorld>();
        return std::make_unique<scenario::SimulatedWorld>();
    };
    for (const fs::path& file : files) {
        const auto failure = scenario::run_text(read_file(file), make_world);
        if (failure) {
            ++failed_count;
            fmt::print("FAIL {}:{}: {}\n", file.string(), failure->line, failure->text);
        } else {
            ++passed_count;
            fmt::print("ok {}\n", (file.parent_path() / file.stem()).string());
        }
        std::fflush(stdout);
    }
    fmt::print("{} passed, {} failed\n", passed_count, failed_count);
    return failed_count == 0 ? kDone : kFailed;
}

std::function<int()> declare(CLI::App& app) {
    auto options = std::make_shared<Options>();
    app.add_option("PATH", options->paths, "scenario files, or folders of *.scn")->required();
    app.add_flag(
        "--live", options->live,
        "with a real engine, its journal on disk in a temporary folder, and clients over shared memory");
    app.footer(kForm);
    return [options] { return run(*options); };
}

const Registration kRegistration({"scenario", "tests queues in virtual time by scenario files", declare, {}});

}  // namespace
}  // namespace pinnace::cli
