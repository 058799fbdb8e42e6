// SPDX-License-Identifier: Apache-2.0
#include "tests/model/engine.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/check.h"
#include "core/record_codec.h"
#include "tests/support/folded.h"

namespace pinnace::model {

namespace {

pinnace::Fairness fairness(Fairness of) {
    return of == Fairness::fast          ? pinnace::Fairness::fast
           : of == Fairness::round_robin ? pinnace::Fairness::round_robin
                                         : pinnace::Fairness::proportional;
}

QueueConfig config_of(const QueueDef& def) {
    QueueConfig config;
    config.name = def.name;
    config.underlying_topics = def.topics;
    config.default_publish_target = def.target;
    config.semantics = def.at_most_once ? Semantics::at_most_once : Semantics::at_least_once;
    config.leasing = def.strict ? Leasing::strict : Leasing::sublet;
    config.fairness = fairness(def.fairness);
    config.deliver_after = def.persisted ? DeliverAfter::persisted : DeliverAfter::sequenced;
    config.lease_period = def.lease_period;
    config.expiration = def.expiration;
    config.delay = def.delay;
    config.deferred_ack_expiration = def.deferred_expiration;
    config.dedup_window = def.dedup_window;
    config.max_backlog = def.max_backlog;
    config.max_per_subscription_backlog = def.max_per_subscription;
    config.target_queue_depth = def.target_depth;
    config.max_deliveries = def.max_deliveries;
    config.max_cancels = def.max_cancels;
    config.fifo = def.fifo;
    config.sticky = def.sticky;
    config.content_based_dedup = def.content_dedup;
    config.filter = def.filter;
    config.priority = def.priority;
    config.barrier_expression = def.barrier;
    config.group_key = def.group_key;
    config.dead_letter_queue = def.dead_letters;
    return config;
}

Word word_of(Answer answer) {
    switch (answer) {
        case Answer::duplicate:
            return Word::duplicate;
        case Answer::unknown:
            return Word::unknown;
        case Answer::not_owner:
            return Word::not_owner;
        case Answer::stale:
            return Word::stale;
        case Answer::deferred:
            return Word::deferred;
        case Answer::range:
            return Word::range;
        default:
            return Word::ok;
    }
}

}  // namespace

std::string Engine::start(const Sequence& setup) {
    setup_.topics = setup.topics;
    setup_.queues = setup.queues;
    return begin_life(true);
}

std::string Engine::begin_life(bool clean) {
    clients_.clear();
    by_id_.clear();
    incoming_.clear();
    for (auto& [name, subscriber] : subscribers_) {
        subscriber.id = kNone;
        subscriber.ring.clear();
    }
    name_of_body_.clear();
    appended_ = durable_ = 0;
    ++epoch_;
    if (auto error = make_core(core_); !error.empty()) return error;
    if (auto error = apply_records(); !error.empty()) return error;
    core_->recovered(now_, clean);
    settle();
    return {};
}

std::string Engine::make_core(std::unique_ptr<Core>& core) {
    CoreOptions options;
    options.epoch = epoch_;
    core = std::make_unique<Core>(static_cast<Effects&>(*this), options);
    for (const std::string& topic : setup_.topics)
        if (auto defined = core->define_topic({topic, "json"}); !defined) return defined.error().text;
    for (const QueueDef& def : setup_.queues)
        if (auto defined = core->define_queue(config_of(def)); !defined) return defined.error().text;
    if (auto finished = core->finish_definitions(); !finished) return finished.error().text;
    return {};
}

// The core that goes on gets them as two checkpoints and a rest would hold them; another one gets all.
std::string Engine::apply_records() {
    std::vector<test::BareRecord> all;
    for (const Stored& stored : records_)
        all.push_back({stored.header, stored.head, static_cast<std::uint32_t>(stored.body.size())});
    const auto window = [&](std::string_view name) {
        for (const QueueDef& def : setup_.queues)
            if (def.name == name) return def.dedup_window;
        return Duration{0};
    };
    std::vector<test::BareRecord> folded;
    if (auto error = test::fold_twice(all, window, folded); !error.empty()) return error;
    if (auto error = test::apply_all(*core_, folded); !error.empty()) return error;
    std::unique_ptr<Core> other;
    if (auto error = make_core(other); !error.empty()) return error;
    if (auto error = test::apply_all(*other, all); !error.empty()) return error;
    if (core_->durable_digest() != other->durable_digest())
        return "what is left of the records gives another durable digest than all of them";
    return {};
}

// --- Effects

RecordIndex Engine::record(const RecordHeader& header, std::span<const std::byte> head, const BodyRef& body) {
    Stored stored{header, {head.begin(), head.end()}, {}};
    const auto kind = static_cast<RecordKind>(header.kind);
    if (kind == RecordKind::message) {
        stored.body.assign(body.data, body.data + body.size);
        const int name = name_of_body_.at(body.log.bits);
        names_[header.position] = name;
        positions_[name] = header.position;
        record_at_[header.position] = records_.size();
    }
    if (kind == RecordKind::define_queue)
        if (const auto definition = read_queue_definition(head))
            queue_names_[header.subject] = definition->name;
    if (kind == RecordKind::move) {
        HeadReader in(head);
        MoveHead move;
        read_move(in, move);
        names_[header.position] = names_.at(move.origin);
        records_of_body_[header.position] = move.origin;
        QueueEntry entry;
        while (!in.at_end() && read_entry(in, entry))
            moved_[{queue_names_[entry.queue], names_.at(move.origin)}] = header.position;
    }
    stored.header.payload_size = static_cast<std::uint32_t>(stored.head.size() + stored.body.size());
    // As the journal may: removals without a reason come at the end of their batch.
    auto& to = kind == RecordKind::remove && header.number == 0 ? removals_ : records_;
    to.push_back(std::move(stored));
    return ++appended_;
}

bool Engine::deliver(const Delivery& delivery) {
    const bool cold = delivery.body.data == nullptr && !name_of_body_.contains(delivery.body.log.bits);
    incoming_.push_back({delivery, cold});
    incoming_.back().delivery.body.data = nullptr;
    return !cold;
}

void Engine::expired(const Expired& event) {
    const Left left{static_cast<int>(event.queue), name_of(event.position), event.reasons};
    (outcome_ != nullptr ? outcome_->left : early_).push_back(left);
}

const std::byte* Engine::body(Position position, const BodyRef&) {
    const auto at = record_at_.find(position);
    return at == record_at_.end() ? nullptr : records_[at->second].body.data();
}

int Engine::name_of(Position position) const {
    const auto at = names_.find(position);
    return at == names_.end() ? -1 : at->second;
}

// --- One command

void Engine::settle() {
    for (;;) {
        if (durable_ != appended_) {
            durable_ = appended_;
            std::ranges::move(removals_, std::back_inserter(records_));
            removals_.clear();
            core_->durable(durable_);
            continue;
        }
        const auto cold = std::ranges::find_if(incoming_, &Waiting::cold);
        if (cold != incoming_.end()) {
            const LogPosition log = LogPosition::make(Area::small, ++log_end_);
            name_of_body_[log.bits] = name_of(cold->delivery.position);
            const auto deadline = core_->visible(cold->delivery, log);
            if (!deadline) {
                incoming_.erase(cold);
                continue;
            }
            cold->delivery.deadline = *deadline;
            cold->cold = false;
            continue;
        }
        if (core_->next_due() > now_) return hand_over();
        core_->advance(now_);
    }
}

void Engine::hand_over() {
    for (const Waiting& waiting : incoming_) {
        const Delivery& d = waiting.delivery;
        const int name = name_of(d.position);
        const int subscriber = by_id_.contains(d.subscription) ? by_id_.at(d.subscription) : -1;
        const int queue = d.queue == kNone ? -1 : static_cast<int>(d.queue);
        if (outcome_ != nullptr)
            outcome_->delivered.push_back({subscriber, name, queue, d.count, d.deadline, d.published});
        if (subscriber < 0) continue;
        Subscriber& to = subscribers_.at(subscriber);
        const Tag tag{d.queue, d.position, d.lease, d.handle};
        // The pull's own come first; some may have waited for a record.
        const bool was_pulled = pulled_.count != 0 && pulled_.subscription == d.subscription;
        if (was_pulled) --pulled_.count;
        to.newest[name] = tag;
        last_queue_[name] = d.queue;
        if (to.manual && !was_pulled) to.ring.push_back(tag);
    }
    incoming_.clear();
}

Outcome Engine::run(const Command& command) {
    Outcome outcome;
    outcome_ = &outcome;
    switch (command.kind) {
        case Kind::publish:
            publish(command);
            break;
        case Kind::subscribe:
            subscribe(command);
            break;
        case Kind::replace:
            replace(command);
            break;
        case Kind::unsubscribe:
            end_subscriber(subscribers_.at(command.subscription));
            break;
        case Kind::end_client:
            end_client(command.client);
            break;
        case Kind::take: {
            auto& ring = subscribers_.at(command.subscription).ring;
            outcome.count = std::min<std::uint64_t>(command.number, ring.size());
            ring.erase(ring.begin(), ring.begin() + static_cast<std::ptrdiff_t>(outcome.count));
            break;
        }
        case Kind::acknowledge:
        case Kind::cancel:
        case Kind::expire:
        case Kind::renew:
            verbs(command);
            break;
        case Kind::acknowledge_where:
            acknowledge_where(command);
            break;
        case Kind::advance:
            advance(command.time);
            break;
        case Kind::restart:
            restart();
            break;
        case Kind::crash:
            outcome.error = begin_life(false);
            break;
        case Kind::query:
            query(command);
            break;
        case Kind::receive:
            receive(command);
            break;
        case Kind::redrive:
            outcome.count =
                core_->redrive(static_cast<QueueId>(command.queue), static_cast<QueueId>(command.other));
            break;
        case Kind::purge:
            outcome.count = core_->purge(static_cast<QueueId>(command.queue));
            break;
    }
    settle();
    std::ranges::stable_sort(outcome.delivered, {}, &Delivered::subscription);
    std::ranges::stable_sort(outcome.left, {}, &Left::queue);
    for (QueueId queue = 0; queue < core_->queue_count(); ++queue) {
        const QueueStatus status = core_->status(queue);
        outcome.numbers.push_back({status.depth, status.leased});
    }
    outcome_ = nullptr;
    return outcome;
}

void Engine::publish(const Command& command) {
    const TopicId topic = core_->resolve_topic(command.target);
    std::vector<PublishMessage> messages;
    for (const NewMessage& from : command.messages) {
        const LogPosition log = LogPosition::make(Area::small, ++log_end_);
        name_of_body_[log.bits] = from.name;
        PublishMessage message;
        message.topic = topic;
        message.body = {log, static_cast<std::uint32_t>(from.body.size()),
                        reinterpret_cast<const std::byte*>(from.body.data())};
        message.expiration = from.expiration;
        message.delay = from.delay;
        if (from.group) message.group = *from.group;
        if (from.dedup) message.dedup = *from.dedup;
        messages.push_back(message);
    }
    PublishRequest request;
    request.messages = messages;
    if (core_->find_queue(command.target) != kNone) request.to_queue = command.target;
    if (command.publisher != 0) {
        request.publisher = core_->publisher(1'000, "p" + std::to_string(command.publisher));
        request.number = command.number;
        request.previous = kNoPrevious;
    }
    std::vector<PublishResult> results(messages.size());
    core_->publish(request, results);
    for (const PublishResult& result : results) {
        if (result.answer != Answer::ok && result.answer != Answer::duplicate) {
            outcome_->words.clear();
            outcome_->firsts.clear();
            outcome_->error = to_text(result.answer);
            return;
        }
        const bool duplicate = result.answer == Answer::duplicate;
        outcome_->words.push_back(duplicate ? Word::duplicate : Word::stored);
        outcome_->firsts.push_back(duplicate && result.position != 0 ? name_of(result.position) : 0);
    }
}

// --- Clients

ClientId Engine::client(int name) {
    const auto found = clients_.find(name);
    if (found != clients_.end()) return found->second;
    const ClientId id = core_->open_client(1'000);
    core_->set_ring_free(id, UINT32_MAX);
    return clients_[name] = id;
}

void Engine::subscribe(const Command& command) {
    const std::string filter = command.filter.value_or("");
    const auto made =
        core_->subscribe({client(command.client), command.target, command.max_backlog.value_or(1), filter});
    if (!made) {
        outcome_->error = to_text(made.error().answer);
        return;
    }
    Subscriber& subscriber = subscribers_[command.subscription];
    subscriber.client = command.client;
    subscriber.target = command.target;
    subscriber.id = made->subscription;
    subscriber.manual = command.flag;
    by_id_[made->subscription] = command.subscription;
}

void Engine::replace(const Command& command) {
    Subscriber& subscriber = subscribers_.at(command.subscription);
    const std::string_view target = command.target;
    const std::string_view filter = command.filter ? std::string_view(*command.filter) : "";
    const std::uint64_t max_backlog = command.max_backlog.value_or(0);
    const auto made =
        core_->replace({subscriber.id, target.empty() ? nullptr : &target, command.filter ? &filter : nullptr,
                        command.max_backlog ? &max_backlog : nullptr});
    if (!made) {
        outcome_->error = to_text(made.error().answer);
        return;
    }
    if (!target.empty()) subscriber.target = target;
}

std::vector<Untaken> Engine::untaken(const std::vector<Tag>& ring) const {
    std::vector<Untaken> list;
    for (const Tag& tag : ring) list.push_back({tag.queue, tag.position, tag.lease, tag.handle});
    return list;
}

void Engine::end_subscriber(Subscriber& subscriber) {
    const std::vector<Tag> ring = std::move(subscriber.ring);
    subscriber.ring.clear();
    by_id_.erase(subscriber.id);
    core_->unsubscribe(std::exchange(subscriber.id, kNone), untaken(ring));
}

void Engine::end_client(int name) {
    std::vector<Tag> rings;
    for (auto& [subscriber_name, subscriber] : subscribers_) {
        if (subscriber.client != name) continue;
        rings.insert(rings.end(), subscriber.ring.begin(), subscriber.ring.end());
        subscriber.ring.clear();
        by_id_.erase(subscriber.id);
        subscriber.id = kNone;
    }
    const ClientId id = clients_.at(name);
    clients_.erase(name);
    core_->end_client(id, untaken(rings));
}

// --- Verbs and the rest

Engine::Tag Engine::tag_of(const Subscriber& by, int name) const {
    if (const auto had = by.newest.find(name); had != by.newest.end()) return had->second;
    QueueId queue = core_->find_queue(by.target);
    if (queue == kNone) queue = last_queue_.at(name);
    const auto moved = moved_.find({std::string(core_->queue_name(queue)), name});
    return {queue, moved == moved_.end() ? positions_.at(name) : moved->second, 0, kNone};
}

void Engine::verbs(const Command& command) {
    const Subscriber& by = subscribers_.at(command.subscription);
    const Verb verb = command.kind == Kind::acknowledge ? Verb::acknowledge
                      : command.kind == Kind::cancel    ? Verb::cancel
                      : command.kind == Kind::expire    ? Verb::expire
                                                        : Verb::renew;
    std::vector<VerbRequest> requests;
    for (const int name : command.names) {
        const Tag tag = tag_of(by, name);
        requests.push_back(
            {verb, client(by.client), tag.queue, tag.position, tag.lease, tag.handle, command.time});
    }
    std::vector<Answer> answers(requests.size());
    core_->verbs(requests, answers);
    for (const Answer answer : answers) outcome_->words.push_back(word_of(answer));
}

void Engine::acknowledge_where(const Command& command) {
    const Subscriber& by = subscribers_.at(command.subscription);
    const auto count = core_->verbs_where(
        {Verb::acknowledge, client(by.client), static_cast<QueueId>(command.queue), *command.filter});
    if (count) {
        outcome_->count = *count;
    } else {
        outcome_->error = to_text(count.error().answer);
    }
}

void Engine::advance(Duration by) {
    const Time end = now_ + by;
    while (core_->next_due() <= end) {
        now_ = std::max(now_, core_->next_due());
        core_->advance(now_);
        settle();
    }
    now_ = end;
    core_->advance(now_);
}

void Engine::restart() {
    for (const auto& [name, id] : clients_) core_->set_ring_free(id, 0);
    while (!clients_.empty()) {
        end_client(clients_.begin()->first);
        settle();
    }
    core_->stop();
    std::ranges::move(removals_, std::back_inserter(records_));
    removals_.clear();
    outcome_->error = begin_life(true);
}

void Engine::query(const Command& command) {
    core_->query(static_cast<QueueId>(command.queue), [&](const QueuedMessage& message) {
        outcome_->listing.push_back(name_of(message.position));
        return true;
    });
}

void Engine::receive(const Command& command) {
    const QueueId queue = static_cast<QueueId>(command.queue);
    Subscriber& by = subscribers_[command.subscription];
    if (command.subscription >= kPullerBase) {
        by.client = command.subscription;
        by.target = core_->queue_name(queue);
    }
    const auto pulled = core_->pull({client(by.client), by.id, core_->queue_name(queue),
                                     static_cast<std::uint32_t>(command.number), std::string_view()});
    if (!pulled) {
        outcome_->error = to_text(pulled.error().answer);
        return;
    }
    by_id_[pulled->subscription] = command.subscription;
    outcome_->count = pulled->count;
    pulled_ = {pulled->subscription, pulled->count};
}

}  // namespace pinnace::model
