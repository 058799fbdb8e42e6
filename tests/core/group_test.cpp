// SPDX-License-Identifier: Apache-2.0
// Groups: ids to groups, and those that are ready, each against a plain model.
#include "core/group.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <string>

namespace pinnace {
namespace {

struct Table {
    GroupSlab groups;
    GroupTextSlab texts;
    GroupTable table;

    std::uint32_t find(const std::string& id) const { return table.find(groups, texts, id); }
    std::uint32_t add(const std::string& id) { return table.add(groups, texts, id); }
    void remove(std::uint32_t index) { table.remove(groups, texts, index); }
    std::string id_of(std::uint32_t index) const {
        char buffer[kGroupSizeMax];
        return std::string(GroupTable::id_of(groups[index], texts, buffer));
    }
};

TEST(GroupTable, AgreesWithAMapWhateverComesAndGoes) {
    Table groups;
    std::map<std::string, std::uint32_t> model;
    std::minstd_rand random(1);
    // Few numbers and sizes, so that ids come again, and the table is grown and emptied.
    const auto any_id = [&] {
        const std::size_t size = 4 + random() % 3 * 20;
        const std::string number = std::to_string(random() % 300);
        return number + std::string(size - number.size(), 'g');
    };
    for (int round = 0; round < 100'000; ++round) {
        const std::string id = any_id();
        const auto known = model.find(id);
        ASSERT_EQ(groups.find(id), known == model.end() ? kNone : known->second);
        const bool grows = round / 10'000 % 2 == 0;
        if (known == model.end() && (grows || random() % 4 == 0)) {
            model[id] = groups.add(id);
            ASSERT_EQ(groups.id_of(model[id]), id);
        } else if (known != model.end() && (!grows || random() % 4 == 0)) {
            groups.remove(known->second);
            model.erase(known);
        }
    }
    for (const auto& [id, index] : model) ASSERT_EQ(groups.find(id), index);
    EXPECT_EQ(groups.groups.live_count(), model.size());
}

TEST(GroupTable, IdsOfEachSizeAreToldApartByTheirLastCharacter) {
    Table groups;
    for (std::size_t size = 1; size <= kGroupSizeMax; ++size) {
        std::string id(size, 'a');
        const std::uint32_t first = groups.add(id);
        id.back() = 'b';
        EXPECT_EQ(groups.find(id), kNone);
        const std::uint32_t second = groups.add(id);
        EXPECT_EQ(groups.find(id), second);
        EXPECT_EQ(groups.id_of(second), id);
        id.back() = 'a';
        EXPECT_EQ(groups.find(id), first);
        groups.remove(first);
        EXPECT_EQ(groups.find(id), kNone);
    }
}

TEST(ReadyGroups, TheFirstOneIsTheOldestInWhateverOrderTheyComeAndGo) {
    GroupSlab groups;
    ReadyGroups ready;
    std::set<std::pair<std::uint64_t, Position>> model;
    std::map<std::pair<std::uint64_t, Position>, std::uint32_t> index_of;
    std::minstd_rand random(1);
    for (std::uint64_t round = 1; round <= 20'000; ++round) {
        // Mostly newer than all; the positions of one instant come in any order.
        const std::pair key{random() % 8 == 0 ? random() % round : round / 4, Position{random() % 1'000}};
        if (random() % 2 == 0 && !index_of.contains(key)) {
            const std::uint32_t index = groups.allocate();
            groups[index] = {};
            groups[index].ready_instant = key.first;
            groups[index].ready_position = key.second;
            ready.insert(groups, index);
            model.insert(key);
            index_of[key] = index;
        } else if (!model.empty()) {
            auto leaving = model.begin();
            if (random() % 4 == 0) leaving = model.lower_bound(key);
            if (leaving == model.end()) leaving = model.begin();
            ready.erase(groups, index_of[*leaving]);
            groups.free(index_of[*leaving]);
            index_of.erase(*leaving);
            model.erase(leaving);
        }
        ASSERT_EQ(ready.first(groups), model.empty() ? kNone : index_of[*model.begin()]);
    }
}

}  // namespace
}  // namespace pinnace
