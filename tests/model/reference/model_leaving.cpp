// SPDX-License-Identifier: Apache-2.0
// Model: verbs, returns, and the ways out (L, M2, M3, X, A2-A5).
#include <algorithm>

#include "tests/model/reference/model.h"

namespace pinnace::model {

namespace {

constexpr unsigned kUntakenMax = 10;

}  // namespace

void Model::end_lease(ModelQueue& queue, Entry& entry) {
    --subscribers_.at(entry.holder).outstanding;
    --queue.outstanding;
    entry.holder = 0;
    entry.deadline = kNever;
    entry.state = State::waiting;
}

// X2-X4: the reasons why an unleased message leaves.
unsigned Model::spent(const ModelQueue& queue, const Entry& entry) const {
    unsigned reasons = 0;
    if (now_ >= entry.expiry) reasons |= kTimeLimitBit;
    if (queue.def.max_cancels != 0 && entry.cancels >= queue.def.max_cancels) reasons |= kMaxCancelsBit;
    if (queue.def.max_deliveries != 0 && entry.deliveries >= queue.def.max_deliveries)
        reasons |= kMaxDeliveriesBit;
    return reasons;
}

void Model::give_back(ModelQueue& queue, Place place, bool cancelled) {
    Entry& entry = queue.entries.at(place);
    end_lease(queue, entry);
    entry.untaken = 0;
    if (cancelled) ++entry.cancels;
    returned(queue, place);
}

// L11, M3: as if it had not been delivered, unless that has happened too often.
void Model::give_back_untaken(ModelQueue& queue, Place place) {
    Entry& entry = queue.entries.at(place);
    if (entry.untaken >= kUntakenMax) {
        if (!queue.def.at_most_once) return give_back(queue, place, false);
        end_lease(queue, entry);
        return leave(queue, place, 0);
    }
    ++entry.untaken;
    end_lease(queue, entry);
    --entry.deliveries;
    entry.last_holder = 0;
    returned(queue, place);
}

void Model::returned(ModelQueue& queue, Place place) {
    if (queue.def.fifo) return returned_to_group(queue, place);
    const Entry& entry = queue.entries.at(place);
    if (entry.purged) return leave(queue, place, 0);
    if (const unsigned reasons = spent(queue, entry)) leave(queue, place, reasons);
}

// F3, F4: limits wait until the group is resolved; what is overdue leaves at once.
void Model::returned_to_group(ModelQueue& queue, Place place) {
    const std::string group = queue.entries.at(place).group;
    std::vector<Place> back{place};
    if (queue.def.sticky && !breaking_) {
        for (const Place later : members(queue, group)) {
            Entry& other = queue.entries.at(later);
            if (later <= place || other.state != State::leased) continue;
            end_lease(queue, other);
            back.push_back(later);
        }
    }
    unresolved_ = true;
    for (const Place at : back) {
        const Entry& entry = queue.entries.at(at);
        const unsigned reasons = spent(queue, entry);
        if (entry.purged || (reasons & kTimeLimitBit) != 0) leave(queue, at, entry.purged ? 0 : reasons);
    }
    unresolved_ = false;
    resolve(queue, group);
}

// X7: the one way out. With a reason it raises its event, and goes to the dead letters if there are any.
void Model::leave(ModelQueue& queue, Place place, unsigned reasons) {
    Entry& entry = queue.entries.at(place);
    if (entry.held()) end_lease(queue, entry);
    if (reasons != 0) outcome_->left.push_back({index_of(queue), message(entry.message).name, reasons});
    const std::string group = entry.group;
    if (reasons != 0 && !queue.def.dead_letters.empty() && !entry.purged) {
        for (const ModelQueue& other : queues_)
            if (other.def.name == queue.def.dead_letters) move(queue, place, index_of(other), false);
    }
    queue.entries.erase(place);
    if (queue.def.fifo && !unresolved_) resolve(queue, group);
}

// What a verb of this subscription on this message speaks of: its newest delivery or, if it never had one,
// the message in the queue that it subscribed to.
std::optional<Tag> Model::tag_of(const Subscriber& by, int name) const {
    if (const auto had = by.newest.find(name); had != by.newest.end())
        return had->second.queue < 0 ? std::nullopt : std::optional(had->second);
    const auto stored = places_.find(name);
    if (stored == places_.end()) return std::nullopt;
    if (by.queues.empty() && !by.puller && !by.topics.empty()) return std::nullopt;  // of a topic
    int index = -1;
    for (const ModelQueue& queue : queues_)
        if (queue.def.name == by.target) index = index_of(queue);
    if (index < 0) {
        const auto last = last_queue_.find(name);
        if (last == last_queue_.end()) return std::nullopt;
        index = last->second;
    }
    const auto moved = moved_.find({index, name});
    return Tag{index, moved == moved_.end() ? stored->second : moved->second, 0};
}

Word Model::verb(const Command& command, const Subscriber& by, int name) {
    const Tag tag = *tag_of(by, name);
    ModelQueue& queue = queues_[static_cast<std::size_t>(tag.queue)];
    if (queue.def.at_most_once) return verb_at_most_once(queue, tag.place, by.client);
    const bool needs_lease = command.kind == Kind::cancel || command.kind == Kind::renew;
    const auto at = queue.entries.find(tag.place);
    if (at == queue.entries.end()) {
        if (needs_lease) return Word::stale;
        const bool waits =
            std::ranges::any_of(queue.beyond, [&](const Entry& entry) { return entry.place == tag.place; });
        if (!waits || command.kind == Kind::expire) return Word::unknown;
        queue.deferred[tag.place] = now_;
        return Word::deferred;
    }
    Entry& entry = at->second;
    const bool leased = entry.state == State::leased;
    const bool holder = leased && subscribers_.at(entry.holder).client == by.client;
    const bool current = holder && tag.generation == entry.generation;
    if (needs_lease) {
        if (!current) return Word::stale;
        if (command.kind == Kind::renew) return renew(entry, command.time);
        give_back(queue, tag.place, true);
        return Word::ok;
    }
    if (queue.def.fifo && !current) return Word::stale;
    if (queue.def.strict && leased && !holder) return Word::not_owner;
    leave(queue, tag.place, command.kind == Kind::expire ? kForcedBit : 0);
    return Word::ok;
}

// M2: any verb frees the caller's own place, once.
Word Model::verb_at_most_once(ModelQueue& queue, Place place, int client) {
    const auto at = queue.entries.find(place);
    if (at == queue.entries.end() || at->second.state != State::outstanding) return Word::unknown;
    if (subscribers_.at(at->second.holder).client != client) return Word::unknown;
    leave(queue, place, 0);
    return Word::ok;
}

Word Model::renew(Entry& entry, Duration period) {
    if (period != 0 && period >= kNever - now_) return Word::range;
    if (period != 0) entry.period = period;
    entry.deadline = entry.period == kNever ? kNever : now_ + entry.period;
    return Word::ok;
}

// L4, L5, F11, M2: the set is fixed before the first one leaves.
void Model::acknowledge_where(const Command& command, Outcome& outcome) {
    ModelQueue& queue = queues_[static_cast<std::size_t>(command.queue)];
    const int client = subscribers_.at(command.subscription).client;
    clients_.insert(client);
    std::vector<Place> found;
    for (auto& [place, entry] : queue.entries) {
        const bool own = entry.held() && subscribers_.at(entry.holder).client == client;
        if (queue.def.fifo || queue.def.at_most_once) {
            if (!own) continue;
        } else if (queue.def.strict && entry.held() && !own) {
            continue;
        }
        if (matches(*command.filter, entry)) found.push_back(place);
    }
    for (const Place place : found) leave(queue, place, 0);
    outcome.count = found.size();
}

// A5: what is leased leaves when it would return.
void Model::purge(const Command& command, Outcome& outcome) {
    ModelQueue& queue = queues_[static_cast<std::size_t>(command.queue)];
    std::vector<Place> found;
    for (auto& [place, entry] : queue.entries) {
        if (entry.state == State::leased) entry.purged = true;
        if (!entry.held()) found.push_back(place);
    }
    outcome.count = found.size() + queue.beyond.size();
    queue.beyond.clear();
    queue.deferred.clear();
    for (const Place place : found) leave(queue, place, 0);
}

// A4: all that is not leased, in order, as far as the one queue can take it.
void Model::redrive(const Command& command, Outcome& outcome) {
    ModelQueue& from = queues_[static_cast<std::size_t>(command.queue)];
    std::vector<Place> found;
    for (const auto& [place, entry] : from.entries)
        if (!entry.held()) found.push_back(place);
    for (const Place place : found) {
        if (!from.entries.contains(place) || !move(from, place, command.other, true)) continue;
        leave(from, place, 0);
        ++outcome.count;
    }
}

}  // namespace pinnace::model
