// SPDX-License-Identifier: Apache-2.0
// Model: what is stored, and where it enters (T, Q3, F1, F8, F9, U, X2, DL1, P, TD1, A2, A4).
#include <algorithm>

#include "tests/model/reference/model.h"
#include "tests/model/reference/pattern.h"

namespace pinnace::model {

namespace {

// F1: 1 to 128 of these characters.
bool is_id(const std::string& text) {
    if (text.empty() || text.size() > 128) return false;
    return std::ranges::all_of(text, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
               c == '.' || c == ':' || c == '-';
    });
}

// A stand-in for the hash of the body: no explicit id has a brace.
std::string content_id(const std::string& body) { return "{" + body; }

Time later(Time now, Duration by) { return by >= kNever - now ? kNever : now + by; }

}  // namespace

bool Model::is_topic(const std::string& name) const {
    return std::ranges::find(topics_, name) != topics_.end();
}

// T6: publishing to a queue's name publishes to its DefaultPublishTarget.
std::string Model::topic_of(const std::string& target) const {
    for (const ModelQueue& queue : queues_) {
        if (queue.def.name != target) continue;
        if (!queue.def.target.empty()) return queue.def.target;
        return queue.def.topics.empty() ? queue.def.name : queue.def.topics.front();
    }
    return target;
}

std::vector<int> Model::queues_over(const std::string& topic) const {
    std::vector<int> over;
    for (const ModelQueue& queue : queues_) {
        const auto matches = [&](const std::string& underlying) {
            return is_pattern(underlying) ? matches_pattern(underlying, topic) : underlying == topic;
        };
        const auto& topics = queue.def.topics;
        if (topics.empty() ? queue.def.name == topic : std::ranges::any_of(topics, matches))
            over.push_back(index_of(queue));
    }
    return over;
}

bool Model::enters(const NewMessage& message, const std::string& topic, const ModelQueue& queue) {
    return queue.def.filter.empty() ||
           expressions_.matches(queue.def.filter, message.body, {.topic = topic, .now = now_});
}

// A group given at the publish wins over GroupKey.
std::string Model::group_of(const NewMessage& message, const std::string& topic, const ModelQueue& queue) {
    if (message.group) return *message.group;
    if (queue.def.group_key.empty()) return {};
    return expressions_.text_of(queue.def.group_key, message.body, {.topic = topic, .now = now_});
}

// Why the message is refused, by any queue that would take it in.
std::set<std::string> Model::faults(const NewMessage& message, const std::string& topic) {
    std::set<std::string> found;
    for (const int index : queues_over(topic)) {
        const ModelQueue& queue = queues_[static_cast<std::size_t>(index)];
        if (!enters(message, topic, queue)) continue;
        if (queue.def.fifo && message.delay >= 0) found.insert("bad_delay");
        if (queue.def.fifo && !is_id(group_of(message, topic, queue))) found.insert("bad_group");
        if (queue.def.dedup_window == 0) continue;
        if (message.dedup ? !is_id(*message.dedup) : !queue.def.content_dedup) found.insert("bad_dedup");
    }
    return found;
}

const Stored* Model::find_duplicate(ModelQueue& queue, const std::string& id) const {
    for (const Stored& stored : queue.dedup)
        if (stored.id == id && now_ - stored.at < queue.def.dedup_window) return &stored;
    return nullptr;
}

void Model::publish(const Command& command, Outcome& outcome) {
    const std::string topic = topic_of(command.target);
    if (command.publisher != 0 && command.number <= publishers_[command.publisher]) {
        outcome.words.assign(1, Word::duplicate);
        outcome.firsts.assign(1, 0);
        return;
    }
    if (!is_topic(topic)) {
        outcome.error = "unknown_topic";
        return;
    }
    std::set<std::string> wrong;
    for (const NewMessage& message : command.messages) wrong.merge(faults(message, topic));
    for (const std::string& word : wrong) outcome.error += (outcome.error.empty() ? "" : "|") + word;
    if (!wrong.empty()) return;
    for (const NewMessage& message : command.messages) {
        std::vector<int> into;
        bool left_out = false;
        int first = 0;
        Word word = Word::stored;
        for (const int index : queues_over(topic)) {
            ModelQueue& queue = queues_[static_cast<std::size_t>(index)];
            if (!enters(message, topic, queue)) continue;
            if (queue.def.dedup_window != 0) {
                const std::string id = message.dedup ? *message.dedup : content_id(message.body);
                if (const Stored* stored = find_duplicate(queue, id)) {
                    const bool named = queue.def.name == command.target;
                    if (named || first == 0) first = stored->name;
                    if (named) word = Word::duplicate;
                    left_out = true;
                    continue;
                }
                queue.dedup.push_back({id, now_, message.name});
            }
            into.push_back(index);
        }
        const bool is_stored = !into.empty() || !left_out;
        if (!is_stored) word = Word::duplicate;
        outcome.words.push_back(word);
        outcome.firsts.push_back(word == Word::duplicate ? first : 0);
        if (is_stored) store(message, topic, into);
    }
    if (command.publisher != 0) publishers_[command.publisher] = command.number;
}

