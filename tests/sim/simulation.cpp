// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/simulation.h"

#include <algorithm>

#include "core/publish_options.h"

namespace pinnace::testing {

namespace {

constexpr Duration kSecond = 1'000'000'000;
constexpr QueueId kWork = 0, kDead = 1, kGroups = 2, kOnce = 3;
constexpr const char* kNames[] = {"Work", "Dead", "Groups", "Once"};
constexpr std::uint64_t kWorkBacklog = 6;

void define(Core& core) {
    for (const char* name : kNames) {
        QueueConfig config;
        config.name = name;
        config.lease_period = 10 * kSecond;
        if (config.name == "Work") {
            config.max_backlog = kWorkBacklog;
            config.max_deliveries = 3;
            config.dead_letter_queue = "Dead";
        } else if (config.name == "Groups") {
            config.fifo = true;
            config.leasing = Leasing::strict;
            config.dedup_window = 20 * kSecond;
            config.content_based_dedup = true;
        } else if (config.name == "Once") {
            config.semantics = Semantics::at_most_once;
            config.fairness = Fairness::round_robin;
        }
        if (!core.define_queue(config)) std::abort();
    }
    if (!core.finish_definitions()) std::abort();
}

// Takes records, and nothing else happens.
class Nobody final : public Effects {
 public:
    RecordIndex record(const RecordHeader&, std::span<const std::byte>, const BodyRef&) override {
        return ++count_;
    }
    bool deliver(const Delivery&) override { return true; }
    void expired(const Expired&) override {}
    void subscription_ended(SubscriptionId, std::string_view) override {}

