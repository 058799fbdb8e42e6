// SPDX-License-Identifier: Apache-2.0
// CoreWorld: a core with its effects for tests, in words: queues by configuration lines, messages by name,
// everything durable after each command, restarts from the records.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/config_parse.h"
#include "core/name_pattern.h"
#include "tests/support/recording_effects.h"

namespace pinnace::test {

inline constexpr Duration kSecond = 1'000'000'000;

class CoreWorld {
 public:
    explicit CoreWorld(std::vector<std::string> queue_lines, CoreOptions options = {})
        : lines_(std::move(queue_lines)), options_(options) {
        start(0, true);
    }

    RecordingEffects effects;
    std::unique_ptr<Core> core;
    bool durable_at_once = true;
    std::string refusal;  // of the definitions

    void settle() {
        if (durable_at_once) core->durable(effects.record_count);
        // What became durable may have led to more records.
        if (durable_at_once) core->durable(effects.record_count);
    }

    Answer publish(std::string_view topic, std::string_view name, Duration expiration = -1,
                   Duration delay = -1) {
        PublishMessage message{.topic = core->resolve_topic(topic),
                               .body = body(name),
                               .expiration = expiration,
                               .delay = delay,
                               .group = {},
                               .dedup = {}};
        PublishRequest request;
        request.messages = {&message, 1};
        return publish(request, name);
    }
    Answer publish(const PublishRequest& request, std::string_view name) {
        PublishResult result;
        core->publish(request, {&result, 1});
        if (result.answer == Answer::ok) {
            names_[result.position] = name;
            positions_[std::string(name)] = result.position;
        }
        settle();
        return result.answer;
    }
    BodyRef body(std::string_view name) {
        return {LogPosition::make(Area::small, 4096), static_cast<std::uint32_t>(name.size()),
                reinterpret_cast<const std::byte*>(name.data())};
    }

    SubscriptionId subscribe(std::string_view target, std::uint64_t max_backlog = 1,
                             ClientId client = kNone) {
        if (client == kNone) client = core->open_client(1000);
        const auto subscribed =
            core->subscribe({.client = client, .target = target, .max_backlog = max_backlog, .filter = {}});
        settle();
        if (!subscribed) return kNone;
        client_of_[subscribed->subscription] = client;
        return subscribed->subscription;
    }
    ClientId client(SubscriptionId subscription) { return client_of_[subscription]; }

    // What the subscription got since the last call, as "a b#2": the count only if it is not 1.
    std::string got(SubscriptionId subscription) {
        std::string text;
        std::erase_if(effects.deliveries, [&](const Delivery& delivery) {
            if (delivery.subscription != subscription) return false;
            latest_[{subscription, delivery.position}] = delivery;
            text += (text.empty() ? "" : " ") + names_[delivery.position];
            if (delivery.count != 1) text += "#" + std::to_string(delivery.count);
            return true;
        });
        return text;
    }
    std::string expired() {
        std::string text;
        for (const Expired& event : effects.expirations)
            text += (text.empty() ? "" : " ") + names_[event.position] + ":" + std::to_string(event.reasons);
        effects.expirations.clear();
        return text;
    }
    std::string queued(std::string_view queue) {
        std::string text;
        core->query(core->find_queue(queue), [&](const QueuedMessage& message) {
            text += (text.empty() ? "" : " ") + names_[message.position];
            return true;
        });
        return text;
    }

    Answer verb(Verb verb, SubscriptionId subscription, std::string_view queue, std::string_view name,
                Duration period = 0) {
        VerbRequest request;
        request.verb = verb;
        request.client = client_of_[subscription];
        request.queue = core->find_queue(queue);
        request.position = positions_[std::string(name)];
        request.period = period;
        got_all();
        if (const auto at = latest_.find({subscription, request.position}); at != latest_.end()) {
            request.lease = at->second.lease;
            request.handle = at->second.handle;
        }
        Answer answer;
        core->verbs({&request, 1}, {&answer, 1});
        settle();
        return answer;
    }
    Answer ack(SubscriptionId subscription, std::string_view queue, std::string_view name) {
        return verb(Verb::acknowledge, subscription, queue, name);
    }
    Untaken untaken(SubscriptionId subscription, std::string_view name) {
        got_all();
        const Delivery& delivery = latest_.at({subscription, positions_.at(std::string(name))});
        return {delivery.queue, delivery.position, delivery.lease, delivery.handle};
    }
    void end(SubscriptionId subscription, std::vector<Untaken> untaken = {}) {
        core->end_client(client_of_[subscription], untaken);
        settle();
    }
    void advance(Duration by) {
        core->advance(core->now() + by);
        settle();
    }
    QueueStatus status(std::string_view queue) { return core->status(core->find_queue(queue)); }

    // Another life from the same records; they go on behind them. Answers the error of applying them.
    std::string restart(bool clean, Duration down = 0) {
        if (clean) core->stop();
        const Time at = core->now() + down;
        ++options_.epoch;
        return start(at, clean);
    }
    void name(Position position, std::string_view name) {
        names_[position] = name;
        positions_[std::string(name)] = position;
    }
    Position position(std::string_view name) { return positions_.at(std::string(name)); }

 private:
    void got_all() {
        for (const Delivery& delivery : effects.deliveries)
            latest_[{delivery.subscription, delivery.position}] = delivery;
    }
    std::string start(Time at, bool clean) {
        effects.deliveries.clear();
        latest_.clear();
        client_of_.clear();
        const std::size_t count = effects.records.size();
        effects.record_count = 0;
        core = std::make_unique<Core>(effects, options_);
        std::vector<QueueConfig> configs;
        for (const std::string& line : lines_) {
            auto config = parse_queue_line(line);
            if (!config) return refusal = config.error().text;
            configs.push_back(*config);
            std::vector<std::string> topics = config->underlying_topics;
            if (topics.empty()) topics.push_back(config->name);
            for (const std::string& topic : topics) EXPECT_TRUE(core->define_topic({topic, "json"}));
        }
        for (const QueueConfig& config : configs)
            if (const auto queue = core->define_queue(config); !queue) return refusal = queue.error().text;
        if (const auto done = core->finish_definitions(); !done) return refusal = done.error().text;
        const std::string error = effects.apply_to(*core, count);
        if (!error.empty()) return error;
        core->recovered(at, clean);
        settle();
        return {};
    }

    std::vector<std::string> lines_;
    CoreOptions options_;
    std::map<Position, std::string> names_;
    std::map<std::string, Position> positions_;
    std::map<SubscriptionId, ClientId> client_of_;
    std::map<std::pair<SubscriptionId, Position>, Delivery> latest_;
};

}  // namespace pinnace::test
