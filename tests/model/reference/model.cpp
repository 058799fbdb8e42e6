// SPDX-License-Identifier: Apache-2.0
// Model: commands, and time (D9).
#include "tests/model/reference/model.h"

#include <algorithm>

#include "tests/model/reference/pattern.h"

namespace pinnace::model {

Model::Model(const Sequence& setup, Expressions& expressions)
    : expressions_(expressions), topics_(setup.topics) {
    for (const QueueDef& def : setup.queues) {
        queues_.emplace_back().def = def;
        // A queue covers its own topics.
        if (def.topics.empty()) topics_.push_back(def.name);
        for (const std::string& topic : def.topics)
            if (!is_pattern(topic)) topics_.push_back(topic);
    }
}

std::optional<Command> Model::effective(const Command& command) const {
    const auto subscriber = subscribers_.find(command.subscription);
    const bool known = subscriber != subscribers_.end();
    const bool live = known && subscriber->second.live;
    switch (command.kind) {
        case Kind::subscribe:
            return known ? std::nullopt : std::optional(command);
        case Kind::replace:
        case Kind::unsubscribe:
            return live && !subscriber->second.puller ? std::optional(command) : std::nullopt;
        case Kind::take:
            return live && subscriber->second.manual ? std::optional(command) : std::nullopt;
        case Kind::end_client:
            return clients_.contains(command.client) ? std::optional(command) : std::nullopt;
        case Kind::acknowledge_where:
            return known ? std::optional(command) : std::nullopt;
        case Kind::receive: {
            const std::string& name = queues_[static_cast<std::size_t>(command.queue)].def.name;
            if (command.subscription >= kPullerBase) {
                const bool other = known && subscriber->second.target != name;
                return other ? std::nullopt : std::optional(command);
            }
            return live && is_over(subscriber->second, command.queue) ? std::optional(command) : std::nullopt;
        }
        case Kind::acknowledge:
        case Kind::cancel:
        case Kind::expire:
        case Kind::renew: {
            if (!known) return std::nullopt;
            Command made = command;
            std::erase_if(made.names, [&](int name) { return !tag_of(subscriber->second, name); });
            return made.names.empty() ? std::nullopt : std::optional(made);
        }
        default:
            return command;
    }
}

Outcome Model::run(const Command& command, const std::vector<Numbers>* observed) {
    Outcome outcome;
    outcome_ = &outcome;
    ++instant_;
    switch (command.kind) {
        case Kind::publish:
            publish(command, outcome);
            break;
        case Kind::subscribe:
            subscribe(command, outcome);
            break;
        case Kind::replace:
            replace(command, outcome);
            break;
        case Kind::unsubscribe:
            end_subscribers({command.subscription});
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
        case Kind::renew: {
            const Subscriber& by = subscribers_.at(command.subscription);
            clients_.insert(by.client);
            for (const int name : command.names) outcome.words.push_back(verb(command, by, name));
            break;
        }
        case Kind::acknowledge_where:
            acknowledge_where(command, outcome);
            break;
        case Kind::advance:
            advance(command.time);
            break;
        case Kind::restart:
            restart();
            break;
        case Kind::crash:
            crash(observed);
            break;
        case Kind::query:
            query(command, outcome);
            break;
        case Kind::receive:
            receive(command, outcome);
            break;
        case Kind::redrive:
            redrive(command, outcome);
            break;
        case Kind::purge:
            purge(command, outcome);
            break;
    }
    settle();
    std::ranges::stable_sort(outcome.delivered, {}, &Delivered::subscription);
    std::ranges::stable_sort(outcome.left, {}, &Left::queue);
    for (const ModelQueue& queue : queues_)
        outcome.numbers.push_back({depth(queue), queue.def.at_most_once ? 0 : queue.outstanding});
    outcome_ = nullptr;
    return outcome;
}

// The next instant at which a lease ends, a message expires, or one becomes due.
Time Model::next_due() const {
    Time next = kNever;
    for (const ModelQueue& queue : queues_) {
        for (const auto& [place, entry] : queue.entries) {
            if (entry.state == State::leased) next = std::min(next, entry.deadline);
            if (entry.held()) continue;
            if (entry.expiry > now_) next = std::min(next, entry.expiry);
            if (entry.due > now_) next = std::min(next, entry.due);
        }
    }
    return next;
}

void Model::advance(Duration by) {
    const Time end = now_ + by;
    for (Time next = next_due(); next <= end; next = next_due()) {
        now_ = next;
        ++instant_;
        pass_instant();
        settle();
    }
    now_ = end;
    ++instant_;
}

// D9: lease ends, then expirations, then delays, each queue by queue and by position.
void Model::pass_instant() {
    for (ModelQueue& queue : queues_) {
        std::vector<Place> ends;
        for (const auto& [place, entry] : queue.entries)
            if (entry.state == State::leased && entry.deadline <= now_) ends.push_back(place);
        for (const Place place : ends) {
            const auto at =
                queue.entries.find(place);  // a sticky group's later ones may have returned with it
            if (at == queue.entries.end() || at->second.state != State::leased) continue;
            give_back(queue, place, false);
        }
    }
    for (ModelQueue& queue : queues_) {
        std::vector<Place> over;
        for (const auto& [place, entry] : queue.entries)
            if (!entry.held() && entry.expiry <= now_) over.push_back(place);
        for (const Place place : over)
            if (const auto at = queue.entries.find(place); at != queue.entries.end())
                leave(queue, place, spent(queue, at->second));
    }
    for (ModelQueue& queue : queues_) refresh_all(queue);
}

// V1: what is available, in delivery order; those behind a barrier too.
void Model::query(const Command& command, Outcome& outcome) {
    const ModelQueue& queue = queues_[static_cast<std::size_t>(command.queue)];
    std::vector<const Entry*> found;
    for (const auto& [place, entry] : queue.entries)
        if (entry.state == State::waiting && entry.due <= now_) found.push_back(&entry);
    if (!queue.def.priority.empty())
        std::ranges::stable_sort(found,
                                 [](const Entry* a, const Entry* b) { return a->priority > b->priority; });
    for (const Entry* entry : found)
        if (!command.filter || matches(*command.filter, *entry))
            outcome.listing.push_back(message(entry->message).name);
}

}  // namespace pinnace::model
