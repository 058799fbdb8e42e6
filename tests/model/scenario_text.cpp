// SPDX-License-Identifier: Apache-2.0
#include "tests/model/scenario_text.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>

namespace pinnace::model {

namespace {

std::string duration(Duration value) {
    return value % kSecond == 0 ? std::to_string(value / kSecond) + "s" : std::to_string(value) + "ns";
}

std::string quoted(const std::string& text) {
    if (text.find_first_of(" '\"^$|()") == std::string::npos) return text;
    return text.find('\'') == std::string::npos ? "'" + text + "'" : "\"" + text + "\"";
}

std::string numbered(const char* prefix, int number) {
    const std::string digits = std::to_string(number);
    return prefix + std::string(digits.size() < 3 ? 3 - digits.size() : 0, '0') + digits;
}

std::string client(int number) {
    return number >= kPullerBase ? numbered("p", number - kPullerBase) : numbered("c", number);
}

std::string subscriber(int number) {
    return number >= kPullerBase ? numbered("p", number - kPullerBase) : "s" + std::to_string(number);
}

std::string reasons_in_words(unsigned reasons) {
    static constexpr const char* kNames[] = {"time_limit", "max_cancels", "max_deliveries", "forced_expire"};
    std::string text;
    for (unsigned bit = 0; bit < 4; ++bit)
        if ((reasons >> bit & 1) != 0) text += (text.empty() ? "" : ",") + std::string(kNames[bit]);
    return text;
}

std::string definition(const QueueDef& def) {
    const QueueDef plain;
    std::string line = "queue " + def.name;
    const auto put = [&](const char* element, const std::string& value) {
        if (!value.empty()) line += " " + std::string(element) + "=" + quoted(value);
    };
    const auto put_time = [&](const char* element, Duration value, Duration none) {
        if (value != none) put(element, duration(value));
    };
    const auto put_count = [&](const char* element, std::uint64_t value, std::uint64_t none) {
        if (value != none) put(element, std::to_string(value));
    };
    for (const std::string& topic : def.topics) put("UnderlyingTopic", topic);
    put("DefaultPublishTarget", def.target);
    if (def.at_most_once) put("Semantics", "at-most-once");
    if (def.fifo) put("Type", "fifo");
    if (def.strict && !def.fifo) put("Leasing", "strict");
    if (def.sticky) put("GroupDelivery", "sticky");
    if (def.content_dedup) put("ContentBasedDedup", "true");
    if (def.persisted) put("DeliverAfter", "persisted");
    if (!def.at_most_once && def.fairness == Fairness::round_robin) put("FairnessModel", "round-robin");
    if (def.fairness == Fairness::fast) put("FairnessModel", "fast");
    put_time("LeasePeriod", def.lease_period, kNever);
    put_time("Expiration", def.expiration, kNever);
    put_time("Delay", def.delay, 0);
    put_time("DeferredAckExpiration", def.deferred_expiration, plain.deferred_expiration);
    if (def.fifo) put("DedupWindow", def.dedup_window == 0 ? "0" : duration(def.dedup_window));
    if (!def.fifo) put_time("DedupWindow", def.dedup_window, 0);
    put_count("MaxBacklog", def.max_backlog, UINT64_MAX);
    put_count("MaxPerSubscriptionBacklog", def.max_per_subscription, UINT64_MAX);
    put_count("TargetQueueDepth", def.target_depth, UINT64_MAX);
    put_count("MaxDeliveries", def.max_deliveries, 0);
    put_count("MaxCancels", def.max_cancels, 0);
    put("Filter", def.filter);
    put("Priority", def.priority);
    put("BarrierExpression", def.barrier);
    put("GroupKey", def.group_key);
    put("DeadLetterQueue", def.dead_letters);
    return line + "\n";
}

class Writer {
 public:
    explicit Writer(const Sequence& sequence) : sequence_(sequence) {}

