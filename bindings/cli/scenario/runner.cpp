// SPDX-License-Identifier: Apache-2.0
#include "bindings/cli/scenario/runner.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "bindings/cli/scenario/compare.h"
#include "bindings/cli/scenario/ledger.h"
#include "bindings/cli/scenario/parse.h"

namespace pinnace::scenario {
namespace {

// 20260101T000005.000000Z, with or without the fraction.
bool is_timestamp(std::string_view text) {
    const auto digits = [&](std::size_t begin, std::size_t end) {
        return std::all_of(text.begin() + static_cast<std::ptrdiff_t>(begin),
                           text.begin() + static_cast<std::ptrdiff_t>(end),
                           [](char c) { return c >= '0' && c <= '9'; });
    };
    return text.size() >= 16 && digits(0, 8) && text[8] == 'T' && digits(9, 15) && text.back() == 'Z';
}

// Runs the commands of one scenario. Each `run` gives the verdict of one kind of command.
class Run {
 public:
    explicit Run(ScenarioWorld& world) : world_(world) {}

    Verdict step(const Step& step) {
        wanted_ = &step.wanted;
        Verdict verdict = std::visit([this](const auto& command) { return run(command); }, step.command);
        for (Arrival& arrival : world_.arrivals()) {
            ledger_.received(arrival.subscription, arrival.message);
            ledger_.keep_for_expect(arrival.subscription, std::move(arrival.message));
        }
        return verdict;
    }

 private:
    // The verdict on an outcome; `compare` looks at the value if there is one and something is wanted of it.
    template <class T, class Compare>
    Verdict judge(const Outcome<T>& outcome, Compare compare) const {
        if (!outcome) return compare_fault(*wanted_, outcome.error());
        if (wants_error(*wanted_)) return differs(in_words(**wanted_), "success");
        if constexpr (std::is_void_v<T>) {
            return *wanted_ ? compare(**wanted_) : Verdict();
        } else {
            return *wanted_ ? compare(**wanted_, *outcome) : Verdict();
        }
    }
    // Of a command whose only good answer is `ok`.
    Verdict judge(const Outcome<void>& outcome) const {
        return judge(outcome, [](const Wanted& wanted) -> Verdict {
            if (wanted.size() == 1 && wanted[0].text == "ok") return {};
            return differs(in_words(wanted), "ok");
        });
    }
    Verdict judge_count(const Outcome<std::uint64_t>& outcome) const {
        return judge(outcome,
                     [](const Wanted& wanted, std::uint64_t got) { return compare_count(wanted, got); });
    }

    Verdict run(const Publish& command) {
        const auto published = world_.publish(command);
        if (published) {
            for (std::size_t at = 0; at < command.messages.size(); ++at) {
                const std::string& name = command.messages[at].name;
                if (!name.empty()) ledger_.name(name, published->at(at).id);
            }
        }
        return judge(published, [&](const Wanted& wanted, const std::vector<Published>& got) {
            return compare_published(wanted, got, command.messages.size() == 1, ledger_);
        });
    }
    Verdict run(const DeltaPublish& command) {
        const auto published = world_.publish_delta(command);
        if (published && !command.message.name.empty()) ledger_.name(command.message.name, published->id);
        return judge(published, [&](const Wanted& wanted, const Published& got) {
            return compare_published(wanted, {&got, 1}, true, ledger_);
        });
    }
    Verdict run(const Delete& command) { return judge_count(world_.erase(command)); }

    Verdict run(const Subscribe& command) {
        std::optional<MessageId> after;
        const std::string& bookmark = command.bookmark;
        if (!bookmark.empty() && bookmark != "EPOCH" && bookmark != "NOW" && !is_timestamp(bookmark)) {
            after = ledger_.find(bookmark);
            if (!after)
                return fmt::format("expected EPOCH, NOW, a message or a timestamp, got `{}`", bookmark);
        }
        const auto outcome = world_.subscribe(command, after);
        if (outcome) ledger_.know(command.name);
        return judge(outcome);
    }
    Verdict run(const Replace& command) { return judge(world_.replace(command)); }
    Verdict run(const Unsubscribe& command) { return judge(world_.unsubscribe(command.name)); }
    Verdict run(const EndClient& command) { return judge(world_.end_client(command)); }
    Verdict run(const Take& command) { return judge(world_.take(command)); }

    Verdict run(const Expect& command) {
        const auto received = ledger_.take_received(command.name);
        if (!received) return fmt::format("expected a subscription named `{}`, got none", command.name);
        return compare_items(command.items, *received, ledger_);
    }