 private:
    RecordIndex count_ = 0;
};

std::string group_of(const std::string& body) { return body.substr(body.rfind(' ') + 1); }

}  // namespace

std::string Simulation::run(int life_count, int step_count) {
    bool clean = true;
    for (int life = 0; life < life_count && failure_.empty(); ++life) {
        begin_life(clean);
        for (int left = step_count; left > 0 && failure_.empty(); --left) step();
        clean = random_.chance(30);
        end_life(clean);
    }
    begin_life(clean);
    drain();
    return failure_;
}

// --- Lives

std::string Simulation::apply(Core& core, const std::vector<FakeLog::Stored>& records) {
    for (const FakeLog::Stored& stored : records) {
        RecordHeader header = stored.header;
        header.payload_size = static_cast<std::uint32_t>(stored.head.size() + stored.body.size());
        const BodyRef body{kCold, static_cast<std::uint32_t>(stored.body.size()),
                           reinterpret_cast<const std::byte*>(stored.body.data())};
        if (auto applied = core.apply({header, stored.head, body}); !applied) return applied.error();
    }
    return {};
}

// As two checkpoints and what follows them.
std::string Simulation::apply_folded(Core& core, const std::vector<FakeLog::Stored>& records) {
    std::vector<test::BareRecord> all;
    for (const FakeLog::Stored& stored : records)
        all.push_back({stored.header, stored.head, static_cast<std::uint32_t>(stored.body.size())});
    const auto window = [](std::string_view name) { return name == "Groups" ? 20 * kSecond : Duration{0}; };
    std::vector<test::BareRecord> folded;
    if (const std::string error = test::fold_twice(all, window, folded); !error.empty()) return error;
    return test::apply_all(core, folded);
}

void Simulation::begin_life(bool clean) {
    clients_.clear();
    group_newest_.clear();
    delivered_in_life_.clear();
    event_count_ = 0;
    log_ = std::make_unique<FakeLog>();
    outside_ = std::make_unique<FakeOutside>();
    CoreOptions options;
    options.epoch = ++epoch_;
    options.position_reserve = 256;
    pump_ = std::make_unique<FakePump>(*log_, *outside_, options, PumpLimits{});
    define(pump_->core());
    if (const std::string error = apply_folded(pump_->core(), journal_); !error.empty()) return fail(error);
    now_ += static_cast<Duration>(random_.below(3)) * kSecond;
    pump_->core().recovered(now_, clean);
    log_->publish();
    log_->make_durable();
    turns();
    check_recovery(clean);
}

// With what this start wrote the next start must find the same.
void Simulation::check_recovery(bool clean) {
    std::vector<FakeLog::Stored> all = journal_;
    all.insert(all.end(), log_->records.begin(), log_->records.end());
    Nobody nobody;
    CoreOptions options;
    options.epoch = epoch_;
    options.position_reserve = 256;
    Core again(nobody, options);
    define(again);
    if (const std::string error = apply(again, all); !error.empty()) return fail(error);
    again.recovered(now_, clean);
    if (again.durable_digest() != pump_->core().durable_digest())
        fail("recovery of the same records gives another durable digest");
}

// A crash keeps what was synced, and of the rest as many whole steps as had been written by then.
void Simulation::end_life(bool clean) {
    std::size_t kept = log_->records.size();
    if (clean) {
        for (const auto& client : clients_) client->port.is_frozen = true;
        pump_->drain();
        pump_->stop();
        log_->make_durable();
        kept = log_->records.size();
    } else {
        const std::size_t durable = log_->durable();
        kept = durable + random_.below(log_->published - durable + 1);
        const auto& records = log_->records;
        while (kept > durable && kept < records.size() && records[kept].step == records[kept - 1].step)
            --kept;
    }
    for (const auto& client : clients_) settle_told(*client);
    journal_.insert(journal_.end(), log_->records.begin(),
                    log_->records.begin() + static_cast<std::ptrdiff_t>(kept));
    note(kept);
}

// --- One step of the world

void Simulation::step() {
    if (clients_.size() < 2 || (clients_.size() < 4 && random_.chance(5))) {
        clients_.push_back(std::make_unique<Client>());
        Client& client = *clients_.back();
        client.port.ring_capacity = random_.one_of({4u, 64u});
        client.session = pump_->open_session(client.port, 1'000);
    }
    Client& client = *random_.one_of(std::vector<Client*>{clients_.front().get(), clients_.back().get()});
    switch (client.ending ? 9 : random_.weighted({35, 30, 6, 3, 2, 14, 10})) {
        case 0:
            publish(client);
            break;
        case 1:
            verb(client);
            break;
        case 2:
            subscribe(client);
            break;
        case 3:
            if (client.subscriptions.empty()) break;
            client.port.is_frozen = true;
            pump_->unsubscribe(client.session, client.subscriptions.back());
            client.subscriptions.pop_back();
            client.port.cursor = client.port.deliveries.size();
            client.port.is_frozen = false;
            break;
        case 4:
            client.ending = true;
            pump_->end_session(client.session, random_.chance(70));
            break;
        case 5:
            now_ += random_.one_of({Duration{0}, kSecond, 5 * kSecond, 10 * kSecond});
            break;
        default:
            break;
    }
    if (random_.chance(60)) turns();
    if (random_.chance(40)) {
        if (random_.chance(50)) log_->make_durable();
        turns();
    }
    serve_reads();
    for (const auto& one : clients_) look(*one);
    for (const auto& one : clients_) settle_told(*one);
    check_limits();
    std::erase_if(clients_, [&](const auto& one) {
        const auto& ended = outside_->ended_sessions;
        return one->ending && std::ranges::find(ended, one->session) != ended.end();
    });
    outside_->ended_sessions.clear();
}

void Simulation::turns() {
    for (int left = 1000; pump_->turn(now_); --left)
        if (left == 0) return fail("the pump does not come to rest");
    if (!outside_->violations.empty()) fail("a violation: " + outside_->violations.front().second);
    for (; event_count_ < outside_->events.size(); ++event_count_) {
        const Expired& event = outside_->events[event_count_];
        note(event.position);
    }
}

void Simulation::publish(Client& client) {
    const QueueId queue = static_cast<QueueId>(random_.weighted({5, 0, 4, 3}));
    const std::string group(1, static_cast<char>('a' + random_.below(3)));
    const std::string body = std::string(kNames[queue]) + " " + std::to_string(next_body_++) + " " + group;
    std::byte bytes[kOptionBytesMax];
    PublishOptions options;
    if (queue == kGroups) options.group = group;
    SubmitFrame frame;
    frame.options = std::span<const std::byte>(bytes, encode_options(options, bytes));
    const std::uint64_t end = client.port.publish(pump_->core().find_topic(kNames[queue]), body, frame);
    client.published.push_back({end, body});
    turns();  // the options lie on this stack
}

void Simulation::verb(Client& client) {
    const std::vector<Delivery> taken = [&] {
        std::vector<Delivery> some;
        for (std::uint64_t left = random_.below(4); left > 0; --left) {
            if (client.port.cursor == client.port.deliveries.size()) break;
            some.push_back(client.port.deliveries[client.port.cursor++]);
            const std::string body = body_at(some.back());
            if (some.back().queue == kOnce && !taken_once_.insert(body).second)
                fail(body + " is taken twice");
        }
        return some;
    }();
    for (const Delivery& delivery : taken) client.held.push_back(delivery);
    if (client.held.empty()) return;
    const std::size_t at = random_.below(client.held.size());
    const Delivery delivery = client.held[at];
    VerbRequest request{Verb::acknowledge, kNone, delivery.queue, delivery.position, delivery.lease,
                        delivery.handle,   0};
    request.verb =
        random_.one_of({Verb::acknowledge, Verb::acknowledge, Verb::acknowledge, Verb::cancel, Verb::renew});
    client.port.verb(request);
    if (request.verb == Verb::acknowledge) tried_.insert(body_at(delivery));
    if (request.verb == Verb::acknowledge)
        client.acked.push_back({client.entry_count, {delivery.queue, delivery.position}});
    ++client.entry_count;
    if (request.verb != Verb::renew) client.held.erase(client.held.begin() + static_cast<std::ptrdiff_t>(at));
}

void Simulation::subscribe(Client& client) {
    if (client.subscriptions.size() > 2) return;
    const std::uint64_t backlog = random_.one_of({1u, 2u, 4u});
    const auto made = pump_->subscribe(
        client.session, {kNone, random_.one_of({"Work", "Groups", "Once", "Dead"}), backlog, {}});
    if (!made) return fail(made.error().text);
    client.subscriptions.push_back(made->subscription);
}

std::string Simulation::body_at(const Delivery& delivery) {
    const auto origin = [&](const std::vector<FakeLog::Stored>& records, Position position) {
        for (const FakeLog::Stored& stored : records)
            if (stored.header.position == position &&
                stored.header.kind == static_cast<std::uint16_t>(RecordKind::message))
                return stored.body;
        return std::string();
    };
    const Position position = delivery.body_position;
    std::string body = origin(journal_, position);
    return body.empty() ? origin(log_->records, position) : body;
}

void Simulation::serve_reads() {
    while (!log_->reads.empty()) {
        Delivery wanted;
        wanted.body_position = log_->reads.front().position;
        log_->serve_read(body_at(wanted));
        turns();
    }
}

// --- What clients see

void Simulation::look(Client& client) {
    for (; client.seen < client.port.deliveries.size(); ++client.seen)
        look_at_delivery(client, client.port.deliveries[client.seen]);
    if (client.port.overflowed) fail("a delivery to a full ring");
}

void Simulation::look_at_delivery(Client& client, const Delivery& delivery) {
    const std::string body = body_at(delivery);
    note(delivery.position);
    note(delivery.count);
    note(static_cast<std::uint64_t>(delivery.deadline));
    note(client.session);
    if (body.empty()) return fail("a delivery without a message");
    const auto [at, is_new] = bodies_.try_emplace(delivery.position, body);
    if (!is_new && at->second != body) fail("position " + std::to_string(delivery.position) + " names two");
    const Key key{delivery.queue, delivery.position};
    if (gone_.contains(key)) fail(body + " was acknowledged or has left, and comes back");
    if (delivery.queue == kGroups) {
        Position& newest = group_newest_[kGroups][group_of(body)];
        if (delivery.position < newest && !delivered_in_life_.contains(key)) fail(body + " is out of order");
        newest = std::max(newest, delivery.position);
    }
    delivered_in_life_.insert(key);
    ++delivered_[body];
}

// What the client was told by now: which publishes and acknowledgments are durable.
void Simulation::settle_told(Client& client) {
    std::set<std::uint64_t> refused;
    for (const AnswerEntry& answer : client.port.answers) {
        note(static_cast<std::uint64_t>(answer.answer));
        if (answer.kind == AnswerEntry::Kind::verb) refused.insert(answer.id);
    }
    client.port.answers.clear();
    std::erase_if(client.acked, [&](const Acked& acked) { return refused.contains(acked.entry); });
    std::erase_if(client.acked, [&](const Acked& acked) {
        if (acked.entry >= client.port.durable_acks) return false;
        gone_.insert(acked.key);
        return true;
    });
    std::erase_if(client.published, [&](const Published& published) {
        if (published.end > client.port.durable_submit) return false;
        for (QueueId queue = 0; queue < 4; ++queue)
            if (published.body.starts_with(kNames[queue])) must_[published.body] = queue;
        return true;
    });
}

void Simulation::check_limits() {
    const Core& core = pump_->core();
    if (core.status(kWork).leased > kWorkBacklog) fail("more is leased than MaxBacklog allows");
    std::uint64_t leased = 0;
    for (QueueId queue = 0; queue < core.queue_count(); ++queue) {
        leased += core.status(queue).leased;
        if (core.status(queue).leased > core.status(queue).depth) fail("more is leased than is there");
    }
    std::uint64_t room = 0;
    for (const auto& client : clients_) room += 4 * (client->subscriptions.size() + 1) + 4;
    if (leased > room * 4) fail("more is leased than subscriptions have room for");
}

// A last life in which one client takes and acknowledges all: what is conserved must turn up.
void Simulation::drain() {
    if (!failure_.empty()) return;
    delivered_.clear();
    clients_.push_back(std::make_unique<Client>());
    Client& client = *clients_.back();
    client.session = pump_->open_session(client.port, 1'000);
    for (const char* name : kNames)
        if (!pump_->subscribe(client.session, {kNone, name, 8, {}})) return fail("no subscription");
    // Some wait for a record to be durable: it is over when nothing came for a while.
    for (int idle = 0; idle < 4; ++idle) {
        log_->make_durable();
        turns();
        serve_reads();
        look(client);
        if (client.port.cursor != client.port.deliveries.size()) idle = 0;
        for (const Delivery& delivery : client.port.take()) client.port.acknowledge(delivery);
    }
    std::set<std::string> gone;
    for (const auto& [queue, position] : gone_)
        if (const auto at = bodies_.find(position); at != bodies_.end()) gone.insert(at->second);
    for (const auto& [body, queue] : must_) {
        if (queue == kOnce) continue;
        // An acknowledgment that was on its way may have counted.
        if (!delivered_.contains(body) && !gone.contains(body) && !tried_.contains(body))
            fail(body + " was told to be durable, and is nowhere");
    }
    for (const auto& [body, count] : delivered_)
        if (taken_once_.contains(body)) fail(body + " was handed over in a former life");
    for (QueueId queue = 0; queue < pump_->core().queue_count(); ++queue)
        if (pump_->core().status(queue).depth != 0) fail(std::string(kNames[queue]) + " is not empty");
}

}  // namespace pinnace::testing