    std::string write(const std::vector<Outcome>& outcomes) {
        for (const std::string& topic : sequence_.topics) text_ += "topic " + topic + "\n";
        for (const QueueDef& def : sequence_.queues) text_ += definition(def);
        for (std::size_t at = 0; at < outcomes.size(); ++at) step(sequence_.commands[at], outcomes[at]);
        for (const int name : seen_) text_ += "expect " + subscriber(name) + "\n";
        for (std::size_t at = 0; !outcomes.empty() && at < sequence_.queues.size(); ++at) {
            const std::string& queue = sequence_.queues[at].name;
            text_ += "depth " + queue + " => " + std::to_string(outcomes.back().numbers[at].depth) + "\n";
            text_ += "leased " + queue + " => " + std::to_string(outcomes.back().numbers[at].leased) + "\n";
        }
        return text_;
    }

 private:
    const std::string& queue(int index) const {
        return sequence_.queues[static_cast<std::size_t>(index)].name;
    }

    // A message by its name if it could be given one.
    std::string item(int name, std::uint64_t count = 0) const {
        if (!named_.contains(name)) return bodies_.at(name);
        return "m" + std::to_string(name) + (count == 0 ? "" : "#" + std::to_string(count));
    }

    std::string options(const NewMessage& message, Word word, bool failed) {
        std::string text = message.body;
        bodies_[message.name] = message.body;
        if (!failed && word == Word::stored) {
            text += " as m" + std::to_string(message.name);
            named_.insert(message.name);
        }
        if (message.expiration >= 0) text += " expiration=" + duration(message.expiration);
        if (message.delay >= 0) text += " delay=" + duration(message.delay);
        if (message.group) text += " group=" + quoted(*message.group);
        if (message.dedup) text += " dedup=" + *message.dedup;
        return text;
    }

    static std::string error_word(const std::string& error) {
        const std::size_t bar = error.find('|');
        return bar == std::string::npos ? error : "bad_";
    }

    void publish(const Command& command, const Outcome& outcome) {
        const bool failed = !outcome.error.empty();
        std::string answer = failed ? "error " + error_word(outcome.error) : "";
        std::string lines;
        for (std::size_t at = 0; at < command.messages.size(); ++at) {
            const Word word = failed ? Word::ok : outcome.words[at];
            lines += options(command.messages[at], word, failed) + (command.flag ? "\n" : "");
            if (failed) continue;
            if (!answer.empty()) answer += " ";
            answer += word == Word::stored ? "stored" : "duplicate";
            if (outcome.firsts[at] != 0)
                answer += (command.flag ? ":m" : " m") + std::to_string(outcome.firsts[at]);
        }
        if (command.flag) {
            text_ += "batch " + command.target + " <<END => " + answer + "\n" + lines + "END\n";
            return;
        }
        text_ += "publish " + command.target + " " + lines;
        if (command.publisher != 0)
            text_ += " from=p" + std::to_string(command.publisher) + " seq=" + std::to_string(command.number);
        text_ += " => " + answer + "\n";
    }

    void subscribe(const Command& command, const Outcome& outcome) {
        const bool tail = command.target.front() == 't';
        text_ += (tail ? "tail s" : "subscribe s") + std::to_string(command.subscription) + " " +
                 quoted(command.target);
        if (command.max_backlog && !tail) text_ += " max_backlog=" + std::to_string(*command.max_backlog);
        if (command.filter) text_ += " filter=" + quoted(*command.filter);
        text_ += " client=" + client(command.client);
        if (command.flag) text_ += " take=manual";
        if (!outcome.error.empty()) {
            text_ += " => error " + outcome.error;
        } else {
            if (command.flag) manual_[command.subscription];
            seen_.insert(command.subscription);
        }
        text_ += "\n";
    }

    void replace(const Command& command, const Outcome& outcome) {
        text_ += "replace " + subscriber(command.subscription);
        if (!command.target.empty()) text_ += " topic=" + quoted(command.target);
        if (command.max_backlog) text_ += " max_backlog=" + std::to_string(*command.max_backlog);
        if (command.filter) text_ += " filter=" + quoted(*command.filter);
        if (!outcome.error.empty()) text_ += " => error " + outcome.error;
        text_ += "\n";
    }

    void verbs(const char* verb, const Command& command, const Outcome& outcome) {
        static constexpr const char* kWords[] = {"ok",        "stored", "duplicate", "unknown",
                                                 "not_owner", "stale",  "deferred",  "range"};
        text_ += std::string(verb) + " " + subscriber(command.subscription);
        for (const int name : command.names) text_ += " m" + std::to_string(name);
        if (command.time != 0) text_ += " " + duration(command.time);
        text_ += " =>";
        const bool range = std::ranges::find(outcome.words, Word::range) != outcome.words.end();
        if (range) text_ += " error range";
        for (const Word word : outcome.words)
            if (!range) text_ += " " + std::string(kWords[static_cast<std::size_t>(word)]);
        text_ += "\n";
    }

