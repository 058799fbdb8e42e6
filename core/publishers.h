// SPDX-License-Identifier: Apache-2.0
// Publishers: who numbers its messages, and the highest number that was accepted of each (T7).
//
// 1. A publisher is a user and a name; its id is durable and never used for another.
// 2. The highest number never falls.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/types.h"

namespace pinnace {

class Publishers {
 public:
    PublisherId find(std::uint32_t uid, std::string_view name) const {
        const auto at = ids_.find(Key{uid, std::string(name)});
        return at == ids_.end() ? kNone : at->second;
    }
    PublisherId next_id() const { return static_cast<PublisherId>(highest_.size()); }
    // An id that was given out already stays with its first owner: false.
    bool add(PublisherId id, std::uint32_t uid, std::string_view name) {
        if (id < highest_.size() && known_[id]) return false;
        if (!ids_.emplace(Key{uid, std::string(name)}, id).second) return false;
        if (id >= highest_.size()) {
            highest_.resize(id + std::size_t{1});
            known_.resize(id + std::size_t{1});
        }
        known_[id] = true;
        return true;
    }
    bool known(PublisherId id) const { return id < known_.size() && known_[id]; }
    std::uint64_t highest(PublisherId id) const { return highest_[id]; }
    void accepted(PublisherId id, std::uint64_t number) { highest_[id] = std::max(highest_[id], number); }

    // In order of user and name.
    template <class Visit>
    void for_each(Visit&& visit) const {
        for (const auto& [key, id] : ids_) visit(key.first, std::string_view(key.second), highest_[id]);
    }

 private:
    using Key = std::pair<std::uint32_t, std::string>;
    std::map<Key, PublisherId> ids_;
    std::vector<std::uint64_t> highest_;
    std::vector<bool> known_;
};

}  // namespace pinnace
