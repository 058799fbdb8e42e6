// SPDX-License-Identifier: Apache-2.0
#include "bindings/cli/scenario/simulated_world.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "bindings/cli/scenario/define.h"
#include "bindings/cli/scenario/start_time.h"
#include "core/record_codec.h"

namespace pinnace::scenario {
namespace {

constexpr int kSettleCountMax = 1'000'000;

std::unexpected<Fault> broken(std::string text) {
    return std::unexpected(Fault{Fault::Kind::broken, std::move(text), 0});
}

std::string to_string(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

// --- Lives

Outcome<void> SimulatedWorld::start(std::span<const Definition> definitions) {
    definitions_.assign(definitions.begin(), definitions.end());
    now_ = kStartTime;
    return begin_life(true);
}

Outcome<void> SimulatedWorld::begin_life(bool clean) {
    forget_clients();
    bodies_.clear();
    journal_.begin_life();
    appended_ = durable_ = 0;
    const auto read = read_definitions(definitions_);
    if (!read) return std::unexpected(read.error());
    CoreOptions options;
    options.epoch = ++epoch_;
    options.topics_must_be_covered = read->topics_must_be_covered;
    core_ = std::make_unique<Core>(static_cast<Effects&>(*this), options);
    if (auto defined = define(*core_, *read, definitions_); !defined) return defined;
    const auto replayed = journal_.replay([this](const RecordView& record) { return core_->apply(record); });
    if (!replayed) return broken(replayed.error());
    core_->recovered(now_, clean);
    return settle();
}

void SimulatedWorld::forget_clients() {
    clients_.clear();
    incoming_.clear();
    for (auto& [name, subscription] : subscriptions_) {
        subscription.id = kNone;
        subscription.ring.clear();
    }
}

// An orderly stop reads the cursors: what was not taken counts as undelivered. No client gets anything
// while the others are ended.
Outcome<void> SimulatedWorld::restart() {
    for (const auto& [name, id] : clients_) core_->set_ring_free(id, 0);
    for (const auto& [name, id] : clients_) {
        core_->end_client(id, untaken_of(name));
        if (auto settled = settle(); !settled) return settled;
    }
    core_->stop();
    journal_.flush(now_);
    return begin_life(true);
}

Outcome<void> SimulatedWorld::crash() { return begin_life(false); }

// --- Time

Outcome<void> SimulatedWorld::advance(Duration by) {
    if (by > kNever - 1 - now_) return refused("advance: that is beyond the clock");
    const Time end = now_ + by;
    while (core_->next_due() <= end) {
        now_ = std::max(now_, core_->next_due());
        core_->advance(now_);
        if (auto settled = settle(); !settled) return settled;
    }
    now_ = end;
    core_->advance(now_);
    return settle();
}

// Everything is flushed and told to be durable, cold bodies are read, and what falls due now happens, until
// nothing more does.
Outcome<void> SimulatedWorld::settle() {
    for (int count = 0; count < kSettleCountMax; ++count) {
        journal_.flush(now_);
        if (durable_ != appended_) {
            durable_ = appended_;
            core_->durable(durable_);
            continue;
        }
        const auto cold = std::ranges::find_if(incoming_, &Delivered::cold);
        if (cold != incoming_.end()) {
            warm_up(static_cast<std::size_t>(cold - incoming_.begin()));
            continue;
        }
        if (core_->next_due() > now_) return hand_over();
        core_->advance(now_);
    }
    return broken("it does not settle: something is always due");
}

// Reads the body of a delivery from the journal; the subscriber sees it from now on.
void SimulatedWorld::warm_up(std::size_t place) {
    const Delivery delivery = incoming_[place].delivery;
    auto body = journal_.read_body(id_of(delivery.position));
    const bool readable = body.has_value();
    const auto deadline = readable ? core_->visible(delivery, keep_body(*body)) : std::optional<Time>();
    if (!readable) core_->unreadable(delivery);
    if (!deadline) {
        incoming_.erase(incoming_.begin() + static_cast<std::ptrdiff_t>(place));
        return;
    }
    incoming_[place].body = std::move(*body);
    incoming_[place].delivery.deadline = *deadline;
    incoming_[place].cold = false;
}

// Puts what the command delivered into the rings; who takes at once has taken it.
Outcome<void> SimulatedWorld::hand_over() {
    for (Delivered& delivered : std::exchange(incoming_, {})) {
        last_queue_of_[id_of(delivered.delivery.position)] = delivered.delivery.queue;
        if (delivered.pulled) {
            pulled_.push_back(received(delivered));
            continue;
        }
        const auto found = std::ranges::find_if(subscriptions_, [&](const auto& entry) {
            return entry.second.id == delivered.delivery.subscription;
        });
        if (found == subscriptions_.end()) return broken("a delivery to a subscription that is not there");
        auto& [name, subscription] = *found;
        if (subscription.manual) {
            subscription.ring.push_back(std::move(delivered));
        } else {
            arrivals_.push_back({name, received(delivered)});
        }
    }
    return {};
}

// --- Effects

RecordIndex SimulatedWorld::record(const RecordHeader& header, std::span<const std::byte> head,
                                   const BodyRef& body) {
    note(header, head);
    const bool has_body = static_cast<RecordKind>(header.kind) == RecordKind::message;
    journal_.append(header, head, has_body ? body_of(body) : std::span<const std::byte>());
    return ++appended_;
}

// Remembers what a dead letter or a redriven message came of, and where it is now.
void SimulatedWorld::note(const RecordHeader& header, std::span<const std::byte> head) {
    if (static_cast<RecordKind>(header.kind) == RecordKind::define_queue) {
        const auto definition = read_queue_definition(head);
        if (definition) queue_names_[header.subject] = definition->name;
    }
    if (static_cast<RecordKind>(header.kind) != RecordKind::move) return;
    HeadReader in(head);
    MoveHead move;
    if (!read_move(in, move)) return;
    const MessageId id = id_of(move.origin);
    origin_of_[header.position] = id;
    QueueEntry entry;
    while (!in.at_end() && read_entry(in, entry)) {
        moved_to_[{queue_names_[entry.queue], id}] = header.position;
    }
}

bool SimulatedWorld::deliver(const Delivery& delivery) {
    Delivered delivered;
    delivered.delivery = delivery;
    delivered.delivery.body.data = nullptr;
    const auto body = body_of(delivery.body);
    delivered.body.assign(body.begin(), body.end());
    delivered.cold = delivery.body.data == nullptr && !bodies_.contains(delivery.body.log.bits);
    incoming_.push_back(std::move(delivered));
    return !incoming_.back().cold;
}

void SimulatedWorld::expired(const Expired& event) { expired_[event.queue].push_back(event); }

void SimulatedWorld::subscription_ended(SubscriptionId subscription, std::string_view) {
    for (auto& [name, entry] : subscriptions_) {
        if (entry.id == subscription) entry.id = kNone;
    }
}

const std::byte* SimulatedWorld::body(Position position, const BodyRef& body) {
    const auto warm = bodies_.find(body.log.bits);
    if (warm != bodies_.end()) return warm->second.data();
    auto cold = journal_.read_body(position);
    if (!cold) return nullptr;
    scanned_ = std::move(*cold);
    return scanned_.data();
}

// --- Bodies and names

LogPosition SimulatedWorld::keep_body(std::span<const std::byte> body) {
    const LogPosition place = LogPosition::make(Area::small, ++log_end_);
    bodies_[place.bits].assign(body.begin(), body.end());
    return place;
}

std::span<const std::byte> SimulatedWorld::body_of(const BodyRef& body) const {
    if (body.data != nullptr) return {body.data, body.size};
    const auto found = bodies_.find(body.log.bits);
    return found == bodies_.end() ? std::span<const std::byte>() : std::span<const std::byte>(found->second);
}

std::vector<std::byte> SimulatedWorld::body_of(const QueuedMessage& message) const {
    const auto warm = body_of(message.body);
    if (!warm.empty() || message.body.size == 0) return {warm.begin(), warm.end()};
    return journal_.read_body(id_of(message.position)).value_or(std::vector<std::byte>());
}

MessageId SimulatedWorld::id_of(Position position) const {
    const auto found = origin_of_.find(position);
    return found == origin_of_.end() ? position : found->second;
}

Received SimulatedWorld::received(const Delivered& delivered) const {
    const Delivery& d = delivered.delivery;
    return {.id = id_of(d.position),
            .count = d.count,
            .body = to_string(delivered.body),
            .is_row = false,
            .tag = {d.queue, d.position, d.lease, d.handle}};
}

// --- Clients and subscriptions

std::uint32_t SimulatedWorld::uid(const std::string& user) {
    return uids_.try_emplace(user, static_cast<std::uint32_t>(1'000 + uids_.size())).first->second;
}

ClientId SimulatedWorld::client(const std::string& name, const std::string& user) {
    const auto found = clients_.find(name);
    if (found != clients_.end()) return found->second;
    const ClientId id = core_->open_client(uid(user));
    core_->set_ring_free(id, UINT32_MAX);
    clients_.emplace(name, id);
    return id;
}

// The client of a subscription, perhaps of a former life, or of a consumer that has none.
ClientId SimulatedWorld::client_of(const std::string& name) {
    const auto found = subscriptions_.find(name);
    return client(found == subscriptions_.end() ? name : found->second.client);
}

Outcome<SimulatedWorld::Subscription*> SimulatedWorld::live_subscription(std::string_view name) {
    const auto found = subscriptions_.find(name);
    if (found == subscriptions_.end() || found->second.id == kNone) {
        return refused(fmt::format("no subscription is named `{}`", name));
    }
    return &found->second;
}

std::vector<Untaken> SimulatedWorld::untaken_of(const Subscription& subscription) const {
    std::vector<Untaken> untaken;
    for (const Delivered& delivered : subscription.ring) {
        const Delivery& d = delivered.delivery;
        untaken.push_back({d.queue, d.position, d.lease, d.handle});
    }
    return untaken;
}

std::vector<Untaken> SimulatedWorld::untaken_of(std::string_view client) const {
    std::vector<Untaken> untaken;
    for (const auto& [name, subscription] : subscriptions_) {
        if (subscription.id == kNone || subscription.client != client) continue;
        const auto more = untaken_of(subscription);
        untaken.insert(untaken.end(), more.begin(), more.end());
    }
    return untaken;
}

Outcome<void> SimulatedWorld::subscribe(const Subscribe& command, std::optional<MessageId>) {
    if (live_subscription(command.name))
        return refused(fmt::format("`{}` has subscribed already", command.name));
    if (!command.bookmark.empty()) return unsupported("subscriptions with a bookmark");
    if (command.tail && core_->find_queue(command.target) != kNone) {
        return unsupported("a topic's subscription by the name of a queue");
    }
    const SubscribeRequest request{client(command.client, command.user), command.target, command.max_backlog,
                                   command.filter};
    const auto subscribed = core_->subscribe(request);
    if (!subscribed) return refused(subscribed.error());
    subscriptions_[command.name] = {
        command.client, command.target, subscribed->subscription, command.manual, {}};
    return settle();
}

Outcome<void> SimulatedWorld::replace(const Replace& command) {
    const auto subscription = live_subscription(command.name);
    if (!subscription) return std::unexpected(subscription.error());
    const std::string_view target = command.target ? std::string_view(*command.target) : "";
    const std::string_view filter = command.filter ? std::string_view(*command.filter) : "";
    const std::uint64_t max_backlog = command.max_backlog.value_or(0);
    const ReplaceRequest request{(*subscription)->id, command.target ? &target : nullptr,
                                 command.filter ? &filter : nullptr,
                                 command.max_backlog ? &max_backlog : nullptr};
    const auto replaced = core_->replace(request);
    if (!replaced) return refused(replaced.error());
    if (command.target) (*subscription)->target = *command.target;
    return settle();
}

Outcome<void> SimulatedWorld::unsubscribe(std::string_view name) {
    const auto subscription = live_subscription(name);
    if (!subscription) return std::unexpected(subscription.error());
    const SubscriptionId id = std::exchange((*subscription)->id, kNone);
    core_->unsubscribe(id, untaken_of(**subscription));
    (*subscription)->ring.clear();
    return settle();
}

Outcome<void> SimulatedWorld::end_client(const EndClient& command) {
    const auto found = clients_.find(command.client);
    if (found == clients_.end()) return refused(fmt::format("no client is named `{}`", command.client));
    const auto untaken = untaken_of(command.client);
    for (auto& [name, subscription] : subscriptions_) {
        if (subscription.client != command.client) continue;
        subscription.id = kNone;
        subscription.ring.clear();
    }
    core_->end_client(found->second, untaken);
    clients_.erase(found);
    return settle();
}

Outcome<void> SimulatedWorld::take(const Take& command) {
    const auto subscription = live_subscription(command.name);
    if (!subscription) return std::unexpected(subscription.error());
    auto& ring = (*subscription)->ring;
    const auto count = static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(command.count, ring.size()));
    for (auto at = ring.begin(); at != ring.begin() + count; ++at)
        arrivals_.push_back({command.name, received(*at)});
    ring.erase(ring.begin(), ring.begin() + count);
    return {};
}

std::vector<Arrival> SimulatedWorld::arrivals() { return std::exchange(arrivals_, {}); }

}  // namespace pinnace::scenario