    void receive(const Command& command, const Outcome& outcome) {
        text_ += "receive " + subscriber(command.subscription) + " " + queue(command.queue) +
                 " max=" + std::to_string(command.number) + " =>";
        std::uint64_t left = outcome.count;
        for (const Delivered& d : outcome.delivered) {
            if (d.subscription != command.subscription || left == 0) continue;
            text_ += " " + item(d.name, d.count);
            --left;
        }
        text_ += "\n";
    }

    void command_line(const Command& command, const Outcome& outcome) {
        switch (command.kind) {
            case Kind::publish:
                return publish(command, outcome);
            case Kind::subscribe:
                return subscribe(command, outcome);
            case Kind::replace:
                return replace(command, outcome);
            case Kind::acknowledge:
                return verbs("ack", command, outcome);
            case Kind::cancel:
                return verbs("cancel", command, outcome);
            case Kind::expire:
                return verbs("expire", command, outcome);
            case Kind::renew:
                return verbs("renew", command, outcome);
            case Kind::receive:
                return receive(command, outcome);
            default:
                text_ += plain_line(command, outcome) + "\n";
        }
    }

    std::string plain_line(const Command& command, const Outcome& outcome) {
        const std::string count = " => " + std::to_string(outcome.count);
        switch (command.kind) {
            case Kind::unsubscribe:
                manual_.erase(command.subscription);
                return "unsubscribe " + subscriber(command.subscription);
            case Kind::end_client:
                return (command.flag ? "kill " : "disconnect ") + client(command.client);
            case Kind::take: {
                std::string line = "take " + subscriber(command.subscription);
                if (command.number != UINT64_MAX) line += " " + std::to_string(command.number);
                auto& ring = manual_[command.subscription];
                line += "\nexpect " + subscriber(command.subscription);
                for (std::uint64_t left = outcome.count; left > 0 && !ring.empty(); --left) {
                    line += " " + ring.front();
                    ring.pop_front();
                }
                return line;
            }
            case Kind::acknowledge_where:
                return "ack " + subscriber(command.subscription) + " " + queue(command.queue) + " where " +
                       *command.filter + count;
            case Kind::advance:
                return "advance " + duration(command.time);
            case Kind::restart:
                return "restart";
            case Kind::crash:
                return "crash";
            case Kind::query: {
                std::string line = "sow " + queue(command.queue) + " =>";
                for (const int name : outcome.listing) line += " " + item(name);
                return line;
            }
            case Kind::redrive:
                return "redrive " + queue(command.queue) + " " + queue(command.other) + count;
            default:
                return "purge " + queue(command.queue) + count;
        }
    }

    void step(const Command& command, const Outcome& outcome) {
        command_line(command, outcome);
        std::map<int, std::string> got;
        std::uint64_t pulled = command.kind == Kind::receive ? outcome.count : 0;
        for (const Delivered& d : outcome.delivered) {
            if (pulled != 0 && d.subscription == command.subscription) {
                --pulled;
            } else if (manual_.contains(d.subscription)) {
                manual_[d.subscription].push_back(item(d.name, d.count));
            } else {
                got[d.subscription] += " " + item(d.name, d.count);
            }
        }
        for (const auto& [name, items] : got) text_ += "expect " + subscriber(name) + items + "\n";
        std::map<int, std::string> left;
        for (const Left& event : outcome.left)
            left[event.queue] += " " + item(event.name) + ":" + reasons_in_words(event.reasons);
        for (const auto& [index, items] : left) text_ += "expired " + queue(index) + " =>" + items + "\n";
    }

    const Sequence& sequence_;
    std::string text_;
    std::set<int> named_;
    std::set<int> seen_;
    std::map<int, std::string> bodies_;
    std::map<int, std::deque<std::string>> manual_;
};

}  // namespace

std::string scenario_text(const Sequence& sequence, const std::vector<Outcome>& outcomes) {
    return "# seed " + std::to_string(sequence.seed) + "\n" + Writer(sequence).write(outcomes);
}

}  // namespace pinnace::model
