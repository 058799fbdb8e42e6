// SPDX-License-Identifier: Apache-2.0
// Commands: what the control thread wants done by the dispatcher, and the way back. Two bounded rings
// between two threads of ours; whoever must be woken is woken through the function given.
#pragma once

#include <boost/lockfree/spsc_queue.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "core/check.h"

namespace pinnace::daemon {

struct Command {
    std::function<bool()> apply;   // dispatcher; false: cannot be done yet, tried again each turn
    std::function<void()> finish;  // control, after apply said true; may be empty
};

class Commands {
 public:
    Commands() { later_.reserve(kCapacity); }
    ~Commands() {
        Command* command = nullptr;
        while (wanted_.pop(command)) delete command;
        while (done_.pop(command)) delete command;
        for (Command* later : later_) delete later;
    }
    Commands(const Commands&) = delete;
    Commands& operator=(const Commands&) = delete;

    // Control. False: too many are under way; the caller keeps it and tries again after finish_done().
    bool post(std::unique_ptr<Command>& command) {
        if (under_way_ == kCapacity || !wanted_.push(command.get())) return false;
        command.release();
        ++under_way_;
        return true;
    }
    // Control: runs what is finished. Commands are freed here, so that the dispatcher frees no memory.
    void finish_done() {
        Command* command = nullptr;
        while (done_.pop(command)) {
            const std::unique_ptr<Command> owned(command);
            --under_way_;
            if (owned->finish) owned->finish();
        }
    }

    // Dispatcher. True: something was done, and the control thread must be told. A command that must wait
    // lets later ones pass: each session has one request under way at most.
    bool apply_wanted() {
        bool any = false;
        std::erase_if(later_, [&](Command* command) { return try_apply(command, any); });
        Command* command = nullptr;
        while (wanted_.pop(command)) {
            if (!try_apply(command, any)) later_.push_back(command);
        }
        return any;
    }
    // Dispatcher: nothing has come that was not looked at.
    bool idle() const { return wanted_.read_available() == 0; }
    bool waiting() const { return !later_.empty(); }

 private:
    static constexpr std::size_t kCapacity = 1024;

    bool try_apply(Command* command, bool& any) {
        if (!command->apply()) return false;
        const bool room = done_.push(command);
        PINNACE_CHECK(room);  // as many places as commands can be under way
        any = true;
        return true;
    }

    boost::lockfree::spsc_queue<Command*, boost::lockfree::capacity<kCapacity>> wanted_;
    boost::lockfree::spsc_queue<Command*, boost::lockfree::capacity<kCapacity>> done_;
    std::size_t under_way_ = 0;    // control's
    std::vector<Command*> later_;  // dispatcher's
};

}  // namespace pinnace::daemon
