// SPDX-License-Identifier: Apache-2.0
// Model: who gets what (D1-D10, B1-B5, PL1).
#include <algorithm>

#include "tests/model/reference/model.h"

namespace pinnace::model {

std::uint64_t Model::depth(const ModelQueue& queue) const {
    std::uint64_t count = 0;
    for (const auto& [place, entry] : queue.entries)
        if (entry.state != State::outstanding) ++count;
    return count;
}

bool Model::is_over(const Subscriber& subscriber, int queue) const {
    return std::ranges::find(subscriber.queues, queue) != subscriber.queues.end();
}

// A filter that asks for leases can change at each return; others never do.
bool Model::matches(const std::string& filter, const Entry& entry) {
    if (filter.empty()) return true;
    Message& message = messages_[static_cast<std::size_t>(entry.message)];
    const Facts facts{.topic = message.topic, .now = now_, .lease_count = entry.deliveries};
    if (filter.find("LEASE") != std::string::npos) return expressions_.matches(filter, message.body, facts);
    for (const auto& [text, value] : message.matches)
        if (text == filter) return value;
    const bool value = expressions_.matches(filter, message.body, facts);
    message.matches.emplace_back(filter, value);
    return value;
}

// All that can happen at this instant. What the engine derives is available once it is durable (A2), which
// is after the deliveries of the command that made it.
void Model::settle() {
    if (ending_) {
        for (ModelQueue& queue : queues_) fill(queue);
        make_durable();
        return;
    }
    do {
        bool again = true;
        while (again) {
            again = false;
            for (ModelQueue& queue : queues_) {
                fill(queue);
                again = dispatch(queue) || again;
            }
        }
        ++instant_;
    } while (make_durable());
}

bool Model::make_durable() {
    bool any = false;
    for (ModelQueue& queue : queues_) {
        for (auto& [place, entry] : queue.entries) {
            if (entry.state != State::entering) continue;
            entry.state = State::waiting;
            any = true;
        }
        if (any) refresh_all(queue);
    }
    return any;
}

// In delivery order: by priority, then by position; nothing behind a barrier (B1).
std::vector<Place> Model::available(const ModelQueue& queue) const {
    std::vector<Place> places;
    for (const auto& [place, entry] : queue.entries) {
        if (entry.barrier) break;
        if (entry.state == State::waiting && entry.due <= now_) places.push_back(place);
    }
    if (!queue.def.priority.empty())
        std::ranges::stable_sort(places, [&](Place a, Place b) {
            return queue.entries.at(a).priority > queue.entries.at(b).priority;
        });
    return places;
}

bool Model::dispatch(ModelQueue& queue) {
    const int index = index_of(queue);
    const bool anybody = std::ranges::any_of(subscribers_, [&](const auto& named) {
        return named.second.live && !named.second.puller && is_over(named.second, index);
    });
    if (!anybody || queue.entries.empty()) return false;
    if (queue.def.fifo) return dispatch_groups(queue);
    bool any = false;
    for (bool again = true; again;) {
        again = false;
        for (const Place place : available(queue)) {
            if (queue.outstanding >= queue.def.max_backlog) break;
            Subscriber* to = pick(queue, queue.entries.at(place));
            if (to == nullptr) continue;
            deliver(queue, queue.entries.at(place), *to, false);
            any = true;
            if (queue.def.at_most_once && !queue.beyond.empty()) {
                fill(queue);
                again = true;
            }
        }
        if (release_barrier(queue)) any = again = true;
    }
    return any;
}

// B2, B3: when all earlier ones have left and it is due, it goes to every current subscription that matches.
bool Model::release_barrier(ModelQueue& queue) {
    if (queue.entries.empty()) return false;
    const Entry barrier = queue.entries.begin()->second;
    if (!barrier.barrier || barrier.state != State::waiting || barrier.due > now_) return false;
    const int index = index_of(queue);
    const int name = message(barrier.message).name;
    std::vector<Subscriber*> to;
    for (auto& [id, subscriber] : subscribers_)
        if (subscriber.live && !subscriber.puller && is_over(subscriber, index)) to.push_back(&subscriber);
    if (to.empty()) return false;
    for (Subscriber* subscriber : to) {
        if (!matches(subscriber->filter, barrier)) continue;
        outcome_->delivered.push_back({subscriber->name, name, index, 1, kNever, barrier.published});
        const Tag tag{index, barrier.place, 0};
        if (subscriber->manual) subscriber->ring.push_back(tag);
        subscriber->newest[name] = tag;
        last_queue_[name] = index;
    }
    leave(queue, barrier.place, 0);
    return true;
}

// D6 among those that match and have room, and D10.
Subscriber* Model::pick(const ModelQueue& queue, const Entry& entry) {
    const int index = index_of(queue);
    std::vector<Subscriber*> candidates;
    for (auto& [name, subscriber] : subscribers_) {
        if (!subscriber.live || subscriber.puller || !is_over(subscriber, index)) continue;
        if (subscriber.outstanding >= subscriber.limit || !matches(subscriber.filter, entry)) continue;
        candidates.push_back(&subscriber);
    }
    std::ranges::sort(candidates, {}, &Subscriber::order);
    if (candidates.size() > 1)
        std::erase_if(candidates, [&](const Subscriber* s) { return s->name == entry.last_holder; });
    return candidates.empty() ? nullptr : choose(queue, candidates);
}

Subscriber* Model::choose(const ModelQueue& queue, const std::vector<Subscriber*>& candidates) const {
    switch (queue.def.fairness) {
        case Fairness::fast:
            return candidates.front();
        case Fairness::round_robin:
            for (Subscriber* candidate : candidates)
                if (candidate->order > queue.last_served) return candidate;
            return candidates.front();
        case Fairness::proportional:
            break;
    }
    // The lowest outstanding/limit; fractions are compared crosswise.
    return *std::ranges::min_element(candidates, [](const Subscriber* a, const Subscriber* b) {
        return a->outstanding * b->limit < b->outstanding * a->limit;
    });
}

void Model::deliver(ModelQueue& queue, Entry& entry, Subscriber& to, bool pulled) {
    entry.state = queue.def.at_most_once ? State::outstanding : State::leased;
    ++entry.deliveries;
    entry.generation = ++generation_;
    entry.holder = entry.last_holder = to.name;
    entry.period = queue.def.at_most_once ? kNever : queue.def.lease_period;
    entry.deadline = entry.period == kNever ? kNever : now_ + entry.period;
    ++to.outstanding;
    ++queue.outstanding;
    if (!pulled) queue.last_served = to.order;
    const int index = index_of(queue);
    const int name = message(entry.message).name;
    outcome_->delivered.push_back({to.name, name, index, entry.deliveries, entry.deadline, entry.published});
    const Tag tag{index, entry.place, entry.generation};
    if (to.manual && !pulled) to.ring.push_back(tag);
    to.newest[name] = tag;
    last_queue_[name] = index;
}

bool Model::dispatch_groups(ModelQueue& queue) {
    bool any = false;
    for (bool again = true; again;) {
        again = false;
        for (const std::string& group : in_order_of_readiness(queue)) {
            if (queue.outstanding >= queue.def.max_backlog) return any;
            const Entry& first = queue.entries.at(next_of(queue, group));
            const int holder = holder_of(queue, group);
            Subscriber* to = nullptr;
            if (holder == 0) {
                to = pick(queue, first);
            } else {  // F10
                Subscriber& has = subscribers_.at(holder);
                const bool can = has.live && is_over(has, index_of(queue)) && has.outstanding < has.limit;
                if (can && matches(has.filter, first)) to = &has;
            }
            if (to == nullptr) continue;
            give_batch(queue, group, *to, UINT64_MAX, false);
            any = again = true;
            break;
        }
    }
    return any;
}

// F2: consecutive messages, as far as the room goes; a first one at its last delivery goes alone (F6).
std::uint64_t Model::give_batch(ModelQueue& queue, const std::string& group, Subscriber& to,
                                std::uint64_t most, bool pulled) {
    std::uint64_t count = 0;
    const std::uint32_t limit = queue.def.max_deliveries;
    const Place first = next_of(queue, group);
    const bool alone = limit != 0 && queue.entries.at(first).deliveries + 1 >= limit;
    for (const Place place : members(queue, group)) {
        if (place < first) continue;
        Entry& entry = queue.entries.at(place);
        if (count >= most || queue.outstanding >= queue.def.max_backlog) break;
        if (entry.state != State::waiting || entry.due > now_ || !matches(to.filter, entry)) break;
        if (!pulled && to.outstanding >= to.limit) break;
        deliver(queue, entry, to, pulled);
        ++count;
        if (alone) break;
    }
    Group& served = queue.groups[group];
    served.was_held = true;
    served.ready = false;
    ++instant_;
    refresh(queue, group);
    return count;
}

void Model::receive(const Command& command, Outcome& outcome) {
    ModelQueue& queue = queues_[static_cast<std::size_t>(command.queue)];
    Subscriber& to = subscribers_[command.subscription];
    if (command.subscription >= kPullerBase && !to.live) {
        to.name = to.client = command.subscription;
        to.target = queue.def.name;
        to.live = to.puller = true;
        to.outstanding = 0;
    }
    clients_.insert(to.client);
    const std::uint64_t limit = queue.def.max_per_subscription;
    std::uint64_t most = limit > to.outstanding ? limit - to.outstanding : 0;
    most = std::min(most, command.number);
    if (queue.def.fifo) {
        for (bool again = true; again && outcome.count < most;) {
            again = false;
            for (const std::string& group : in_order_of_readiness(queue)) {
                if (queue.outstanding >= queue.def.max_backlog) break;
                if (holder_of(queue, group) != 0) continue;
                if (!matches(to.filter, queue.entries.at(next_of(queue, group)))) continue;
                outcome.count += give_batch(queue, group, to, most - outcome.count, true);
                again = true;
                break;
            }
        }
        return;
    }
    for (const Place place : available(queue)) {
        if (outcome.count >= most || queue.outstanding >= queue.def.max_backlog) break;
        Entry& entry = queue.entries.at(place);
        if (!matches(to.filter, entry)) continue;
        deliver(queue, entry, to, true);
        ++outcome.count;
    }
}

}  // namespace pinnace::model
