// SPDX-License-Identifier: Apache-2.0
#include "bench/engine_child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

namespace pinnace::bench {
namespace {

// Runs the engine until `life` is closed at the other end. What is written to `ready`: "ok", or why not.
[[noreturn]] void run_engine(const EngineChoice& choice, const std::string& directory, int life, int ready) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    EngineOptions options;
    options.data_directory = directory;
    options.wait = choice.wait;
    options.pin = false;
    // What one message after the other needs stays in the cache; a full pipe has to bridge the disk's pauses.
    options.log_small_size = choice.journal_size == 0 ? 8u << 20 : 32u << 20;
    if (!choice.place.shared()) {
        options.dispatcher_cpu = choice.place.dispatcher;
        options.journal_cpu = choice.place.client;
    }
    if (choice.journal_size != 0) {
        options.first_segment_size = std::min(std::bit_ceil(2 * choice.journal_size), std::uint64_t{2} << 30);
        options.segment_size = std::max(options.segment_size, options.first_segment_size);
    }
    if (choice.is_small) {
        options.message_size_max = 1u << 20;
        options.segment_size = 8u << 20;
        options.log_small_size = 4u << 20;
        options.log_large_size = 8u << 20;
        options.log_reread_size = 4u << 20;
    }
    QueueConfig queue;
    queue.name = "bench";
    queue.lease_period = 60'000'000'000;
    options.definitions.queues.push_back(queue);
    const auto engine = Engine::start(options);
    const std::string said = engine ? "ok" : engine.error();
    if (write(ready, said.data(), said.size()) < 0 || !engine) _exit(1);
    close(ready);
    char end = 0;
    while (read(life, &end, 1) < 0 && errno == EINTR) {
    }
    _exit((*engine)->stop() ? 0 : 1);
}

}  // namespace

std::expected<EngineChild, std::string> EngineChild::start(const EngineChoice& choice) {
    std::string directory = choice.data_directory;
    if (directory.empty()) {
        directory = (std::filesystem::temp_directory_path() / "pinnace-bench-XXXXXX").string();
        if (mkdtemp(directory.data()) == nullptr) {
            return std::unexpected(
                fmt::format("no temporary directory can be made: {}", std::strerror(errno)));
        }
    }
    int life[2] = {};
    int ready[2] = {};
    if (pipe2(life, O_CLOEXEC) != 0 || pipe2(ready, O_CLOEXEC) != 0) {
        return std::unexpected(fmt::format("no pipe can be made: {}", std::strerror(errno)));
    }
    const pid_t pid = fork();
    if (pid == 0) {
        close(life[1]);
        close(ready[0]);
        run_engine(choice, directory, life[0], ready[1]);
    }
    close(life[0]);
    close(ready[1]);
    EngineChild child(directory, choice.data_directory.empty(), pid, life[1]);
    std::string said;
    char part[256];
    for (ssize_t size = 0; (size = read(ready[0], part, sizeof part)) > 0;)
        said.append(part, static_cast<std::size_t>(size));
    close(ready[0]);
    if (said != "ok") return std::unexpected(said.empty() ? "the engine did not start" : said);
    return child;
}

EngineChild::EngineChild(EngineChild&& other) noexcept
    : directory_(std::move(other.directory_)),
      is_own_(std::exchange(other.is_own_, false)),
      pid_(std::exchange(other.pid_, -1)),
      life_(std::exchange(other.life_, -1)) {}

EngineChild::~EngineChild() {
    if (life_ >= 0) close(life_);
    if (pid_ > 0) {
        while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
        }
    }
    std::error_code ignored;  // what is left of a temporary directory harms nobody
    if (is_own_) std::filesystem::remove_all(directory_, ignored);
}

}  // namespace pinnace::bench