    Verdict run(const Verbs& command) {
        std::vector<VerbTarget> targets;
        for (const std::string& name : command.messages) {
            const auto id = ledger_.find(name);
            if (!id) return fmt::format("expected a message that was named by `as`, got `{}`", name);
            targets.push_back({*id, ledger_.newest_delivery(command.name, *id)});
        }
        Outcome<std::vector<Answer>> answers = world_.verbs(command, targets);
        const auto is_error = [](Answer answer) {
            return answer > Answer::deferred || answer == Answer::duplicate;
        };
        if (answers) {
            const auto error = std::ranges::find_if(*answers, is_error);
            if (error != answers->end()) {
                answers = std::unexpected(Fault{Fault::Kind::refused, std::string(to_text(*error)), 0});
            }
        }
        if (!answers || *wanted_) {
            return judge(answers, [](const Wanted& wanted, const std::vector<Answer>& got) {
                return compare_answers(wanted, got);
            });
        }
        const Token ok{TokenKind::word, "ok", 0, 0};
        return compare_answers({&ok, 1}, *answers);  // what no `=>` means
    }
    Verdict run(const AcknowledgeWhere& command) { return judge_count(world_.acknowledge_where(command)); }

    Verdict run(const Advance& command) { return judge(world_.advance(command.by)); }
    Verdict run(const Restart& command) { return judge(command.crash ? world_.crash() : world_.restart()); }

    Verdict run(const Query& command) {
        return judge(world_.query(command), [&](const Wanted& wanted, const std::vector<Received>& got) {
            return compare_items(wanted, got, ledger_);
        });
    }
    Verdict run(const Rows& command) {
        return judge(world_.rows(command), [](const Wanted& wanted, const std::vector<std::string>& got) {
            return compare_rows(wanted, got);
        });
    }
    Verdict run(const Count& command) {
        return judge(world_.status(command.queue), [&](const Wanted& wanted, const QueueStatus& got) {
            return compare_count(wanted, command.leased_only ? got.leased : got.depth);
        });
    }
    Verdict run(const ExpiredSince& command) {
        return judge(world_.expired(command.queue),
                     [&](const Wanted& wanted, const std::vector<ExpiredMessage>& got) {
                         return compare_expired(wanted, got, ledger_);
                     });
    }
    Verdict run(const Receive& command) {
        const auto received = world_.receive(command);
        if (received) {
            for (const Received& message : *received) ledger_.received(command.name, message);
        }
        return judge(received, [&](const Wanted& wanted, const std::vector<Received>& got) {
            return compare_items(wanted, got, ledger_);
        });
    }
    Verdict run(const Redrive& command) { return judge_count(world_.redrive(command)); }
    Verdict run(const Purge& command) { return judge_count(world_.purge(command.queue)); }

    ScenarioWorld& world_;
    Ledger ledger_;
    const std::optional<Wanted>* wanted_ = nullptr;
};

Verdict run_refused(const Scenario& scenario, const Refused& refused, const MakeWorld& make_world) {
    std::vector<Definition> definitions = scenario.definitions;
    definitions.push_back(refused.definition);
    const std::string wanted = fmt::format("a refusal that names {}", fmt::join(refused.words, " "));
    const auto started = make_world()->start(definitions);
    if (started) return differs(wanted, "success");
    const Fault& fault = started.error();
    if (fault.kind != Fault::Kind::refused) return compare_fault({}, fault);
    const bool all = std::ranges::all_of(
        refused.words, [&](const std::string& word) { return fault.text.find(word) != std::string::npos; });
    return all ? Verdict() : Verdict(differs(wanted, fault.text));
}

}  // namespace

std::optional<Failure> run(const Scenario& scenario, const MakeWorld& make_world) {
    for (const Refused& refused : scenario.refusals) {
        if (auto verdict = run_refused(scenario, refused, make_world)) {
            return Failure{refused.definition.line, printable(*verdict, 2'000)};
        }
    }
    if (!scenario.refusals.empty()) return {};
    const std::unique_ptr<ScenarioWorld> world = make_world();
    if (const auto started = world->start(scenario.definitions); !started) {
        const int first = scenario.definitions.empty() ? 1 : scenario.definitions.front().line;
        const int line = started.error().line != 0 ? started.error().line : first;
        const auto verdict = compare_fault({}, started.error());
        return Failure{line, printable(verdict.value_or("the engine did not start"), 2'000)};
    }
    Run runner(*world);
    for (const Step& step : scenario.steps) {
        if (auto verdict = runner.step(step)) return Failure{step.line, printable(*verdict, 2'000)};
    }
    return {};
}

std::optional<Failure> run_text(std::string_view text, const MakeWorld& make_world) {
    const auto scenario = parse(text);
    if (!scenario) return Failure{scenario.error().line, printable(scenario.error().text, 2'000)};
    return run(*scenario, make_world);
}

}  // namespace pinnace::scenario
