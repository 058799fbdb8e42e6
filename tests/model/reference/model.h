// SPDX-License-Identifier: Apache-2.0
// Model: the queues as the contract tells them, slow and plain. It is written from semantics.md and
// decisions.md, rule by rule, and knows nothing of how the engine does it: no index, no class, no tree.
// Whatever it has to choose from, it looks at all of it.
//
// Where the two pages leave something open, the model takes one reading, as the README of tests/model says.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/model/reference/expressions.h"
#include "tests/model/reference/plan.h"

namespace pinnace::model {

// A message's place in the order of acceptance.
using Place = std::int64_t;

struct Message {
    int name = 0;
    std::string body;
    std::string topic;
    std::vector<std::pair<std::string, bool>> matches;  // filters that were tried; a body never changes
};

// Where an entry of a queue is. Outstanding: at most once, handed over and not acknowledged.
enum class State : std::uint8_t { entering, waiting, leased, outstanding };

// A message in one queue.
struct Entry {
    Place place = 0;
    int message = 0;
    Time published = 0;
    Time expiry = kNever;
    Time due = 0;
    std::optional<std::uint64_t> priority;
    bool barrier = false;
    std::string group;
    State state = State::waiting;
    std::uint64_t deliveries = 0;
    std::uint64_t cancels = 0;
    unsigned untaken = 0;
    bool purged = false;
    int holder = 0;       // subscription that has it
    int last_holder = 0;  // that had it last
    std::uint64_t generation = 0;
    Time deadline = kNever;
    Duration period = kNever;

    bool held() const { return state == State::leased || state == State::outstanding; }
};

struct Group {
    bool was_held = false;
    bool ready = false;
    std::uint64_t ready_instant = 0;
    Place ready_place = 0;
};

struct Stored {
    std::string id;
    Time at = 0;
    int name = 0;
};

struct ModelQueue {
    QueueDef def;
    std::map<Place, Entry> entries;
    std::deque<Entry> beyond;        // TD1
    std::map<Place, Time> deferred;  // L8
    std::vector<Stored> dedup;       // U1
    std::map<std::string, Group> groups;
    std::uint64_t last_served = 0;
    std::uint64_t outstanding = 0;  // D5
    bool limits() const { return def.max_deliveries != 0 || def.max_cancels != 0; }
};

// A delivery that one had, as verbs name it.
struct Tag {
    int queue = 0;
    Place place = 0;
    std::uint64_t generation = 0;  // 0: no lease
};

struct Subscriber {
    int name = 0;
    int client = 0;
    std::uint64_t order = 0;
    std::string target;
    std::string filter;
    std::uint64_t max_backlog = 1;
    std::uint64_t limit = 0;
    std::uint64_t outstanding = 0;
    std::vector<int> queues;
    std::vector<std::string> topics;
    bool live = false;
    bool manual = false;
    bool puller = false;        // a consumer without a subscription
    std::vector<Tag> ring;      // not taken yet
    std::map<int, Tag> newest;  // by message
};

class Model {
 public:
    Model(const Sequence& setup, Expressions& expressions);

    // The command without what makes no sense now; nothing: it makes none at all. Commands that refer to what
    // was never made are left out, so that a sequence can be cut anywhere.
    std::optional<Command> effective(const Command& command) const;
    // A command that is effective. `observed`: the depths after a crash: an at-most-once queue may have lost
    // some of its oldest messages (M1), and the model loses as many.
    Outcome run(const Command& command, const std::vector<Numbers>* observed = nullptr);

    // --- For the generator, and for notes in scenarios
    Time now() const { return now_; }
    Time next_due() const;
    const std::vector<ModelQueue>& queues() const { return queues_; }
    const std::map<int, Subscriber>& subscribers() const { return subscribers_; }
    const std::set<int>& clients() const { return clients_; }
    const Message& message(int index) const { return messages_[static_cast<std::size_t>(index)]; }
    bool knows(int name) const { return places_.contains(name); }

 private:
    // model_publish.cpp
    void publish(const Command& command, Outcome& outcome);
    bool enters(const NewMessage& message, const std::string& topic, const ModelQueue& queue);
    std::set<std::string> faults(const NewMessage& message, const std::string& topic);
    std::string group_of(const NewMessage& message, const std::string& topic, const ModelQueue& queue);
    const Stored* find_duplicate(ModelQueue& queue, const std::string& id) const;
    void store(const NewMessage& message, const std::string& topic, const std::vector<int>& into);
    Entry new_entry(const ModelQueue& queue, int message, Place place, Duration expiration, Duration delay);
    void enter(ModelQueue& queue, Entry entry);
    void tell_topic(int message, const std::string& topic);
    std::vector<int> queues_over(const std::string& topic) const;
    std::string topic_of(const std::string& target) const;
    bool is_topic(const std::string& name) const;
    void fill(ModelQueue& queue);
    bool move(ModelQueue& from, Place place, int to, bool redrive);

