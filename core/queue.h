// SPDX-License-Identifier: Apache-2.0
// The nouns of the queue machine as plain records: queues with their match classes and members, topics,
// clients, subscriptions. What happens to them is in machine.h and its .cpp files.
//
// Match classes. Each distinct filter of a queue's subscriptions is a slot; slot 0 is "no filter". Messages
// that are matched by the same slots form a class; a class has a lane of available messages, or one for each
// priority. So a delivery looks at classes, never at messages that nobody takes (D9, D11).
// Invariants between commands:
// 1. No class that is not dirty has an available message that a subscription with room could take.
// 2. outstanding of a subscription = length of its list; leased of a queue = its states in leased stages.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/config.h"
#include "core/dedup.h"
#include "core/directory.h"
#include "core/expr/expression.h"
#include "core/group.h"
#include "core/lane.h"
#include "core/name_pattern.h"
#include "core/record_codec.h"
#include "core/room_tree.h"
#include "core/types.h"

namespace pinnace {

// Names to ids, looked up by view.
using NameMap = std::map<std::string, std::uint32_t, std::less<>>;

struct FilterSlot {
    std::string text;  // empty: no filter
    std::optional<expr::Expression> expression;
    bool changes = false;     // evaluated anew at each return
    std::uint32_t pulls = 0;  // subscriptions that only pull with it
    RoomTree members;
    std::vector<std::uint32_t> classes;  // those that it matches
    bool used = false;
};

struct MatchClass {
    std::vector<std::uint32_t> slots;  // without 0, which matches everything
    std::uint32_t lane = kNone;        // of a queue without Priority
    std::uint32_t lanes = kNone;       // root: by priority, all
    std::uint32_t active = kNone;      // root: by priority, those with an available message
    std::uint32_t refs = 0;            // lanes
    ReadyGroups ready;                 // groups whose first message is of this class (F2)
    bool dirty = false;
    bool used = false;
};

// A message that has no state yet (TD1).
struct Beyond {
    QueueEntry entry;  // without the group's text
    std::string group;
    Position position = 0;
    Time published = 0;
    std::uint64_t log = 0;
    Position origin = 0;
    std::uint32_t size = 0;
    std::uint32_t route = 0;
    bool removed = false;
    // Recovery: what records say of one that had come in by then (removals may lie behind them).
    bool handed_over = false;
    std::uint64_t counts = 0;
};

struct Queue {
    QueueId id = kNone;
    std::uint32_t journal_id = kNone;  // in records; durable
    QueueConfig config;
    bool at_most_once = false;
    bool fifo = false;
    bool limits = false;  // MaxDeliveries or MaxCancels: counts are journalled (X6)
    TopicId publish_target = kNone;
    std::vector<NamePattern> patterns;  // of its underlying topics
    std::uint32_t type = 0;             // of its messages
    std::optional<expr::Expression> filter, priority, barrier, group_key;
    std::vector<std::uint32_t> actions;  // of the machine, on messages that leave unprocessed
    std::map<std::vector<std::uint32_t>, std::uint32_t> class_of_slots;
    std::uint32_t filter_count = 0;  // slots in use, but for 0
    bool filters_change = false;     // one of them is evaluated anew at returns
    bool evaluates = false;          // bodies are looked at when messages enter
    bool plain = false;              // nothing is decided at entry
    bool quick = false;              // plain, at least once, delivered as sequenced, no filters or depth
    Directory directory;
    std::deque<FilterSlot> filters;       // they never move
    const RoomTree* everybody = nullptr;  // the members without a filter, filters[0]
    bool in_turn = false;                 // round-robin
    std::vector<MatchClass> classes;
    std::vector<std::uint32_t> dirty_classes;
    std::vector<std::uint32_t> subscriptions;  // slots, in order of subscribing
    DedupTable dedup;
    std::deque<Beyond> beyond;           // by position
    std::map<Position, Time> deferred;   // acknowledgments of those, and when they came (L8)
    GroupTable groups;                   // of a fifo queue
    std::uint32_t sticky_ready = kNone;  // root: held groups that may give their holder more (F10)
    std::uint32_t barriers = kNone;      // root, by position (B1)
    bool dirty = false;
    std::uint64_t leased = 0;       // leased, or at most once: outstanding (D5)
    std::uint64_t outstanding = 0;  // at most once: states of messages that have left
    std::uint64_t room_total = 0;   // of the limits of its subscriptions
    std::uint64_t last_served = 0;  // order of the subscription (round-robin)

