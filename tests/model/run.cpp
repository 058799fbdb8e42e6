// SPDX-License-Identifier: Apache-2.0
#include "tests/model/run.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <functional>

#include "tests/model/engine.h"
#include "tests/model/generator.h"
#include "tests/model/reference/model.h"

namespace pinnace::model {

namespace {

// Compiled expressions are kept over sequences; they hold no state of a run.
Expressions& expressions() {
    static Expressions shared;
    return shared;
}

std::string_view word(Word word) {
    static constexpr std::string_view kWords[] = {"ok",        "stored", "duplicate", "unknown",
                                                  "not_owner", "stale",  "deferred",  "range"};
    return kWords[static_cast<std::size_t>(word)];
}

// The model may name several words of which one is the answer.
bool agree(const Outcome& model, const Outcome& engine) {
    if (model.error == engine.error) return model == engine;
    std::string rest = model.error + "|";
    while (!rest.empty()) {
        const std::size_t bar = rest.find('|');
        if (!engine.error.empty() && rest.substr(0, bar) == engine.error) {
            Outcome same = engine;
            same.error = model.error;
            return model == same;
        }
        rest = rest.substr(bar + 1);
    }
    return false;
}

class Pair {
 public:
    explicit Pair(const Sequence& setup, bool with_engine = true)
        : model_(setup, expressions()), with_engine_(with_engine) {
        run_.executed.seed = setup.seed;
        run_.executed.topics = setup.topics;
        run_.executed.queues = setup.queues;
        if (with_engine) run_.failure = engine_.start(setup);
    }

    const Model& model() const { return model_; }
    Run take() { return std::move(run_); }

    // False: they disagree, and that is all.
    bool step(const Command& command) {
        if (!run_.failure.empty()) return false;
        const auto effective = model_.effective(command);
        if (!effective) return true;
        run_.executed.commands.push_back(*effective);
        if (!with_engine_) {
            run_.outcomes.push_back(model_.run(*effective));
            return true;
        }
        const Outcome engine = engine_.run(*effective);
        const Outcome model = model_.run(*effective, &engine.numbers);
        run_.outcomes.push_back(model);
        if (agree(model, engine)) return true;
        run_.failure = "the model:\n" + in_words(model) + "the core:\n" + in_words(engine);
        return false;
    }

