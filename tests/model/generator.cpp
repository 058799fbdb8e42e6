// SPDX-License-Identifier: Apache-2.0
#include "tests/model/generator.h"

#include <algorithm>

namespace pinnace::model {

namespace {

Command of(Kind kind) {
    Command command;
    command.kind = kind;
    return command;
}

}  // namespace

Generator::Generator(std::uint64_t seed, unsigned features)
    : random_(seed), features_(features), seed_(seed) {}

// --- Definitions

Sequence Generator::setup() {
    // Most sequences use some features, so that each meets each other often enough.
    unsigned kept = 0;
    const unsigned density = random_.one_of({15u, 30u, 50u, 80u});
    for (unsigned bit = 1; bit < kAllFeatures; bit <<= 1)
        if (random_.chance(density)) kept |= bit;
    features_ &= kept;
    many_lives_ = random_.chance(20);
    // What waits for a record of its own may change places with what another queue gives to the same
    // subscription; the README says how far the contract decides that.
    if (with(kPatterns)) features_ &= ~unsigned{kAtMostOnce | kBarriers};
    Sequence sequence;
    sequence.seed = seed_;
    const int count = random_.between(1, with(kSharedTopics | kDeadLetters | kPatterns) ? 4 : 2);
    if (with(kTails) || with(kSharedTopics)) sequence.topics = {"t1", "t2"};
    topics_ = sequence.topics;
    for (int index = 0; index < count; ++index) sequence.queues.push_back(queue(index, count));
    // Dead letters go to a later queue, so that there is no cycle; a fifo queue's to a fifo queue.
    for (int index = 0; with(kDeadLetters) && index + 1 < count; ++index) {
        QueueDef& def = sequence.queues[static_cast<std::size_t>(index)];
        QueueDef& to = sequence.queues[static_cast<std::size_t>(random_.between(index + 1, count - 1))];
        if (def.at_most_once && def.expiration == kNever) continue;
        if (def.fifo && !to.fifo) continue;
        if (!def.fifo && to.fifo && to.group_key.empty()) to.group_key = "/g";
        def.dead_letters = to.name;
    }
    // Over shared topics a dead letter could come back: A3 refuses that.
    for (QueueDef& def : sequence.queues)
        for (const QueueDef& to : sequence.queues)
            if (def.dead_letters == to.name && !to.topics.empty()) def.dead_letters.clear();
    return sequence;
}

QueueDef Generator::queue(int index, int count) {
    QueueDef def;
    def.name = "Q" + std::to_string(index + 1);
    if (with(kSharedTopics) && count > 1 && random_.chance(60)) {
        if (random_.chance(20)) {
            def.topics = {"^t[12]$"};
            def.target = random_.one_of({"t1", "t2"});
        } else {
            def.topics = {random_.one_of({"t1", "t2"})};
        }
    }
    if (with(kAtMostOnce) && random_.chance(40)) {
        def.at_most_once = true;
        def.fairness = Fairness::round_robin;
    } else if (with(kFifo) && random_.chance(60)) {
        fifo_queue(def);
    } else {
        def.strict = random_.chance(40);
    }
    if (!def.at_most_once)
        def.fairness = random_.one_of({Fairness::proportional, Fairness::round_robin, Fairness::fast});
    // How many an at-most-once queue loses in a crash is seen only where nothing is beyond the depth.
    if (!def.fifo && with(kDepths) && !(def.at_most_once && with(kLives)) && random_.chance(40)) {
        def.target_depth = random_.one_of({1u, 2u, 4u, 8u});
        if (random_.chance(50)) def.deferred_expiration = 10 * kSecond;
    } else if (!def.fifo && with(kPriorities) && random_.chance(50)) {
        def.priority = random_.one_of({"/p", "/p", "/k"});
    } else if (!def.fifo && with(kBarriers) && random_.chance(50)) {
        def.barrier = "/eod = 1";
    }
    if (!def.fifo && with(kDedup) && random_.chance(40)) {
        def.dedup_window = random_.one_of({5 * kSecond, 20 * kSecond});
        def.content_dedup = random_.chance(60);
    }
    if (with(kFilters) && random_.chance(20)) def.filter = random_.one_of({"/k <> 3", "/id > 5"});
    if (with(kPersisted) && random_.chance(30)) def.persisted = true;
    times_and_limits(def);
    return def;
}

void Generator::fifo_queue(QueueDef& def) {
    def.fifo = def.strict = true;
    def.sticky = with(kSticky) && random_.chance(50);
    if (random_.chance(30)) def.group_key = "/g";
    if (random_.chance(30)) return;
    def.dedup_window = with(kDedup) ? random_.one_of({5 * kSecond, 300 * kSecond}) : 300 * kSecond;
    def.content_dedup = random_.chance(80);
}

void Generator::times_and_limits(QueueDef& def) {
    if (random_.chance(80)) def.lease_period = random_.one_of({5 * kSecond, 10 * kSecond, 10 * kSecond});
    if (with(kExpirations) && random_.chance(50))
        def.expiration = random_.one_of({10 * kSecond, 20 * kSecond});
    if (with(kDelays) && random_.chance(30)) def.delay = random_.one_of({5 * kSecond, 10 * kSecond});
    if (random_.chance(25)) def.max_backlog = random_.one_of({1u, 2u, 3u, 5u});
    if (random_.chance(25)) def.max_per_subscription = random_.one_of({1u, 2u, 3u});
    if (def.at_most_once || !with(kLimits)) return;
    if (random_.chance(50)) def.max_deliveries = random_.one_of({1u, 2u, 2u, 3u});
    if (random_.chance(30)) def.max_cancels = random_.one_of({1u, 2u});
}

std::string Generator::filter() {
    return random_.one_of({"/k = 1", "/k < 2", "/k IN (1, 2)", "/id > 10", "/g = 'a'", "LEASE_COUNT < 1",
                           "LEASE_COUNT > 0 OR /k = 2", "/k <> 0"});
}

// --- Commands

Command Generator::next(const Model& model) {
    int live = 0;
    for (const auto& [name, subscriber] : model.subscribers()) live += subscriber.live ? 1 : 0;
    if (live == 0 && random_.chance(40)) return subscribe(model);
    switch (random_.weighted({30, live > 5 ? 1u : 5u, with(kReplaces) ? 3u : 0u, 4, with(kManual) ? 8u : 0u,
                              30, 14, with(kPulls) ? 6u : 0u, with(kSweeps) ? 4u : 0u, 3})) {
        case 0:
            return publish(model);
        case 1:
            return subscribe(model);
        case 2:
            return replace(model);
        case 3:
            return end(model);
        case 4: {
            Command command = of(Kind::take);
            command.subscription = live_subscriber(model);
            command.number = random_.chance(30) ? UINT64_MAX : random_.below(3) + 1;
            return command;
        }
        case 5:
            return verbs(model);
        case 6:
            return advance(model);
        case 7:
            return receive(model);
        case 8:
            return sweep(model);
        default: {
            Command command = of(Kind::query);
            command.queue = static_cast<int>(random_.below(model.queues().size()));
            return command;
        }
    }
}

std::string Generator::target(const Model& model) {
    if (random_.chance(1)) return "nowhere";
    if (!topics_.empty() && random_.chance(40)) return random_.one_of(topics_);
    return random_.one_of(model.queues()).def.name;
}

int Generator::live_subscriber(const Model& model) {
    std::vector<int> live;
    for (const auto& [name, subscriber] : model.subscribers())
        if (subscriber.live) live.push_back(name);
    return live.empty() ? 0 : random_.one_of(live);
}

NewMessage Generator::message(const Model& model, bool of_batch) {
    NewMessage made;
    made.name = next_message_++;
    // Sometimes a body that was there before, for ContentBasedDedup.
    const bool again = with(kDedup) && !of_batch && made.name > 3 && random_.chance(15);
    const int id = again ? made.name - random_.between(1, 3) : made.name;
    Random values(static_cast<std::uint64_t>(id) * 7919 + seed_);
    made.body = "{\"id\":" + std::to_string(id) + ",\"k\":" + std::to_string(values.below(4));
    if (values.chance(80))
        made.body += ",\"p\":" + std::string(values.one_of({"1", "2", "3", "-1", "\"2\"", "null"}));
    if (values.chance(80)) made.body += ",\"g\":\"" + std::string(values.one_of({"a", "b", "c"})) + "\"";
    if (with(kBarriers) && values.chance(15)) made.body += ",\"eod\":1";
    made.body += "}";
    const bool any_fifo = std::ranges::any_of(model.queues(), [](const ModelQueue& q) { return q.def.fifo; });
    if (any_fifo && random_.chance(90)) made.group = random_.one_of({"a", "b", "b", "c", "d"});
    if (any_fifo && random_.chance(1)) made.group = "not an id";
    if (with(kDedup) && random_.chance(70)) made.dedup = "k" + std::to_string(random_.between(1, 40));
    if (any_fifo && !made.dedup && random_.chance(70)) made.dedup = "u" + std::to_string(made.name);
    if (of_batch) return made;
    if (with(kExpirations) && random_.chance(20))
        made.expiration = random_.one_of({Duration{0}, 5 * kSecond, 10 * kSecond, 20 * kSecond});
    if (with(kDelays) && random_.chance(any_fifo ? 2 : 20))
        made.delay = random_.one_of({Duration{0}, 5 * kSecond, 10 * kSecond});
    return made;
}

Command Generator::publish(const Model& model) {
    Command command = of(Kind::publish);
    command.target = target(model);
    if (with(kBatches) && random_.chance(25)) {
        command.flag = true;
        for (int left = random_.between(1, 5); left > 0; --left)
            command.messages.push_back(message(model, true));
        return command;
    }
    command.messages.push_back(message(model, false));
    if (with(kNumbers) && random_.chance(40)) {
        command.publisher = random_.between(1, 2);
        std::uint64_t& number = numbers_[static_cast<std::size_t>(command.publisher)];
        const std::uint64_t back = random_.chance(25) ? random_.below(3) : 0;
        if (back == 0) number += random_.below(2) + 1;
        command.number = number > back ? number - back : 1;
    }
    return command;
}

Command Generator::subscribe(const Model& model) {
    Command command = of(Kind::subscribe);
    command.subscription = next_subscription_++;
    command.target = random_.one_of(model.queues()).def.name;
    if (with(kTails) && !topics_.empty() && random_.chance(20)) command.target = random_.one_of(topics_);
    if (with(kPatterns) && random_.chance(40)) command.target = random_.one_of({"^Q", "^Q[12]$", "^Q[23]"});
    if (random_.chance(1)) command.target = "nowhere";
    command.client = next_client_;
    if (!model.clients().empty() && random_.chance(30)) {
        std::vector<int> others;
        for (const int client : model.clients())
            if (client < kPullerBase) others.push_back(client);
        if (!others.empty()) command.client = random_.one_of(others);
    }
    if (command.client == next_client_) ++next_client_;
    command.max_backlog = random_.one_of({1u, 1u, 2u, 3u, 5u, 10u});
    if (random_.chance(2)) command.max_backlog = 0;
    if (with(kFilters) && random_.chance(45)) command.filter = random_.chance(2) ? "/k >" : filter();
    command.flag = with(kManual) && random_.chance(40) && command.target.front() != 't';
    return command;
}

Command Generator::replace(const Model& model) {
    Command command = of(Kind::replace);
    command.subscription = live_subscriber(model);
    if (random_.chance(25)) command.target = random_.one_of(model.queues()).def.name;
    if (random_.chance(50)) command.max_backlog = random_.one_of({1u, 2u, 4u});
    if (with(kFilters) && random_.chance(50)) command.filter = filter();
    return command;
}

Command Generator::verbs(const Model& model) {
    Command command = of(random_.one_of(
        {Kind::acknowledge, Kind::acknowledge, Kind::acknowledge, Kind::cancel, Kind::expire, Kind::renew}));
    // A message that is held, by its holder; or by somebody else; or one that is not held any more.
    std::vector<std::pair<int, int>> held;
    std::vector<int> unheld;
    for (const ModelQueue& queue : model.queues()) {
        for (const auto& [place, entry] : queue.entries) {
            const int name = model.message(entry.message).name;
            if (entry.held())
                held.emplace_back(entry.holder, name);
            else
                unheld.push_back(name);
        }
        for (const Entry& entry : queue.beyond) unheld.push_back(model.message(entry.message).name);
    }
    const int any = live_subscriber(model);
    if (!held.empty() && random_.chance(80)) {
        const auto [holder, name] = random_.one_of(held);
        command.subscription = random_.chance(88) ? holder : any;
        command.names.push_back(name);
        for (const auto& [other, more] : held)
            if (other == command.subscription && more != name && random_.chance(25))
                command.names.push_back(more);
    } else if (!unheld.empty() && random_.chance(60)) {
        command.subscription = any;
        command.names.push_back(random_.one_of(unheld));
    } else if (next_message_ > 1) {
        command.subscription =
            random_.chance(70) || next_subscription_ == 1 ? any : random_.between(1, next_subscription_ - 1);
        command.names.push_back(random_.between(std::max(1, next_message_ - 20), next_message_ - 1));
    }
    if (random_.chance(3) && !command.names.empty()) command.names.push_back(command.names.front());
    if (command.kind == Kind::renew && random_.chance(50))
        command.time = random_.one_of({5 * kSecond, 10 * kSecond, 30 * kSecond});
    return command;
}

// Mostly to the instant at which the next thing falls due, or just before it.
Command Generator::advance(const Model& model) {
    Command command = of(Kind::advance);
    const Time next = model.next_due();
    if (next != kNever && random_.chance(60)) {
        command.time = next - model.now();
        if (random_.chance(10) && command.time > 1) --command.time;
        return command;
    }
    command.time =
        random_.one_of({kSecond, 5 * kSecond, 5 * kSecond, 10 * kSecond, 2 * kSecond, 60 * kSecond});
    return command;
}

Command Generator::receive(const Model& model) {
    Command command = of(Kind::receive);
    command.queue = static_cast<int>(random_.below(model.queues().size()));
    command.number = random_.below(5) + 1;
    command.subscription = live_subscriber(model);
    if (random_.chance(60) || command.subscription == 0) {
        command.subscription = next_puller_++;
        std::vector<int> known;
        for (const auto& [name, subscriber] : model.subscribers())
            if (name >= kPullerBase) known.push_back(name);
        if (!known.empty() && random_.chance(60)) command.subscription = random_.one_of(known);
    }
    const auto at = model.subscribers().find(command.subscription);
    if (at == model.subscribers().end()) return command;
    for (std::size_t index = 0; index < model.queues().size(); ++index)
        if (model.queues()[index].def.name == at->second.target) command.queue = static_cast<int>(index);
    return command;
}

Command Generator::sweep(const Model& model) {
    Command command;
    command.queue = static_cast<int>(random_.below(model.queues().size()));
    const std::string& dead = model.queues()[static_cast<std::size_t>(command.queue)].def.dead_letters;
    if (!dead.empty() && random_.chance(60)) {
        command.kind = Kind::redrive;
        command.other = command.queue;
        for (std::size_t index = 0; index < model.queues().size(); ++index)
            if (model.queues()[index].def.name == dead) command.queue = static_cast<int>(index);
        return command;
    }
    if (random_.chance(30)) {
        command.kind = Kind::purge;
        return command;
    }
    command.kind = Kind::acknowledge_where;
    command.subscription = live_subscriber(model);
    command.filter = random_.one_of({"/k = 1", "/k = 2", "/id < 20", "/g = 'a'"});
    return command;
}

Command Generator::end(const Model& model) {
    Command command;
    const std::size_t lives = with(kLives) ? (many_lives_ ? 20u : 6u) : 0u;
    switch (random_.weighted({10, 10, static_cast<unsigned>(lives), static_cast<unsigned>(lives)})) {
        case 0:
            command.kind = Kind::unsubscribe;
            command.subscription = live_subscriber(model);
            return command;
        case 1:
            command.kind = Kind::end_client;
            command.flag = random_.chance(50);
            if (!model.clients().empty()) {
                const std::vector<int> clients(model.clients().begin(), model.clients().end());
                command.client = random_.one_of(clients);
            }
            return command;
        case 2:
            command.kind = Kind::restart;
            return command;
        default:
            command.kind = Kind::crash;
            return command;
    }
}

}  // namespace pinnace::model