    // model_delivery.cpp
    void settle();
    bool make_durable();
    bool dispatch(ModelQueue& queue);
    bool dispatch_groups(ModelQueue& queue);
    bool release_barrier(ModelQueue& queue);
    std::vector<Place> available(const ModelQueue& queue) const;
    Subscriber* pick(const ModelQueue& queue, const Entry& entry);
    Subscriber* choose(const ModelQueue& queue, const std::vector<Subscriber*>& candidates) const;
    bool matches(const std::string& filter, const Entry& entry);
    bool is_over(const Subscriber& subscriber, int queue) const;
    void deliver(ModelQueue& queue, Entry& entry, Subscriber& to, bool pulled);
    std::uint64_t give_batch(ModelQueue& queue, const std::string& group, Subscriber& to, std::uint64_t most,
                             bool pulled);
    void receive(const Command& command, Outcome& outcome);
    std::uint64_t depth(const ModelQueue& queue) const;
    int index_of(const ModelQueue& queue) const { return static_cast<int>(&queue - queues_.data()); }

    // model_groups.cpp
    std::vector<Place> members(const ModelQueue& queue, const std::string& group) const;
    int holder_of(const ModelQueue& queue, const std::string& group) const;
    Place next_of(const ModelQueue& queue, const std::string& group) const;  // 0: none
    void refresh(ModelQueue& queue, const std::string& group);
    void refresh_all(ModelQueue& queue);
    void resolve(ModelQueue& queue, const std::string& group);
    std::vector<std::string> in_order_of_readiness(const ModelQueue& queue) const;

    // model_leaving.cpp
    void end_lease(ModelQueue& queue, Entry& entry);
    void give_back(ModelQueue& queue, Place place, bool cancelled);
    void give_back_untaken(ModelQueue& queue, Place place);
    void returned(ModelQueue& queue, Place place);
    void returned_to_group(ModelQueue& queue, Place place);
    unsigned spent(const ModelQueue& queue, const Entry& entry) const;
    void leave(ModelQueue& queue, Place place, unsigned reasons);
    Word verb(const Command& command, const Subscriber& by, int name);
    Word verb_at_most_once(ModelQueue& queue, Place place, int client);
    Word renew(Entry& entry, Duration period);
    std::optional<Tag> tag_of(const Subscriber& by, int name) const;
    void acknowledge_where(const Command& command, Outcome& outcome);
    void purge(const Command& command, Outcome& outcome);
    void redrive(const Command& command, Outcome& outcome);

    // model_clients.cpp
    void subscribe(const Command& command, Outcome& outcome);
    void replace(const Command& command, Outcome& outcome);
    std::string find_targets(const std::string& target, std::vector<int>& over,
                             std::vector<std::string>& topics) const;
    std::uint64_t limit_of(std::uint64_t max_backlog, const std::vector<int>& over) const;
    void end_subscribers(const std::set<int>& names);
    void end_client(int client);
    void restart();
    void crash(const std::vector<Numbers>* observed);
    void begin_life();

    // model.cpp
    void advance(Duration by);
    void pass_instant();
    void query(const Command& command, Outcome& outcome);

    Expressions& expressions_;
    std::vector<std::string> topics_;
    std::vector<ModelQueue> queues_;
    std::deque<Message> messages_;
    std::map<int, Subscriber> subscribers_;
    std::set<int> clients_;
    std::map<int, std::uint64_t> publishers_;
    std::map<int, Place> places_;                 // of messages as they were first stored
    std::map<std::pair<int, int>, Place> moved_;  // (queue, message): where it was moved to
    std::map<int, int> last_queue_;               // that delivered a message
    Time now_ = kStart;
    Place next_place_ = 1;
    std::uint64_t next_order_ = 1;
    std::uint64_t generation_ = 0;
    std::uint64_t instant_ = 1;
    bool ending_ = false;      // an orderly stop: nobody gets anything
    bool unresolved_ = false;  // several of a group come back: it is resolved after the last
    bool breaking_ = false;    // several leases end at once
    Outcome* outcome_ = nullptr;
};

inline constexpr unsigned kTimeLimitBit = 1, kMaxCancelsBit = 2, kMaxDeliveriesBit = 4, kForcedBit = 8;

}  // namespace pinnace::model
