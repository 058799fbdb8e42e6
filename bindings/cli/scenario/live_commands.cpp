// SPDX-License-Identifier: Apache-2.0
// LiveWorld: publishes, verbs and questions.
#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>

#include "bindings/cli/scenario/live_world.h"

namespace pinnace::scenario {
namespace {

std::unexpected<Fault> broken(std::string text) {
    return std::unexpected(Fault{Fault::Kind::broken, std::move(text), 0});
}

std::vector<OutgoingMessage> messages_of(const Publish& command) {
    std::vector<OutgoingMessage> messages;
    for (const NewMessage& from : command.messages) {
        OutgoingMessage& message =
            messages.emplace_back(OutgoingMessage{command.topic, std::as_bytes(std::span(from.body)), {}});
        if (from.group) message.options.group = *from.group;
        if (from.dedup) message.options.dedup = *from.dedup;
        if (from.delay) message.options.delay = std::chrono::nanoseconds(*from.delay);
        if (from.expiration) message.options.expiration = std::chrono::nanoseconds(*from.expiration);
        if (!command.from.empty()) message.options.number = command.number;
        message.options.answer = true;
    }
    return messages;
}

}  // namespace

// --- Publishes

Outcome<LiveWorld::Sender*> LiveWorld::sender(const std::string& name) {
    auto found = senders_.find(name);
    if (found == senders_.end()) {
        ConnectionOptions options;
        options.socket = options_.socket_path;
        options.name = "publisher " + name;
        options.wait = ConnectionOptions::Wait::block;
        options.submit_size = 8u << 20;
        options.subscribes = false;
        options.reconnect = false;
        auto connection = Connection::open(options);
        if (!connection) return broken(connection.error().text);
        auto publisher = Publisher::open(*connection, name);
        if (!publisher) return broken(publisher.error().text);
        found = senders_.emplace(name, Sender{std::move(*connection), std::move(*publisher)}).first;
    }
    return &found->second;
}

Outcome<std::vector<Published>> LiveWorld::publish(const Publish& command) {
    const auto from = sender(command.from);
    if (!from) return std::unexpected(from.error());
    Publisher& publisher = (*from)->publisher;
    const auto messages = messages_of(command);
    const auto sent = messages.size() == 1
                          ? publisher.publish(command.topic, messages[0].body, messages[0].options)
                          : publisher.publish(messages);
    if (!sent) return fault_of(sent.error());
    if (const auto read = publisher.wait_read(); !read) return broken(read.error().text);
    if (auto settled = settle(); !settled) return std::unexpected(settled.error());
    std::vector<Published> published(messages.size());
    std::size_t answer_count = 0;
    const std::uint64_t first = sent->number + 1 - messages.size();
    for (const PublishAnswer& answer : publisher.answers()) {
        if (answer.number < first || answer.number > sent->number) continue;
        if (answer.code != ErrorCode::none && answer.code != ErrorCode::duplicate)
            return refused(std::string(to_text(answer.code)));
        ++answer_count;
        const MessageId id = answer.position == 0 ? 0 : tail_->id_of(answer.position);
        published[answer.number - first] = {answer.code == ErrorCode::duplicate, id};
    }
    if (answer_count != messages.size()) return broken("a publish was not answered");
    return published;
}

// --- Verbs

// By the delivery that the subscription had; else the bare message, in the queue that the subscription is
// to or, if that is a pattern, in the one that delivered it to somebody.
Outcome<Lease> LiveWorld::lease_of(const Verbs& command, const VerbTarget& target) {
    if (target.tag) {
        const DeliveryTag& tag = *target.tag;
        return Lease{tag.position, tag.lease, tag.queue, tag.handle, kNone};
    }
    const auto consumer = consumers_.find(command.name);
    if (consumer == consumers_.end())
        return refused(fmt::format("no subscription is named `{}`", command.name));
    std::string queue = consumer->second.target;
    if (!is_queue(queue)) {
        const auto last = last_queue_of_.find(target.id);
        if (last == last_queue_of_.end()) {
            return refused(
                fmt::format("`{}` has subscribed to several queues: which one is meant?", command.name));
        }
        queue = last->second;
    }
    const auto caller = client_of(command.name);
    if (!caller) return std::unexpected(caller.error());
    return (*caller)->bare_lease(queue, tail_->position_of(queue, target.id));
}

Outcome<std::vector<Answer>> LiveWorld::verbs(const Verbs& command, std::span<const VerbTarget> targets) {
    const auto caller = client_of(command.name);
    if (!caller) return std::unexpected(caller.error());
    std::vector<Lease> leases;
    for (const VerbTarget& target : targets) {
        const auto lease = lease_of(command, target);
        if (!lease) return std::unexpected(lease.error());
        leases.push_back(*lease);
    }
    const auto answers =
        (*caller)->verbs(options_.definitions.queues.front().name, command.verb, leases, command.period);
    if (!answers) return answers;
    if (auto settled = settle(); !settled) return std::unexpected(settled.error());
    return answers;
}

Outcome<std::uint64_t> LiveWorld::acknowledge_where(const AcknowledgeWhere& command) {
    const auto caller = client_of(command.name);
    if (!caller) return std::unexpected(caller.error());
    const auto count = (*caller)->acknowledge_where(command.queue, command.where);
    if (!count) return count;
    if (auto settled = settle(); !settled) return std::unexpected(settled.error());
    return count;
}

// A consumer without a subscription is remembered too, so that its verbs find queue and client.
Outcome<std::vector<Received>> LiveWorld::receive(const Receive& command) {
    const bool is_standing = holder(command.name).has_value();
    if (!is_standing) consumers_[command.name] = {command.name, command.queue};
    const auto caller = client_of(command.name);
    if (!caller) return std::unexpected(caller.error());
    auto pulled = (*caller)->receive(command.name, command.queue, command.count_max);
    if (!pulled) return std::unexpected(pulled.error());
    if (auto settled = settle(); !settled) return std::unexpected(settled.error());
    std::vector<Received> messages;
    for (LiveClient::Taken& taken : *pulled) {
        note(taken);
        messages.push_back(std::move(taken.message));
    }
    return messages;
}

// --- Questions, and what the operator does

Outcome<Connection*> LiveWorld::tool() {
    if (!tool_) {
        auto made = LiveClient::connect(options_.socket_path, "scenario");
        if (!made) return std::unexpected(made.error());
        tool_.emplace(std::move(*made));
    }
    return &tool_->connection();
}

Outcome<std::vector<Received>> LiveWorld::query(const Query& command) {
    const auto connection = tool();
    if (!connection) return std::unexpected(connection.error());
    auto queue = QueueClient::open(**connection, command.target);
    if (!queue) return fault_of(queue.error());
    const auto found = queue->query(command.where.value_or(""));
    if (!found) return fault_of(found.error());
    std::vector<Received> messages;
    for (const FoundMessage& message : *found) {
        if (!message.readable) return broken("a body cannot be read");
        const Position position = message.bookmark.position;
        messages.push_back({.id = tail_->id_of(position),
                            .count = 0,
                            .body = message.body,
                            .is_row = false,
                            .tag = {kNone, position, 0, kNone}});
    }
    return messages;
}

Outcome<QueueStatus> LiveWorld::status(std::string_view name) {
    const auto connection = tool();
    if (!connection) return std::unexpected(connection.error());
    const auto text = (*connection)->status();
    if (!text) return fault_of(text.error());
    simdjson::dom::parser parser;
    simdjson::dom::array queues;
    if (parser.parse(*text)["queues"].get(queues) != simdjson::SUCCESS)
        return broken("the engine's status is not as it should be");
    for (const simdjson::dom::element queue : queues) {
        std::string_view queue_name;
        QueueStatus status;
        if (queue["name"].get(queue_name) != simdjson::SUCCESS || queue_name != name) continue;
        if (queue["depth"].get(status.depth) != simdjson::SUCCESS ||
            queue["leased"].get(status.leased) != simdjson::SUCCESS) {
            return broken("the engine's status is not as it should be");
        }
        return status;
    }
    return refused(fmt::format("unknown_topic: no queue is named `{}`", name));
}

Outcome<std::vector<ExpiredMessage>> LiveWorld::expired(std::string_view queue) {
    if (!is_queue(queue)) return refused(fmt::format("unknown_topic: no queue is named `{}`", queue));
    return tail_->take_expired(queue);
}

Outcome<std::uint64_t> LiveWorld::redrive(const Redrive& command) {
    const auto connection = tool();
    if (!connection) return std::unexpected(connection.error());
    auto from = QueueClient::open(**connection, command.from);
    if (!from) return fault_of(from.error());
    const auto count = from->redrive(command.to);
    if (!count) return fault_of(count.error());
    if (auto settled = settle(); !settled) return std::unexpected(settled.error());
    return *count;
}

Outcome<std::uint64_t> LiveWorld::purge(std::string_view name) {
    const auto connection = tool();
    if (!connection) return std::unexpected(connection.error());
    auto queue = QueueClient::open(**connection, name);
    if (!queue) return fault_of(queue.error());
    const auto count = queue->purge();
    if (!count) return fault_of(count.error());
    if (auto settled = settle(); !settled) return std::unexpected(settled.error());
    return *count;
}

// --- What the engine does not do yet

Outcome<Published> LiveWorld::publish_delta(const DeltaPublish&) { return unsupported("delta publishes"); }
Outcome<std::uint64_t> LiveWorld::erase(const Delete&) { return unsupported("deletes by filter"); }
Outcome<std::vector<std::string>> LiveWorld::rows(const Rows&) { return unsupported("views"); }

}  // namespace pinnace::scenario
