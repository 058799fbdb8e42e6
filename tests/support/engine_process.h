// SPDX-License-Identifier: Apache-2.0
// An engine as a process of its own, for tests that kill it: `pinnace serve`, ready when start() returns.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

extern char** environ;

namespace pinnace::testing {

class EngineProcess {
 public:
    // `binary`: the program pinnace. `arguments`: those of serve.
    EngineProcess(std::string binary, std::vector<std::string> arguments)
        : binary_(std::move(binary)), arguments_(std::move(arguments)) {}
    ~EngineProcess() {
        if (pid_ > 0) kill_now();
    }
    EngineProcess(const EngineProcess&) = delete;
    EngineProcess& operator=(const EngineProcess&) = delete;

    // False: it ended before it was ready; what it said is in last_line().
    bool start() {
        int ends[2] = {};
        if (pipe2(ends, O_CLOEXEC) != 0) return false;
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
        posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
        std::vector<char*> argv{binary_.data(), const_cast<char*>("serve")};
        for (std::string& argument : arguments_) argv.push_back(argument.data());
        argv.push_back(nullptr);
        const int failed = posix_spawn(&pid_, binary_.c_str(), &actions, nullptr, argv.data(), environ);
        posix_spawn_file_actions_destroy(&actions);
        close(ends[1]);
        const bool ready = failed == 0 && wait_for_ready(ends[0]);
        close(ends[0]);
        if (!ready && failed == 0) wait_for_end();
        return ready;
    }
    void kill_now() {
        ::kill(pid_, SIGKILL);
        wait_for_end();
    }
    // The exit status of an orderly stop.
    int stop() {
        ::kill(pid_, SIGTERM);
        return wait_for_end();
    }
    // It is told to stop and told again before it can have done so; the signal that ended it, or 0.
    int stop_at_once() {
        ::kill(pid_, SIGTERM);
        ::kill(pid_, SIGINT);
        const int status = wait_for_end();
        return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    }
    // All that it said before it was ready, or before it ended.
    std::string last_line() const { return said_ + line_; }

 private:
    bool wait_for_ready(int fd) {
        line_.clear();
        said_.clear();
        char c = 0;
        while (read(fd, &c, 1) == 1) {
            if (c != '\n') {
                line_ += c;
            } else if (line_.find("ready") != std::string::npos) {
                return true;
            } else {
                said_ += line_ + "; ";
                line_.clear();
            }
        }
        return false;
    }
    int wait_for_end() {
        int status = 0;
        while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
        }
        pid_ = -1;
        return status;
    }

    std::string binary_;
    std::vector<std::string> arguments_;
    std::string line_;
    std::string said_;
    pid_t pid_ = -1;
};

// PINNACE_SEED, so that each commit tries something else and a run can be repeated.
inline unsigned long long test_seed() {
    const char* seed = std::getenv("PINNACE_SEED");
    return seed == nullptr ? 1 : std::strtoull(seed, nullptr, 10);
}
inline int rounds_or(const char* name, int otherwise) {
    const char* rounds = std::getenv(name);
    return rounds == nullptr ? otherwise : std::atoi(rounds);
}

}  // namespace pinnace::testing
