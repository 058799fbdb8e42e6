// SPDX-License-Identifier: Apache-2.0
// LogWriter: the delivery log, where each body lies once for all its readers, written by the dispatcher
// alone.
//
// Three areas: `small` for bodies up to kSmallBodyMax, `large` for the others, `reread` for bodies that came
// back from the journal (architecture rules 14 and 15). An area is a ring of slots; byte positions only grow,
// so that a position names both the place and the lap. A body is consecutive: within one slot in the small
// area, within one lap in the others.
//
// Invariants
//   1. A slot is reused only when everything in it is settled and durable, and no pin covers it.
//   2. The slot's generation is changed before the first byte of its new content is written.
//   3. A pinned slot is skipped: its old content and generation stay. When a whole lap is pinned, pins are
//   ignored.
//
// What is placed is open until settle() says which journal record it waits for; a body is copied in between,
// in as many pieces as the caller likes, with copy_shared().
//
// Ordering pairs
//   pin   generation and pins, see pins.h.
//   slot  the fence after the generation's store, against the reader's fence before its second look at it.
//
// Thread: the dispatcher.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/check.h"
#include "core/types.h"
#include "shm/layout.h"
#include "shm/pins.h"
#include "shm/ring_math.h"
#include "shm/words.h"

namespace pinnace::shm {

inline constexpr std::uint32_t kSmallBodyMax = 32 * 1024;

// Where a body goes: write size bytes at `body` with copy_shared().
struct LogPlace {
    LogPosition position;
    std::byte* body = nullptr;
};

class AreaWriter {
 public:
    // `region` holds geometry.region_size() bytes of zeroes. `spans_slots`: a body may lie over several
    // slots.
    AreaWriter(Area area, const AreaGeometry& geometry, std::byte* region, bool spans_slots,
               std::uint64_t message_size_max, const PinBoard& pins);

    // Nothing: what lies in the next slot is not durable yet. Ask again later (back-pressure of this area
    // alone).
    std::optional<LogPlace> try_place(const LogHeader& header) {
        const std::uint64_t length =
            round_up<std::uint64_t>(kLogHeaderSize + header.size, kLogFrameAlignment);
        const std::uint64_t to_end =
            spans_slots_ ? space_to_end(tail_, data_size_) : space_to_end(tail_, slot_size_);
        if (length > to_end || tail_ + length > acquired_) {
            if (!acquire_for(length)) return std::nullopt;
        }
        return put(header, length);
    }

    // What was placed is complete (or given up: record 0) and may be overwritten once `record` is durable.
    void settle(LogPosition position, std::uint32_t size, RecordIndex record) {
        for_each_slot(position, size, [&](Slot& slot, std::uint64_t number) {
            PINNACE_CHECK(slot.number == number && slot.open_count > 0);
            --slot.open_count;
            if (slot.newest_record < record) slot.newest_record = record;
        });
    }
    // All records up to this one are durable.
    void set_durable(RecordIndex record) { durable_ = record; }

    const AreaGeometry& geometry() const { return geometry_; }
    // Where a body lies, for the journal thread and for the core; the caller knows that it is still there.
    const std::byte* body(LogPosition position) const {
        return data_ + offset_of(position.byte_position(), data_size_) + kLogHeaderSize;
    }
    // Whether what was placed there is still there. Dispatcher only.
    bool is_current(LogPosition position, std::uint32_t size) const {
        bool current = true;
        for_each_slot(position, size, [&](const Slot& slot, std::uint64_t number) {
            current = current && slot.number == number;
        });
        return current;
    }

    struct Counters {
        std::uint64_t slots_reused = 0;
        std::uint64_t slots_skipped = 0;  // pinned
        std::uint64_t pins_ignored = 0;   // a whole lap was pinned
        std::uint64_t times_refused = 0;  // not durable yet
    };
    const Counters& counters() const { return counters_; }

 private:
    struct Slot {
        std::uint64_t number = 0;  // of what lies in it, counted from the log's start
        RecordIndex newest_record = 0;
        std::uint32_t open_count = 0;  // bodies placed and not settled
    };
    enum class Acquired : std::uint8_t { yes, not_durable, pinned };

