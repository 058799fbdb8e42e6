// SPDX-License-Identifier: Apache-2.0
// The core's own structures against plain models: slab, wheel, lanes, directory, turns.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "core/directory.h"
#include "core/lane.h"
#include "core/room_tree.h"
#include "core/slab.h"
#include "core/timer_wheel.h"

namespace pinnace {
namespace {

Handle add_state(StateSlab& states, Position position) {
    const Handle handle = states.allocate();
    states[handle] = {};
    states[handle].position = position;
    return handle;
}

TEST(Slab, FreedRecordsAreUsedAgainAndNothingMoves) {
    StateSlab states;
    const Handle a = add_state(states, 1);
    const Handle b = add_state(states, 2);
    const MessageState* place = &states[a];
    states.free(b);
    EXPECT_EQ(states.allocate(), b);
    while (states.capacity() <= StateSlab::kChunkCount) states.reserve(StateSlab::kChunkCount + 1);
    EXPECT_EQ(place, &states[a]);
    EXPECT_EQ(states.live_count(), 2u);
    EXPECT_FALSE(states.contains(2));
}

// Exhaustive for small deadlines: each set of three is due in order, each at its own instant.
TEST(TimerWheel, AllSmallSetsOfDeadlinesFallDueInOrder) {
    StateSlab states;
    for (int i = 0; i < 3; ++i) add_state(states, 1);
    std::vector<std::uint32_t> due;
    const std::vector<Time> times{0, 1, 2, 63, 64, 65, 127, 128, 4095, 4096, 4097, 262143, 262144};
    for (const Time a : times)
        for (const Time b : times)
            for (const Time c : times) {
                TimerWheel wheel;
                wheel.insert(states, 0, a);
                wheel.insert(states, 1, b);
                wheel.insert(states, 2, c);
                std::vector<Time> seen;
                while (wheel.next() != kNever) {
                    due.clear();
                    const Time at = wheel.next();
                    ASSERT_TRUE(wheel.take_due(states, kNever, due));
                    for (const auto handle : due) {
                        ASSERT_EQ(states[handle].when, at);
                        seen.push_back(at);
                    }
                }
                std::vector<Time> expected{a, b, c};
                std::ranges::sort(expected);
                ASSERT_EQ(seen, expected);
            }
}

TEST(TimerWheel, AgreesWithAnOrderedMap) {
    std::mt19937_64 random(7);
    StateSlab states;
    TimerWheel wheel;
    std::multimap<Time, Handle> model;
    std::vector<Handle> out;
    Time now = 1'700'000'000'000'000'000;
    std::vector<std::uint32_t> due;
    wheel.take_due(states, now, due);
    for (int step = 0; step < 100'000; ++step) {
        const auto kind = random() % 8;
        if (kind < 4) {
            const Time deadline = now + static_cast<Time>(random() >> (1 + random() % 60)) / 4;
            const Handle handle = out.empty() ? add_state(states, 1) : out.back();
            if (!out.empty()) out.pop_back();
            wheel.insert(states, handle, deadline);
            model.emplace(deadline, handle);
        } else if (kind < 6 && !model.empty()) {
            auto at = model.begin();
            std::advance(at, static_cast<std::ptrdiff_t>(random() % std::min<std::size_t>(model.size(), 50)));
            wheel.erase(states, at->second);
            out.push_back(at->second);
            model.erase(at);
        } else {
            const Time first = model.empty() ? kNever : model.begin()->first;
            ASSERT_LE(wheel.next(), first);
            ASSERT_EQ(wheel.next() == kNever, model.empty());
            const Time limit = now + static_cast<Time>(random() % 1'000'000'000);
            due.clear();
            while (due.empty() && wheel.take_due(states, limit, due)) {
            }
            if (due.empty()) {
                ASSERT_GT(first, limit);
                now = limit;
                continue;
            }
            now = first;
            for (const Handle handle : due) {
                ASSERT_EQ(states[handle].when, first);
                const auto [begin, end] = model.equal_range(first);
                const auto at =
                    std::find_if(begin, end, [&](const auto& pair) { return pair.second == handle; });
                ASSERT_NE(at, end);
                model.erase(at);
                out.push_back(handle);
            }
            ASSERT_EQ(model.count(first), 0u);
        }
        ASSERT_EQ(wheel.count(), model.size());
    }
}

// D2: fresh at both ends, returned in between.
TEST(Lane, KeepsTheOrderOfPositionsWhateverComesBack) {
    std::mt19937_64 random(11);
    StateSlab states;
    Lane lane{};
    lane.fresh_head = lane.fresh_tail = lane.returned = kNone;
    std::map<Position, Handle> inside;
    std::map<Position, Handle> outside;
    Position next = 1;
    for (int step = 0; step < 20'000; ++step) {
        const auto kind = random() % 4;
        if (kind == 0) {
            const Handle handle = add_state(states, next);
            lane_insert(lane, states, handle);
            inside[next++] = handle;
        } else if (kind == 1 && !outside.empty()) {
            auto at = outside.begin();
            std::advance(at, static_cast<std::ptrdiff_t>(random() % outside.size()));
            lane_insert(lane, states, at->second);
            inside.insert(*at);
            outside.erase(at);
        } else if (!inside.empty()) {
            auto at = inside.begin();
            if (kind == 3) std::advance(at, static_cast<std::ptrdiff_t>(random() % inside.size()));
            lane_erase(lane, states, at->second);
            if (outside.size() < 40) {
                outside.insert(*at);
            } else {
                states.free(at->second);
            }
            inside.erase(at);
        }
        ASSERT_EQ(lane_first(lane, states), inside.empty() ? kNone : inside.begin()->second);
        if (step % 500 == 0) {
            std::vector<Position> order;
            lane_for_each(lane, states, [&](Handle handle) {
                order.push_back(states[handle].position);
                return true;
            });
            ASSERT_TRUE(std::ranges::is_sorted(order));
            ASSERT_EQ(order.size(), inside.size());
        }
    }
}

TEST(Directory, AgreesWithAnOrderedMap) {
    std::mt19937_64 random(13);
    StateSlab states;
    BlockSlab blocks;
    Directory directory;
    std::map<Position, Handle> model;
    Position next = 1;
    for (int step = 0; step < 60'000; ++step) {
        const bool growing = step / 10'000 % 2 == 0;
        if (random() % 8 < (growing ? 5u : 3u)) {
            next += 1 + random() % 3;
            const Handle handle = add_state(states, next);
            directory.append(blocks, states[handle], handle);
            model[next] = handle;
        } else if (!model.empty()) {
            auto at = model.begin();
            if (random() % 2 == 0) at = model.lower_bound(random() % next);
            if (at == model.end()) at = std::prev(at);
            directory.erase(blocks, states, states[at->second]);
            states[at->second].position = 0;
            states.free(at->second);
            model.erase(at);
        }
        ASSERT_EQ(directory.count(), model.size());
        ASSERT_EQ(directory.first(blocks), model.empty() ? kNone : model.begin()->second);
        const Position probe = random() % (next + 2);
        const auto at = model.find(probe);
        ASSERT_EQ(directory.find(blocks, states, probe), at == model.end() ? kNone : at->second);
    }
    std::vector<Position> order;
    directory.for_each(blocks, [&](Handle handle) {
        order.push_back(states[handle].position);
        return true;
    });
    EXPECT_EQ(order.size(), model.size());
    EXPECT_TRUE(std::ranges::is_sorted(order));
}

// T1: one that stays in each block must not keep the blocks alive.
TEST(Directory, SparseBlocksAreJoined) {
    StateSlab states;
    BlockSlab blocks;
    Directory directory;
    std::vector<Handle> handles;
    for (Position position = 1; position <= 6400; ++position) {
        handles.push_back(add_state(states, position));
        directory.append(blocks, states[handles.back()], handles.back());
    }
    for (std::size_t index = 0; index < handles.size(); ++index)
        if (index % 64 != 5) directory.erase(blocks, states, states[handles[index]]);
    EXPECT_EQ(directory.count(), 100u);
    EXPECT_LE(blocks.live_count(), 14u);
    for (std::size_t index = 5; index < handles.size(); index += 64)
        EXPECT_EQ(directory.find(blocks, states, index + 1), handles[index]);
}

// D6: the least key, the earliest of equals; in turn: the next one after an order.
TEST(RoomTree, AgreesWithALinearSearchForAllSmallSizes) {
    std::mt19937_64 random(17);
    for (std::uint32_t size = 1; size <= 9; ++size) {
        RoomTree tree;
        std::vector<std::uint64_t> orders;
        for (std::uint32_t slot = 0; slot < size; ++slot) {
            orders.push_back(10 * (slot + 1));
            tree.insert(slot, orders.back());
        }
        std::vector<double> keys(size, RoomTree::kNoRoom);
        for (int step = 0; step < 2'000; ++step) {
            const auto place = static_cast<std::uint32_t>(random() % size);
            const bool in_turn = step >= 1'000;
            const double choices[] = {RoomTree::kNoRoom, 0, in_turn ? 0 : 0.5, in_turn ? 0 : 1.0 / 3};
            keys[place] = choices[random() % 4];
            tree.set(place, keys[place]);
            const auto least = std::ranges::min_element(keys);
            const auto best = static_cast<std::uint32_t>(least - keys.begin());
            ASSERT_EQ(tree.best(), *least == RoomTree::kNoRoom ? kNone : best);
            if (!in_turn || step == 1'000) continue;
            for (auto& key : keys)
                if (key != RoomTree::kNoRoom && key != 0)
                    tree.set(static_cast<std::uint32_t>(&key - keys.data()), key = 0);
            for (std::uint64_t after = 0; after <= 10 * size; after += 5) {
                std::uint32_t expected = kNone;
                for (std::uint32_t i = 0; i < size && expected == kNone; ++i)
                    if (orders[i] > after && keys[i] != RoomTree::kNoRoom) expected = i;
                ASSERT_EQ(tree.next_after(after), expected);
            }
        }
    }
}

}  // namespace
}  // namespace pinnace
