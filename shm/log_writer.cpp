// SPDX-License-Identifier: Apache-2.0
#include "shm/log_writer.h"

#include <algorithm>
#include <bit>

#include "core/check.h"
#include "shm/words.h"

namespace pinnace::shm {

AreaWriter::AreaWriter(Area area, const AreaGeometry& geometry, std::byte* region, bool spans_slots,
                       std::uint64_t message_size_max, const PinBoard& pins)
    : area_(area),
      spans_slots_(spans_slots),
      geometry_(geometry),
      slot_size_(geometry.slot_size),
      slot_shift_(geometry.slot_shift()),
      data_size_(geometry.data_size()),
      generations_(reinterpret_cast<std::uint64_t*>(region)),
      data_(region + geometry.table_size()),
      pins_(pins),
      span_max_((kLogHeaderSize + message_size_max) / geometry.slot_size + 2),
      session_max_(std::max(span_max_, geometry.slot_count / 8)),
      slots_(geometry.slot_count) {
    for (std::uint64_t i = 0; i < geometry.slot_count; ++i) slots_[i].number = UINT64_MAX;  // never used
}

// Makes room for a body at tail_, which may move on: to the next slot or lap where the rest of this one is
// too short, and past pinned slots.
bool AreaWriter::acquire_for(std::uint64_t length) {
    const std::uint64_t unit = spans_slots_ ? data_size_ : slot_size_;
    const std::uint64_t lap_end = tail_ + data_size_;
    std::uint64_t start = tail_;
    if (space_to_end(start, unit) < length) start += space_to_end(start, unit);
    while (true) {
        // Slots that are jumped over keep what they hold.
        std::uint64_t acquired = std::max(acquired_, start);
        bool is_pinned = false;
        while (acquired < start + length && !is_pinned) {
            // After a whole lap of looking, pins are ignored: one that scatters them must not stop the
            // engine.
            switch (acquire(acquired >> slot_shift_, acquired < lap_end)) {
                case Acquired::yes:
                    acquired += slot_size_;
                    break;
                case Acquired::pinned:
                    is_pinned = true;
                    break;
                case Acquired::not_durable:
                    ++counters_.times_refused;
                    // What is left of the present slot stays usable for smaller bodies, if nothing was jumped
                    // over.
                    if (start > acquired_) tail_ = start;
                    acquired_ = acquired;
                    return false;
            }
        }
        if (!is_pinned) {
            acquired_ = acquired;
            tail_ = start;
            return true;
        }
        start = acquired + slot_size_;
        acquired_ = start;
        tail_ = start;
        if (space_to_end(start, unit) < length) start += space_to_end(start, unit);
    }
}

AreaWriter::Acquired AreaWriter::acquire(std::uint64_t number, bool heeds) {
    const std::uint64_t index = offset_of(number, geometry_.slot_count);
    Slot& slot = slots_[index];
    if (slot.open_count != 0 || slot.newest_record > durable_) return Acquired::not_durable;
    const bool was_used = slot.number != UINT64_MAX;
    const bool heeds_pins = was_used && heeds;
    // Looked at first without touching the generation, so that a view's check does not fail for a moment.
    bool pinned = heeds_pins && is_pinned(slot.number);
    if (!pinned) {
        store_relaxed(generations_[index],
                      number + 1);  // relaxed: the fence orders it before the new content
        full_fence();               // pair: pin, slot
        if (heeds_pins && is_pinned(slot.number)) {
            store_relaxed(generations_[index], slot.number + 1);  // relaxed: the content is as it was
            pinned = true;
        }
    }
    if (pinned) {
        ++counters_.slots_skipped;
        return Acquired::pinned;
    }
    if (was_used) ++counters_.slots_reused;
    if (was_used && !heeds_pins) ++counters_.pins_ignored;
    slot = {number, 0, 0};
    return Acquired::yes;
}

bool AreaWriter::is_pinned(std::uint64_t number) const {
    return pins_.is_pinned(area_, number, span_max_, session_max_);
}

bool PinBoard::is_pinned(Area area, std::uint64_t slot, std::uint64_t span_max,
                         std::uint64_t session_max) const {
    for (const std::uint64_t* pins : sessions_) {
        std::uint64_t left = session_max;
        for (std::size_t i = 0; i < kPinCount; ++i) {
            const auto pin =
                PinnedSlots::from_word(shared(pins[i]).load(std::memory_order_acquire));  // pair: unpinned
            if (pin.area != area || pin.slot_count > span_max || pin.slot_count > left) continue;
            left -= pin.slot_count;
            if (pin.covers(area, slot)) return true;
        }
    }
    return false;
}

LogGeometry default_log_geometry(std::uint64_t message_size_max) {
    const std::uint64_t frame = kLogHeaderSize + message_size_max + kLogFrameAlignment;
    LogGeometry geometry;
    geometry.small = {256 * 1024, 256};
    const std::uint64_t large_size = std::max<std::uint64_t>(128u << 20, std::bit_ceil(4 * frame));
    geometry.large = {1u << 20, large_size >> 20};
    const std::uint64_t reread_size = std::max<std::uint64_t>(16u << 20, std::bit_ceil(2 * frame));
    geometry.reread = {1u << 20, reread_size >> 20};
    geometry.message_size_max = message_size_max;
    return geometry;
}

bool is_valid(const LogGeometry& geometry) {
    return is_valid(geometry.small, 0) && geometry.small.slot_size >= 2 * kSmallBodyMax &&
           is_valid(geometry.large, geometry.message_size_max) &&
           is_valid(geometry.reread, geometry.message_size_max);
}

LogWriter::LogWriter(const LogGeometry& geometry, std::byte* small, std::byte* large, std::byte* reread)
    : geometry_(geometry),
      small_(Area::small, geometry.small, small, false, kSmallBodyMax, pins_),
      large_(Area::large, geometry.large, large, true, geometry.message_size_max, pins_),
      reread_(Area::reread, geometry.reread, reread, true, geometry.message_size_max, pins_) {}

}  // namespace pinnace::shm