 private:
    Model model_;
    Engine engine_;
    Run run_;
    bool with_engine_;
};

}  // namespace

Run run_seed(std::uint64_t seed, unsigned features, int command_count, bool with_engine) {
    Generator generator(seed, features);
    Pair pair(generator.setup(), with_engine);
    for (int left = command_count; left > 0; --left)
        if (!pair.step(generator.next(pair.model()))) break;
    return pair.take();
}

Run run(const Sequence& sequence, bool with_engine) {
    Pair pair(sequence, with_engine);
    for (const Command& command : sequence.commands)
        if (!pair.step(command)) break;
    return pair.take();
}

std::string in_words(const Outcome& outcome) {
    std::string text;
    if (!outcome.error.empty()) text += "  error " + outcome.error + "\n";
    for (std::size_t at = 0; at < outcome.words.size(); ++at) {
        text += "  " + std::string(word(outcome.words[at]));
        if (at < outcome.firsts.size() && outcome.firsts[at] != 0)
            text += " of m" + std::to_string(outcome.firsts[at]);
        text += "\n";
    }
    if (outcome.count != 0) text += "  count " + std::to_string(outcome.count) + "\n";
    if (!outcome.listing.empty()) {
        text += "  listed";
        for (const int name : outcome.listing) text += " m" + std::to_string(name);
        text += "\n";
    }
    for (const Delivered& d : outcome.delivered) {
        text += "  s" + std::to_string(d.subscription) + " gets m" + std::to_string(d.name) + " of Q" +
                std::to_string(d.queue + 1) + ", delivery " + std::to_string(d.count);
        text += ", published " + std::to_string(d.published - kStart);
        if (d.deadline != kNever) text += ", until " + std::to_string(d.deadline - kStart);
        text += "\n";
    }
    for (const Left& left : outcome.left)
        text += "  Q" + std::to_string(left.queue + 1) + " loses m" + std::to_string(left.name) +
                " for reasons " + std::to_string(left.reasons) + "\n";
    text += "  depth/leased";
    for (const Numbers& numbers : outcome.numbers)
        text += " " + std::to_string(numbers.depth) + "/" + std::to_string(numbers.leased);
    return text + "\n";
}

// --- Shrinking

namespace {

// In a process of its own, since the core stops the process when it finds a fault of its own. Definitions
// that are refused are no failure of the kind that is looked for.
bool fails(const Sequence& sequence) {
    const pid_t child = ::fork();
    if (child == 0) {
        if (::freopen("/dev/null", "w", stderr) == nullptr) ::_exit(0);
        std::signal(SIGABRT, SIG_DFL);
        std::signal(SIGALRM, SIG_DFL);
        ::alarm(2);  // it may hang as well
        const Run made = run(sequence);
        ::_exit(!made.failure.empty() && !made.executed.commands.empty() ? 1 : 0);
    }
    int status = 0;
    return child > 0 && ::waitpid(child, &status, 0) == child && status != 0;
}

// Leaves out commands, in pieces that get smaller.
bool drop_commands(Sequence& sequence) {
    bool any = false;
    for (std::size_t size = std::max<std::size_t>(sequence.commands.size() / 2, 1);; size /= 2) {
        for (std::size_t at = 0; at < sequence.commands.size();) {
            Sequence shorter = sequence;
            const auto begin = shorter.commands.begin() + static_cast<std::ptrdiff_t>(at);
            const auto end =
                begin + static_cast<std::ptrdiff_t>(std::min(size, shorter.commands.size() - at));
            shorter.commands.erase(begin, end);
            if (fails(shorter)) {
                sequence = std::move(shorter);
                any = true;
            } else {
                at += size;
            }
        }
        if (size <= 1) return any;
    }
}

// Tries a change; keeps it if the sequence still fails.
bool attempt(Sequence& sequence, const std::function<void(Sequence&)>& change) {
    Sequence changed = sequence;
    change(changed);
    if (!fails(changed)) return false;
    sequence = std::move(changed);
    return true;
}

bool simplify_queue(Sequence& sequence, std::size_t at) {
    const QueueDef plain;
    bool any = false;
    const auto reset = [&]<class T>(T QueueDef::* field) {
        if (sequence.queues[at].*field == plain.*field) return;
        any = attempt(sequence, [&](Sequence& s) { s.queues[at].*field = plain.*field; }) || any;
    };
    reset(&QueueDef::lease_period);
    reset(&QueueDef::expiration);
    reset(&QueueDef::delay);
    reset(&QueueDef::max_backlog);
    reset(&QueueDef::max_per_subscription);
    reset(&QueueDef::target_depth);
    reset(&QueueDef::deferred_expiration);
    reset(&QueueDef::max_deliveries);
    reset(&QueueDef::max_cancels);
    reset(&QueueDef::filter);
    reset(&QueueDef::priority);
    reset(&QueueDef::barrier);
    reset(&QueueDef::group_key);
    reset(&QueueDef::dead_letters);
    reset(&QueueDef::persisted);
    reset(&QueueDef::sticky);
    reset(&QueueDef::dedup_window);
    reset(&QueueDef::fairness);
    if (!sequence.queues[at].fifo) reset(&QueueDef::strict);
    return any;
}

bool simplify_command(Sequence& sequence, std::size_t at) {
    bool any = false;
    const auto change = [&](bool wanted, const std::function<void(Command&)>& edit) {
        if (wanted) any = attempt(sequence, [&](Sequence& s) { edit(s.commands[at]); }) || any;
    };
    const auto& command = sequence.commands[at];
    change(command.kind == Kind::subscribe && command.filter, [](Command& c) { c.filter.reset(); });
    change(command.kind == Kind::subscribe && command.flag, [](Command& c) { c.flag = false; });
    change(command.publisher != 0, [](Command& c) { c.publisher = 0; });
    change(command.names.size() > 1, [](Command& c) { c.names.pop_back(); });
    change(command.names.size() > 1, [](Command& c) { c.names.erase(c.names.begin()); });
    change(command.messages.size() > 1, [](Command& c) { c.messages.pop_back(); });
    change(command.messages.size() > 1, [](Command& c) { c.messages.erase(c.messages.begin()); });
    change(command.flag && command.messages.size() == 1, [](Command& c) { c.flag = false; });
    if (command.messages.size() != 1) return any;
    change(command.messages[0].dedup.has_value(), [](Command& c) { c.messages[0].dedup.reset(); });
    change(command.messages[0].expiration >= 0, [](Command& c) { c.messages[0].expiration = -1; });
    change(command.messages[0].delay >= 0, [](Command& c) { c.messages[0].delay = -1; });
    return any;
}

}  // namespace

bool stops_the_process(const Sequence& sequence) { return fails(sequence); }

Sequence shrink(const Sequence& failing) {
    Sequence sequence = failing;
    for (bool again = true; again;) {
        again = drop_commands(sequence);
        for (std::size_t at = 0; at < sequence.queues.size(); ++at)
            again = simplify_queue(sequence, at) || again;
        for (std::size_t at = 0; at < sequence.commands.size(); ++at)
            again = simplify_command(sequence, at) || again;
    }
    return sequence;
}

}  // namespace pinnace::model