    // The slots over which a body lies, with the numbers that they have while it does.
    template <class Visit>
    void for_each_slot(LogPosition position, std::uint32_t size, Visit&& visit) {
        const std::uint64_t first = position.byte_position() >> slot_shift_;
        const std::uint64_t last = (position.byte_position() + kLogHeaderSize + size - 1) >> slot_shift_;
        for (std::uint64_t number = first; number <= last; ++number)
            visit(slots_[offset_of(number, geometry_.slot_count)], number);
    }
    template <class Visit>
    void for_each_slot(LogPosition position, std::uint32_t size, Visit&& visit) const {
        const_cast<AreaWriter*>(this)->for_each_slot(position, size, visit);
    }
    bool acquire_for(std::uint64_t length);
    Acquired acquire(std::uint64_t number, bool heeds_pins);
    bool is_pinned(std::uint64_t number) const;
    LogPlace put(const LogHeader& header, std::uint64_t length) {
        const LogPosition position = LogPosition::make(area_, tail_);
        for_each_slot(position, header.size, [](Slot& slot, std::uint64_t) { ++slot.open_count; });
        std::byte* frame = data_ + offset_of(tail_, data_size_);
        copy_shared(frame, reinterpret_cast<const std::byte*>(&header), sizeof(header));
        tail_ += length;
        // The next frame's lines are fetched while this one is worked on. A hint: it may lie beyond the end.
        prefetch_for_write(frame + length);
        prefetch_for_write(frame + length + kLogFrameAlignment);
        return {position, frame + kLogHeaderSize};
    }

    Area area_;
    bool spans_slots_;
    AreaGeometry geometry_;
    std::uint64_t slot_size_;
    unsigned slot_shift_;
    std::uint64_t data_size_;
    std::uint64_t* generations_;
    std::byte* data_;
    const PinBoard& pins_;
    std::uint64_t span_max_;      // slots that one body can cover
    std::uint64_t session_max_;   // slots that one session may keep
    std::uint64_t tail_ = 0;      // position of the next body
    std::uint64_t acquired_ = 0;  // slots up to here are ours to write
    RecordIndex durable_ = 0;
    std::vector<Slot> slots_;
    Counters counters_;
};

struct LogGeometry {
    AreaGeometry small;
    AreaGeometry large;
    AreaGeometry reread;
    std::uint64_t message_size_max = 0;

    friend constexpr bool operator==(const LogGeometry&, const LogGeometry&) = default;
};
static_assert(sizeof(LogGeometry) == 56);

// The defaults: 64 MiB of small slots, 128 MiB of large ones or more where four maximal messages need it, and
// room for two maximal messages at least in the reread area.
LogGeometry default_log_geometry(std::uint64_t message_size_max);
bool is_valid(const LogGeometry& geometry);

class LogWriter {
 public:
    LogWriter(const LogGeometry& geometry, std::byte* small, std::byte* large, std::byte* reread);
    LogWriter(const LogWriter&) = delete;
    LogWriter& operator=(const LogWriter&) = delete;

    // header.size decides between the small and the large area.
    std::optional<LogPlace> try_place(const LogHeader& header) {
        return header.size <= kSmallBodyMax ? small_.try_place(header) : large_.try_place(header);
    }
    // For a body that the journal thread read again.
    std::optional<LogPlace> try_place_reread(const LogHeader& header) { return reread_.try_place(header); }

    void settle(LogPosition position, std::uint32_t size, RecordIndex record) {
        area(position.area()).settle(position, size, record);
    }
    void set_durable(RecordIndex record) {
        small_.set_durable(record);
        large_.set_durable(record);
        reread_.set_durable(record);
    }
    bool is_current(LogPosition position, std::uint32_t size) const {
        return position.area() != Area::cold && area(position.area()).is_current(position, size);
    }
    const std::byte* body(LogPosition position) const { return area(position.area()).body(position); }

    AreaWriter& area(Area which) {
        return which == Area::small ? small_ : which == Area::large ? large_ : reread_;
    }
    const AreaWriter& area(Area which) const {
        return which == Area::small ? small_ : which == Area::large ? large_ : reread_;
    }
    PinBoard& pins() { return pins_; }
    const LogGeometry& geometry() const { return geometry_; }

 private:
    LogGeometry geometry_;
    PinBoard pins_;
    AreaWriter small_;
    AreaWriter large_;
    AreaWriter reread_;
};

}  // namespace pinnace::shm
