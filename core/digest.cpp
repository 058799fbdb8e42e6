// SPDX-License-Identifier: Apache-2.0
// Machine: the digest of durable state (rule 10), and what state costs (D11).
#include "core/steps.h"

namespace pinnace {

namespace {

class Digest {
 public:
    void add(std::uint64_t value) {
        value_ = (value_ ^ value) * 0x9e3779b97f4a7c15u;
        value_ ^= value_ >> 32;
    }
    void add(std::string_view text) {
        add(text.size());
        for (const char c : text) add(static_cast<unsigned char>(c));
    }
    std::uint64_t value() const { return value_; }

 private:
    std::uint64_t value_ = 0x243f6a8885a308d3u;
};

}  // namespace

// What is in queues with the decisions made there, counts where they are durable, and publishers' numbers.
// Nothing volatile: no lease, holder, count of a queue without limits, or id of this life.
std::uint64_t Machine::durable_digest() const {
    Digest digest;
    for (const auto& queue : queues) {
        digest.add(queue->config.name);
        queue->directory.for_each(blocks, [&](Handle handle) {
            const MessageState& state = states[handle];
            const bool left = state.stage() == Stage::outstanding || state.purged ||
                              (queue->at_most_once && state.stage() == Stage::handing);
            if (left) return true;
            digest.add(state.position);
            digest.add(static_cast<std::uint64_t>(state.published));
            digest.add(topics[routes[state.route].topic].name);
            digest.add(static_cast<std::uint64_t>(expiry_of(state)));
            const Lane& lane = lanes[state.lane];
            digest.add(lane.priority);
            digest.add(lane.numbered);
            const MessageExtra none{.expiry = kNever, .due = 0, .origin = 0, .cancels = 0, .group = kNone};
            const MessageExtra* found = find_extra(state);
            const MessageExtra& extra = found == nullptr ? none : *found;
            digest.add(
                static_cast<std::uint64_t>(extra.due > now && !is_leased(state.stage()) ? extra.due : 0));
            if (queue->fifo) {
                char buffer[kGroupSizeMax];
                digest.add(GroupTable::id_of(groups[group_of(state)], group_texts, buffer));
            }
            digest.add(extra.origin);
            if (queue->limits) digest.add(state.deliveries);
            if (queue->limits) digest.add(extra.cancels);
            return true;
        });
    }
    for (const auto& queue : queues) {
        for (const Beyond& item : queue->beyond)
            if (!item.removed) digest.add(item.position);
        queue->dedup.for_each([&](const DedupTable::Entry& entry) {
            if (now - entry.time >= queue->config.dedup_window) return;
            digest.add(entry.position);
            digest.add(static_cast<std::uint64_t>(entry.time));
        });
    }
    publishers.for_each([&](std::uint32_t uid, std::string_view name, std::uint64_t highest) {
        digest.add(uid);
        digest.add(name);
        digest.add(highest);
    });
    return digest.value();
}

std::size_t Machine::state_byte_count() const {
    std::size_t group_table_bytes = 0;
    for (const auto& queue : queues) group_table_bytes += queue->groups.byte_count();
    return states.byte_count() + extras.byte_count() + blocks.byte_count() + lanes.byte_count() +
           groups.byte_count() + group_texts.byte_count() + group_table_bytes;
}

}  // namespace pinnace
