// SPDX-License-Identifier: Apache-2.0
// Model: groups of fifo queues (F2-F4, F6, F10).
#include <algorithm>

#include "tests/model/reference/model.h"

namespace pinnace::model {

std::vector<Place> Model::members(const ModelQueue& queue, const std::string& group) const {
    std::vector<Place> places;
    for (const auto& [place, entry] : queue.entries)
        if (entry.group == group) places.push_back(place);
    return places;
}

// Who has messages of the group; 0: nobody.
int Model::holder_of(const ModelQueue& queue, const std::string& group) const {
    for (const auto& [place, entry] : queue.entries)
        if (entry.group == group && entry.state == State::leased) return entry.holder;
    return 0;
}

// The first message that the group may give now; 0: none.
Place Model::next_of(const ModelQueue& queue, const std::string& group) const {
    const std::vector<Place> all = members(queue, group);
    if (all.empty()) return 0;
    const std::uint32_t limit = queue.def.max_deliveries;
    const bool held = holder_of(queue, group) != 0;
    if (held && !queue.def.sticky) return 0;
    const Entry& first = queue.entries.at(all.front());
    if (held && limit != 0 && first.state == State::leased && first.deliveries >= limit) return 0;
    for (const Place place : all) {
        const Entry& entry = queue.entries.at(place);
        if (entry.state == State::leased) continue;
        if (entry.state != State::waiting || entry.due > now_) return 0;
        if (held && (spent(queue, entry) != 0 || (limit != 0 && entry.deliveries + 1 >= limit))) return 0;
        return place;
    }
    return 0;
}

// After anything that may have changed whether the group is ready. A ready one keeps its place.
void Model::refresh(ModelQueue& queue, const std::string& group) {
    Group& of = queue.groups[group];
    const Place next = next_of(queue, group);
    if (next == 0) {
        of.ready = false;
    } else if (!of.ready) {
        of.ready = true;
        of.ready_instant = instant_;
        of.ready_place = next;
    }
}

void Model::refresh_all(ModelQueue& queue) {
    if (!queue.def.fifo) return;
    for (auto& [name, group] : queue.groups) refresh(queue, name);
}

// F3, F6: if the last lease of the group is over, what is spent leaves, in order, and the group goes on.
void Model::resolve(ModelQueue& queue, const std::string& group) {
    if (holder_of(queue, group) == 0 && queue.groups[group].was_held) {
        queue.groups[group].was_held = false;
        for (const Place place : members(queue, group)) {
            const auto at = queue.entries.find(place);
            if (at == queue.entries.end() || at->second.state != State::waiting) continue;
            const unsigned reasons = spent(queue, at->second);
            if ((reasons & ~kTimeLimitBit) != 0) leave(queue, place, reasons);
        }
        queue.groups[group].ready = false;
    }
    refresh(queue, group);
}

std::vector<std::string> Model::in_order_of_readiness(const ModelQueue& queue) const {
    std::vector<std::string> ready;
    for (const auto& [name, group] : queue.groups)
        if (group.ready) ready.push_back(name);
    std::ranges::sort(ready, {}, [&](const std::string& name) {
        const Group& group = queue.groups.at(name);
        return std::pair(group.ready_instant, group.ready_place);
    });
    return ready;
}

}  // namespace pinnace::model
