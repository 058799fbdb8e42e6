// SPDX-License-Identifier: Apache-2.0
// Model: subscriptions, clients, and lives of the engine (D4, D8, L2, L11, M1, M3, R, S1, X6).
#include <algorithm>
#include <utility>

#include "tests/model/reference/model.h"
#include "tests/model/reference/pattern.h"

namespace pinnace::model {

namespace {

constexpr std::uint64_t kRingEntries = 65'536;

}  // namespace

// A queue's name, a pattern over queues' names, or a topic; the word of a refusal if it is none.
std::string Model::find_targets(const std::string& target, std::vector<int>& over,
                                std::vector<std::string>& topics) const {
    for (const ModelQueue& queue : queues_)
        if (queue.def.name == target) over.push_back(index_of(queue));
    if (!over.empty()) return {};
    if (is_pattern(target)) {
        for (const ModelQueue& queue : queues_)
            if (matches_pattern(target, queue.def.name)) over.push_back(index_of(queue));
    } else if (is_topic(target)) {
        topics.push_back(target);
    }
    return over.empty() && topics.empty() ? "unknown_topic" : "";
}

// D4.
std::uint64_t Model::limit_of(std::uint64_t max_backlog, const std::vector<int>& over) const {
    std::uint64_t limit = std::min(max_backlog, kRingEntries);
    for (const int index : over)
        limit = std::min(limit, queues_[static_cast<std::size_t>(index)].def.max_per_subscription);
    return limit;
}

void Model::subscribe(const Command& command, Outcome& outcome) {
    clients_.insert(command.client);
    Subscriber made;
    outcome.error = find_targets(command.target, made.queues, made.topics);
    if (!outcome.error.empty()) return;
    made.filter = command.filter.value_or("");
    if (!made.filter.empty() && !expressions_.compiles(made.filter)) {
        outcome.error = "bad_filter";
        return;
    }
    made.name = command.subscription;
    made.client = command.client;
    made.order = next_order_++;
    made.target = command.target;
    made.max_backlog = command.max_backlog.value_or(1);
    made.limit = limit_of(made.max_backlog, made.queues);
    made.live = true;
    made.manual = command.flag;
    subscribers_[made.name] = std::move(made);
}

// R1: leases, outstanding count and place in the order stay; what is not given keeps its value.
void Model::replace(const Command& command, Outcome& outcome) {
    Subscriber& subscriber = subscribers_.at(command.subscription);
    const std::string target = command.target.empty() ? subscriber.target : command.target;
    std::vector<int> over;
    std::vector<std::string> topics;
    outcome.error = find_targets(target, over, topics);
    if (!outcome.error.empty()) return;
    const std::string filter = command.filter.value_or(subscriber.filter);
    if (!filter.empty() && !expressions_.compiles(filter)) {
        outcome.error = "bad_filter";
        return;
    }
    subscriber.target = target;
    subscriber.filter = filter;
    subscriber.queues = over;
    subscriber.topics = topics;
    if (command.max_backlog) subscriber.max_backlog = *command.max_backlog;
    subscriber.limit = limit_of(subscriber.max_backlog, over);
}

// L2: the leases are broken in one step, queue by queue, by position. What is still in the ring was not
// delivered (L11).
void Model::end_subscribers(const std::set<int>& names) {
    std::set<std::pair<int, std::uint64_t>> untaken;
    for (const int name : names)
        for (const Tag& tag : subscribers_.at(name).ring) untaken.insert({tag.queue, tag.generation});
    breaking_ = true;
    for (ModelQueue& queue : queues_) {
        std::vector<Place> held;
        for (const auto& [place, entry] : queue.entries)
            if (entry.held() && names.contains(entry.holder)) held.push_back(place);
        for (const Place place : held) {
            const Entry& entry = queue.entries.at(place);
            if (untaken.contains({index_of(queue), entry.generation})) {
                give_back_untaken(queue, place);
            } else if (queue.def.at_most_once) {
                leave(queue, place, 0);
            } else {
                give_back(queue, place, false);
            }
        }
    }
    breaking_ = false;
    for (const int name : names) {
        Subscriber& subscriber = subscribers_.at(name);
        subscriber.live = false;
        subscriber.ring.clear();
    }
}

void Model::end_client(int client) {
    std::set<int> names;
    for (const auto& [name, subscriber] : subscribers_)
        if (subscriber.live && subscriber.client == client) names.insert(name);
    end_subscribers(names);
    clients_.erase(client);
}

// An orderly stop: nobody gets anything any more, then the clients end one after the other.
void Model::restart() {
    ending_ = true;
    for (const int client : std::set<int>(clients_)) {
        end_client(client);
        settle();
    }
    ending_ = false;
    begin_life();
}

// X6: every lease that was open counts as a delivery. M1: what was handed over at most once is gone.
void Model::crash(const std::vector<Numbers>* observed) {
    // All leases are over at once, and with them all groups are resolved; what is spent leaves by position.
    unresolved_ = true;
    for (ModelQueue& queue : queues_) {
        std::set<Place> held;
        for (auto& [place, entry] : queue.entries) {
            if (!entry.held()) continue;
            held.insert(place);
            end_lease(queue, entry);
        }
        std::vector<Place> all;
        for (const auto& [place, entry] : queue.entries) all.push_back(place);
        for (const Place place : all) {
            const Entry& entry = queue.entries.at(place);
            if (held.contains(place) && (queue.def.at_most_once || entry.purged)) {
                leave(queue, place, 0);
            } else if (const unsigned reasons = spent(queue, entry)) {
                leave(queue, place, reasons);
            }
        }
    }
    unresolved_ = false;
    for (ModelQueue& queue : queues_) {
        if (!queue.def.at_most_once || observed == nullptr) continue;
        // The oldest may be lost; how many is the engine's affair.
        const std::uint64_t left = (*observed)[static_cast<std::size_t>(index_of(queue))].depth;
        fill(queue);
        while (depth(queue) + queue.beyond.size() > left && !queue.entries.empty() && depth(queue) > left)
            leave(queue, queue.entries.begin()->first, 0);
    }
    begin_life();
}

void Model::begin_life() {
    for (auto& [name, subscriber] : subscribers_) {
        subscriber.live = false;
        subscriber.ring.clear();
        subscriber.outstanding = 0;
    }
    clients_.clear();
    for (ModelQueue& queue : queues_) {
        queue.last_served = 0;
        for (auto& [place, entry] : queue.entries) {
            if (!queue.limits()) entry.deliveries = entry.cancels = 0;
            entry.untaken = 0;
            entry.last_holder = 0;
            if (entry.state == State::entering) entry.state = State::waiting;
        }
        for (auto& [name, group] : queue.groups) group = Group{};
        const std::uint64_t instant = std::exchange(instant_, 0);
        refresh_all(queue);
        instant_ = instant;
    }
}

}  // namespace pinnace::model