    // At most once (M1): the n-th message to enter has ordinal n.
    std::uint64_t entered = 0;
    std::uint64_t handed = 0;            // the highest ordinal that was handed over
    std::uint64_t reserved = 0;          // as the newest hand_over record says
    std::uint64_t reserved_durable = 0;  // as the newest durable one says
    RecordIndex reserve_record = 0;      // index of the newest one, until it is durable
    std::uint64_t resend_next = 1;       // ordinals from here to resend_reserved are for re-sent publishes,
    std::uint64_t resend_reserved = 0;   // which count as handed over
    std::vector<Position> kept;          // recovery: those below the reservation that stayed
    bool exact = false;                  // a record for each hand-over (filters, Priority, Delay)

    std::uint64_t depth() const { return directory.count() - outstanding; }
};

struct TopicRoute {
    QueueId queue;
    std::uint32_t route;
};

struct Topic {
    std::string name;
    std::string message_type;
    std::uint32_t journal_id = kNone;
    std::vector<TopicRoute> routes;  // queues over it, in order of definition
    HeadBytes quick_head;            // of messages for which nothing is decided; empty: not made yet
    std::vector<std::uint32_t> subscriptions;  // slots, in order of subscribing (T4)
};

struct Route {
    TopicId topic;
    QueueId queue;
};

struct Client {
    std::uint32_t uid = 0;
    std::uint32_t ring_free = UINT32_MAX;
    std::uint32_t ring_reserved = 0;  // deliveries that wait for a record
    bool open = false;
    bool ring_room = true;                     // as its subscriptions know it
    std::vector<std::uint32_t> subscriptions;  // slots

    bool has_ring_room() const { return ring_free > ring_reserved; }
    void use_ring_place() {
        if (ring_free != UINT32_MAX) --ring_free;
    }
};

struct Membership {
    QueueId queue = kNone;
    std::uint32_t filter = 0;
    FilterSlot* slot = nullptr;  // of that queue, at `filter`
    std::uint32_t place = 0;     // in the slot's RoomTree
    bool weighted = false;       // the queue is proportional (D6)
};

struct Subscription {
    ClientId client = kNone;      // kNone: the slot is free
    std::uint32_t holder_id = 0;  // as states name it: slot and generation
    std::uint64_t order = 0;
    std::uint64_t limit = 0;
    std::uint64_t max_backlog = 0;  // as asked for
    std::uint64_t outstanding = 0;
    std::uint32_t handing = 0;  // deliveries that wait for a record; later ones wait behind them
    std::uint32_t leases_head = kNone;
    std::uint32_t leases_tail = kNone;
    bool room = false;
    bool weighted = false;  // its rank changes with each lease (D6: proportional)
    std::string target;
    std::string filter;
    std::optional<expr::Expression> topic_filter;  // T4
    std::uint32_t groups_head = kNone;             // groups that it holds (F3)
    bool pulls = false;                            // only the holder of pulled messages
    QueueId pull_queue = kNone;
    std::uint32_t pull_filter = 0;
    std::vector<Membership> members;
    std::vector<TopicId> topics;  // T4
};

// States name a holder by slot and generation, so that a later subscription in the same slot is told apart.
inline constexpr std::uint32_t kSlotBits = 20;
inline constexpr std::uint32_t kSlotMask = (1u << kSlotBits) - 1;

}  // namespace pinnace
