// SPDX-License-Identifier: Apache-2.0
// LiveWorld: lives, time, clients and subscriptions.
#include "bindings/cli/scenario/live_world.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "bindings/cli/scenario/define.h"
#include "bindings/cli/scenario/start_time.h"

namespace pinnace::scenario {
namespace {

std::unexpected<Fault> broken(std::string text) {
    return std::unexpected(Fault{Fault::Kind::broken, std::move(text), 0});
}

// A scenario is small; its engine starts quickly.
EngineOptions small_engine() {
    EngineOptions options;
    options.wait = WaitMode::block;
    options.pin = false;
    options.message_size_max = 1u << 20;
    options.segment_size = 8u << 20;
    options.log_small_size = 4u << 20;
    options.log_large_size = 4u << 20;
    options.log_reread_size = 2u << 20;
    options.rejoin_grace = 0;  // nobody comes back
    return options;
}

}  // namespace

// --- Lives

Outcome<void> LiveWorld::start(std::span<const Definition> definitions) {
    options_ = small_engine();
    auto read = read_definitions(definitions);
    if (!read) return std::unexpected(read.error());
    options_.definitions = std::move(*read);
    std::string path = (std::filesystem::temp_directory_path() / "pinnace-scenario-XXXXXX").string();
    if (mkdtemp(path.data()) == nullptr) return broken(fmt::format("{}: {}", path, std::strerror(errno)));
    directory_ = path;
    options_.data_directory = directory_ + "/data";
    options_.socket_path = directory_ + "/socket";
    tail_.emplace(options_.data_directory);
    now_ = kStartTime;
    return begin_life();
}

LiveWorld::~LiveWorld() {
    forget_clients();
    engine_.reset();
    std::error_code ignored;
    if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
}

Outcome<void> LiveWorld::begin_life() {
    options_.manual_clock = now_;
    auto started = LiveEngine::start(options_);
    if (!started) return std::unexpected(started.error());
    engine_.emplace(std::move(*started));
    return settle();
}

void LiveWorld::forget_clients() {
    for (auto& [name, client] : clients_) client.abandon();
    for (auto& [name, sender] : senders_) sender.connection.abandon();
    if (tool_) tool_->abandon();
    clients_.clear();
    senders_.clear();
    tool_.reset();
}

// The clients are told, and freeze what they have not taken.
Outcome<void> LiveWorld::restart() {
    const auto stopped = engine_->stop([this] {
        for (auto& [name, client] : clients_) client.poll();
        for (auto& [name, sender] : senders_) static_cast<void>(sender.connection.poll());
        if (tool_) tool_->poll();
    });
    forget_clients();
    if (!stopped) return stopped;
    return begin_life();
}

Outcome<void> LiveWorld::crash() {
    engine_->kill();
    forget_clients();
    return begin_life();
}

Outcome<void> LiveWorld::advance(Duration by) {
    if (by > kNever - 1 - now_) return refused("advance: that is beyond the clock");
    now_ += by;
    if (auto set = engine_->set_clock(now_); !set) return set;
    return settle();
}

Outcome<void> LiveWorld::settle() {
    for (bool more = true; more;) {
        if (auto settled = engine_->settle(); !settled) return settled;
        if (auto read = tail_->read(); !read) return read;
        const auto took = take_at_once();
        if (!took) return std::unexpected(took.error());
        more = *took;
    }
    return {};
}

// True: there was something.
Outcome<bool> LiveWorld::take_at_once() {
    bool any = false;
    for (auto& [name, client] : clients_) {
        auto taken = client.take_at_once();
        if (!taken) return std::unexpected(taken.error());
        any = any || !taken->empty();
        for (LiveClient::Taken& one : *taken) {
            note(one);
            arrivals_.push_back({one.subscription, std::move(one.message)});
        }
    }
    return any;
}

void LiveWorld::note(LiveClient::Taken& taken) {
    taken.message.id = tail_->id_of(taken.message.tag.position);
    last_queue_of_[taken.message.id] = taken.queue;
}

std::vector<Arrival> LiveWorld::arrivals() { return std::exchange(arrivals_, {}); }

// --- Clients and subscriptions

Outcome<LiveClient*> LiveWorld::client(const std::string& name) {
    auto found = clients_.find(name);
    if (found == clients_.end()) {
        auto made = LiveClient::connect(options_.socket_path, name);
        if (!made) return std::unexpected(made.error());
        found = clients_.emplace(name, std::move(*made)).first;
    }
    return &found->second;
}

// The client of a subscription, perhaps of a former life, or of a consumer that has none.
Outcome<LiveClient*> LiveWorld::client_of(const std::string& consumer) {
    const auto found = consumers_.find(consumer);
    return client(found == consumers_.end() ? consumer : found->second.client);
}

Outcome<LiveClient*> LiveWorld::holder(std::string_view subscription) {
    const auto consumer = consumers_.find(subscription);
    if (consumer != consumers_.end()) {
        const auto found = clients_.find(consumer->second.client);
        if (found != clients_.end() && found->second.has(consumer->first)) return &found->second;
    }
    return refused(fmt::format("no subscription is named `{}`", subscription));
}

bool LiveWorld::is_queue(std::string_view name) const {
    return std::ranges::any_of(options_.definitions.queues,
                               [&](const QueueConfig& queue) { return queue.name == name; });
}

Outcome<void> LiveWorld::subscribe(const Subscribe& command, std::optional<MessageId>) {
    if (holder(command.name)) return refused(fmt::format("`{}` has subscribed already", command.name));
    if (!command.bookmark.empty()) return unsupported("subscriptions with a bookmark");
    if (!command.user.empty()) return unsupported("clients of several users");
    if (command.tail && is_queue(command.target)) {
        return unsupported("a topic's subscription by the name of a queue");
    }
    const auto owner = client(command.client);
    if (!owner) return std::unexpected(owner.error());
    if ((command.manual && !(*owner)->empty()) || (*owner)->has_manual()) {
        return unsupported("take=manual beside another subscription of the same client");
    }
    if (auto subscribed = (*owner)->subscribe(command); !subscribed) return subscribed;
    consumers_[command.name] = {command.client, command.target};
    return settle();
}

Outcome<void> LiveWorld::replace(const Replace& command) {
    const auto owner = holder(command.name);
    if (!owner) return std::unexpected(owner.error());
    if (auto replaced = (*owner)->replace(command); !replaced) return replaced;
    if (command.target) consumers_[command.name].target = *command.target;
    return settle();
}

Outcome<void> LiveWorld::unsubscribe(std::string_view name) {
    const auto owner = holder(name);
    if (!owner) return std::unexpected(owner.error());
    if (auto ended = (*owner)->unsubscribe(std::string(name)); !ended) return ended;
    return settle();
}

Outcome<void> LiveWorld::end_client(const EndClient& command) {
    const auto found = clients_.find(command.client);
    if (found == clients_.end()) return refused(fmt::format("no client is named `{}`", command.client));
    if (command.kill) {
        found->second.abandon();
    } else {
        found->second.disconnect();
    }
    clients_.erase(found);
    if (auto ended = engine_->await_sessions(session_count()); !ended) return ended;
    return settle();
}

Outcome<void> LiveWorld::take(const Take& command) {
    const auto owner = holder(command.name);
    if (!owner) return std::unexpected(owner.error());
    auto taken = (*owner)->take(command.name, command.count);
    if (!taken) return std::unexpected(taken.error());
    for (LiveClient::Taken& one : *taken) {
        note(one);
        arrivals_.push_back({one.subscription, std::move(one.message)});
    }
    return settle();
}

}  // namespace pinnace::scenario