void Model::store(const NewMessage& message, const std::string& topic, const std::vector<int>& into) {
    const int index = static_cast<int>(messages_.size());
    messages_.push_back({message.name, message.body, topic, {}});
    const Place place = next_place_++;
    places_[message.name] = place;
    for (const int to : into) {
        ModelQueue& queue = queues_[static_cast<std::size_t>(to)];
        Entry entry = new_entry(queue, index, place, message.expiration, message.delay);
        if (queue.def.fifo) entry.group = group_of(message, topic, queue);
        if (queue.def.persisted) entry.state = State::entering;
        enter(queue, std::move(entry));
    }
    tell_topic(index, topic);
}

// What is decided when a message enters: a message's own times override the queue's.
Entry Model::new_entry(const ModelQueue& queue, int message, Place place, Duration expiration,
                       Duration delay) {
    const Message& of = messages_[static_cast<std::size_t>(message)];
    const Facts facts{.topic = of.topic, .now = now_};
    Entry entry;
    entry.place = place;
    entry.message = message;
    entry.published = now_;
    if (expiration < 0) expiration = queue.def.expiration;
    if (expiration != 0 && expiration != kNever) entry.expiry = later(now_, expiration);
    if (delay < 0) delay = queue.def.delay;
    if (delay != 0) entry.due = later(now_, delay);
    if (!queue.def.priority.empty())
        entry.priority = expressions_.priority(queue.def.priority, of.body, facts);
    if (!queue.def.barrier.empty()) entry.barrier = expressions_.matches(queue.def.barrier, of.body, facts);
    return entry;
}

// TD1: at most so many have state, the others wait in order.
void Model::enter(ModelQueue& queue, Entry entry) {
    if (!queue.beyond.empty() || depth(queue) >= queue.def.target_depth) {
        queue.beyond.push_back(std::move(entry));
        return;
    }
    const std::string group = entry.group;
    queue.entries.emplace(entry.place, std::move(entry));
    if (queue.def.fifo) refresh(queue, group);
}

void Model::fill(ModelQueue& queue) {
    while (!queue.beyond.empty() && depth(queue) < queue.def.target_depth) {
        Entry entry = std::move(queue.beyond.front());
        queue.beyond.pop_front();
        const auto deferred = queue.deferred.find(entry.place);
        if (deferred != queue.deferred.end()) {
            const bool counts = now_ - deferred->second < queue.def.deferred_expiration;
            queue.deferred.erase(deferred);
            if (counts) continue;
        }
        const Place place = entry.place;
        const bool over = entry.expiry <= now_;
        entry.state = State::waiting;
        const std::string group = entry.group;
        queue.entries.emplace(place, std::move(entry));
        if (queue.def.fifo) refresh(queue, group);
        if (over) leave(queue, place, kTimeLimitBit);
    }
}

// T4.
void Model::tell_topic(int index, const std::string& topic) {
    Message& message = messages_[static_cast<std::size_t>(index)];
    std::vector<Subscriber*> to;
    for (auto& [name, subscriber] : subscribers_)
        if (subscriber.live && std::ranges::find(subscriber.topics, topic) != subscriber.topics.end())
            to.push_back(&subscriber);
    for (Subscriber* subscriber : to) {
        const Facts facts{.topic = topic, .now = now_};
        if (!subscriber->filter.empty() && !expressions_.matches(subscriber->filter, message.body, facts))
            continue;
        outcome_->delivered.push_back({subscriber->name, message.name, -1, 1, kNever, now_});
        subscriber->newest[message.name] = {-1, places_.at(message.name), 0};
    }
}

// A2, A4: out of one queue, into another or, for a dead letter, all over that one's topic. False: it is a
// redrive and there is no group for it.
bool Model::move(ModelQueue& from, Place place, int to, bool redrive) {
    const Entry old = from.entries.at(place);
    const std::string topic = topic_of(queues_[static_cast<std::size_t>(to)].def.name);
    const Message& moved = messages_[static_cast<std::size_t>(old.message)];
    NewMessage as_new;
    as_new.body = moved.body;
    if (from.def.fifo) as_new.group = old.group;
    std::vector<int> into = redrive ? std::vector<int>{to} : queues_over(topic);
    if (!redrive)
        std::erase_if(into, [&](int index) {
            return index != to && !enters(as_new, topic, queues_[static_cast<std::size_t>(index)]);
        });
    std::vector<std::string> group_names;
    for (const int index : into) {
        const ModelQueue& queue = queues_[static_cast<std::size_t>(index)];
        std::string group = queue.def.fifo ? group_of(as_new, topic, queue) : std::string();
        if (queue.def.fifo && !is_id(group)) {
            if (redrive) return false;
            group = "_";
        }
        group_names.push_back(group);
    }
    const Place new_place = next_place_++;
    for (std::size_t at = 0; at < into.size(); ++at) {
        ModelQueue& queue = queues_[static_cast<std::size_t>(into[at])];
        Entry entry = new_entry(queue, old.message, new_place, -1, -1);
        entry.group = group_names[at];
        entry.state = State::entering;
        moved_[{into[at], moved.name}] = new_place;
        enter(queue, std::move(entry));
    }
    return true;
}

}  // namespace pinnace::model
