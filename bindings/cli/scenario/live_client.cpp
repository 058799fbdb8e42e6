// SPDX-License-Identifier: Apache-2.0
#include "bindings/cli/scenario/live_client.h"

#include <fmt/format.h>

#include <algorithm>

namespace pinnace::scenario {
namespace {

constexpr std::size_t kTakeMax = 1024;

std::unexpected<Fault> broken(std::string text) {
    return std::unexpected(Fault{Fault::Kind::broken, std::move(text), 0});
}

void add(LiveClient::Take& to, const std::string& subscription, std::span<const Message> messages) {
    for (const Message& message : messages) {
        const Lease& lease = message.lease();
        Received received{.id = lease.position,
                          .count = message.count(),
                          .body = std::string(message.text()),
                          .is_row = false,
                          .tag = {lease.queue, lease.position, lease.lease, lease.handle}};
        to.push_back({subscription, std::string(message.queue()), std::move(received)});
    }
}

}  // namespace

std::unexpected<Fault> fault_of(const Error& error) {
    const std::string code(to_text(error.code));
    if (error.code >= ErrorCode::disconnected) return broken(code + ": " + error.text);
    if (error.text.empty()) return refused(code);
    return refused(error.text.starts_with(code) ? error.text : code + ": " + error.text);
}

Answer answer_of(ErrorCode code) {
    if (code == ErrorCode::none) return Answer::ok;
    for (std::uint8_t i = 0; i <= static_cast<std::uint8_t>(Answer::would_block); ++i) {
        if (to_text(static_cast<Answer>(i)) == to_text(code)) return static_cast<Answer>(i);
    }
    return Answer::bad_request;
}

Outcome<LiveClient> LiveClient::connect(const std::string& socket, const std::string& name) {
    ConnectionOptions options;
    options.socket = socket;
    options.name = name;
    options.wait = ConnectionOptions::Wait::block;
    options.submit_size = 1u << 20;
    options.acknowledgment_count = 4096;
    options.reconnect = false;
    auto connection = Connection::open(options);
    if (!connection) return broken(connection.error().text);
    return LiveClient(std::move(*connection));
}

bool LiveClient::has_manual() const {
    return std::ranges::any_of(subscriptions_, [](const auto& entry) { return entry.second.manual; });
}

Outcome<void> LiveClient::subscribe(const Subscribe& command) {
    auto opened = Subscriber::open(connection_, command.target, {command.max_backlog, command.filter});
    if (!opened) return fault_of(opened.error());
    subscriptions_.emplace(command.name, Held{std::move(*opened), command.manual});
    return {};
}

Outcome<void> LiveClient::replace(const Replace& command) {
    ReplaceOptions options;
    if (command.target) options.target = *command.target;
    if (command.filter) options.filter = *command.filter;
    options.max_backlog = command.max_backlog;
    const auto replaced = subscriptions_.at(command.name).subscriber.replace(options);
    if (!replaced) return fault_of(replaced.error());
    return {};
}

Outcome<void> LiveClient::unsubscribe(const std::string& subscription) {
    const auto found = subscriptions_.find(subscription);
    const auto ended = found->second.subscriber.unsubscribe();
    subscriptions_.erase(found);
    if (!ended) return fault_of(ended.error());
    return {};
}

Outcome<LiveClient::Take> LiveClient::take(const std::string& subscription, std::uint64_t count) {
    Subscriber& subscriber = subscriptions_.at(subscription).subscriber;
    Take all;
    while (all.size() < count) {
        const auto taken =
            subscriber.take(std::min<std::uint64_t>(count - all.size(), kTakeMax), Timeout::zero());
        if (!taken) return fault_of(taken.error());
        if (taken->empty()) break;
        add(all, subscription, *taken);
    }
    return all;
}

Outcome<LiveClient::Take> LiveClient::take_at_once() {
    Take all;
    for (auto& [name, held] : subscriptions_) {
        if (held.manual) continue;
        auto taken = take(name, UINT64_MAX);
        if (!taken) return taken;
        std::ranges::move(*taken, std::back_inserter(all));
    }
    return all;
}

Outcome<LiveClient::Take> LiveClient::receive(const std::string& name, const std::string& queue,
                                              std::uint64_t count_max) {
    const auto standing = subscriptions_.find(name);
    auto puller = pullers_.find(queue);
    if (standing == subscriptions_.end() && puller == pullers_.end()) {
        auto opened = Subscriber::open_for_pulls(connection_, queue);
        if (!opened) return fault_of(opened.error());
        puller = pullers_.emplace(queue, std::move(*opened)).first;
    }
    Subscriber& subscriber = standing == subscriptions_.end() ? puller->second : standing->second.subscriber;
    const auto pulled = subscriber.receive(count_max, Timeout::zero(), queue);
    if (!pulled) return fault_of(pulled.error());
    Take messages;
    add(messages, name, *pulled);
    return messages;
}

Outcome<std::vector<Answer>> LiveClient::verbs(const std::string& queue, Verb verb,
                                               std::span<const Lease> leases, Duration period) {
    if (leases.empty()) return std::vector<Answer>();
    auto opened = QueueClient::open(connection_, queue);
    if (!opened) return fault_of(opened.error());
    const auto codes = verb == Verb::acknowledge ? opened->ack(leases)
                       : verb == Verb::cancel    ? opened->cancel(leases)
                       : verb == Verb::expire    ? opened->expire(leases)
                                                 : opened->renew(leases, std::chrono::nanoseconds(period));
    if (!codes) return fault_of(codes.error());
    std::vector<Answer> answers;
    for (const ErrorCode code : *codes) answers.push_back(answer_of(code));
    return answers;
}

Outcome<Lease> LiveClient::bare_lease(const std::string& queue, Position position) {
    const auto opened = QueueClient::open(connection_, queue);
    if (!opened) return fault_of(opened.error());
    return opened->at({position});
}

Outcome<std::uint64_t> LiveClient::acknowledge_where(const std::string& queue, const std::string& where) {
    auto opened = QueueClient::open(connection_, queue);
    if (!opened) return fault_of(opened.error());
    const auto count = opened->ack_where(where);
    if (!count) return fault_of(count.error());
    return *count;
}

void LiveClient::disconnect() {
    static_cast<void>(connection_.close());
    subscriptions_.clear();
    pullers_.clear();
}

void LiveClient::abandon() {
    connection_.abandon();
    subscriptions_.clear();
    pullers_.clear();
}

}  // namespace pinnace::scenario
