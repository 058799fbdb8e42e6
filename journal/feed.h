// SPDX-License-Identifier: Apache-2.0
// The feed: the private ring through which the dispatcher hands records to the journal thread (the "journal
// index" of rule 7). Nothing in it comes from a peer (rule 3); neither side makes a system call, allocates or
// waits.
//
// 1. One thread appends (the dispatcher), one takes (the journal thread).
// 2. Records are staged by append, joined to a step by end_step, and seen by the journal only after publish.
// A batch
//    is cut only where a step ends (rule 7).
// 3. Header and head are copied in. A body is named by its address: it stays valid and unchanged until the
// journal
//    says that the record is durable (policy none: written).
// 4. room() is what the caller asks before it takes on work; it keeps a reserve for acknowledgments and moves
//    (rule 14). What the ring has no room for all the same is spilled: kept in memory of its own, in order,
//    and moved into the ring by later calls of publish. Only a single step that is larger than the whole ring
//    is our own fault.
// 5. Positions in the ring only grow. An entry never wraps: the ring has slack behind its end for the last
// one.
//
// Ordering: `feed filled` (publish -> visible_end), `feed freed` (release -> room).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "core/record.h"
#include "core/types.h"

namespace pinnace::journal {

inline constexpr std::size_t kLineSize = 128;

// As it lies in the ring, then header.head_size bytes of head. header.payload_crc says here whether a step
// ends with this record; the journal fills in the checksum later.
struct FeedEntry {
    RecordHeader header;
    const std::byte* body = nullptr;  // header.payload_size - header.head_size bytes

    const std::byte* head() const { return reinterpret_cast<const std::byte*>(this + 1); }
    std::uint32_t body_size() const { return header.payload_size - header.head_size; }
    bool ends_step() const { return header.payload_crc != 0; }
};
static_assert(sizeof(FeedEntry) == 56);

// Where the journal thread is: the ring's byte position and the index of the last record before it.
struct FeedCursor {
    std::uint64_t position = 0;
    RecordIndex index = 0;
};

class Feed {
 public:
    // `byte_count` is rounded up to a power of two, at least 16 KiB. Memory is touched here, so that no
    // fault comes later (rule 20).
    explicit Feed(std::size_t byte_count);
    ~Feed();
    Feed(const Feed&) = delete;
    Feed& operator=(const Feed&) = delete;

    // --- Dispatcher
    // Bytes that a record takes in the ring; its body takes none.
    static constexpr std::size_t entry_size(std::size_t head_size) {
        return (sizeof(FeedEntry) + head_size + 7) & ~std::size_t{7};
    }
    // Free bytes, at least: looks at the journal's progress each time. None while something is spilled.
    std::size_t room() const;
    std::size_t byte_count() const { return byte_count_; }
    // head_size, payload_size and payload_crc of `header` are filled in here and later. Returns the record's
    // index.
    RecordIndex append(const RecordHeader& header, std::span<const std::byte> head, const std::byte* body,
                       std::uint32_t body_size);
    // All appended since the last one are one step: in one batch together, or not there.
    void end_step();
    // Ends the step and lets the journal see all steps, but for what stays spilled. `now` is the engine's
    // time, kept with the batch (rule 22).
    void publish(Time now);
    // Something waits for room: to be published again.
    bool spilled() const { return !spill_.empty(); }
    // Index of the last record appended.
    RecordIndex last_index() const { return last_index_; }

    // --- Journal thread
    // How far entries can be read, and the time of the latest publish.
    std::uint64_t visible_end() const;
    Time time() const;
    // The entry at `cursor`, which must lie before visible_end; moves it on.
    const FeedEntry& take(FeedCursor& cursor) const;
    // Entries before `position` are not read again.
    void release(std::uint64_t position);

 private:
    struct Spilled {
        FeedEntry entry;
        std::vector<std::byte> head;
    };
    FeedEntry* put(const FeedEntry& entry, std::span<const std::byte> head);
    FeedEntry* spill(const FeedEntry& entry, std::span<const std::byte> head);
    void move_in();

    std::size_t byte_count_;
    std::byte* bytes_;
    // Dispatcher's own.
    alignas(kLineSize) std::uint64_t staged_ = 0;
    RecordIndex last_index_ = 0;
    FeedEntry* last_entry_ = nullptr;  // null: no step is open
    std::uint64_t whole_ = 0;          // behind the last step that is in the ring as a whole
    std::uint64_t released_seen_ = 0;  // spares append a look at the other thread's line
    std::deque<Spilled> spill_;        // behind what is staged
    std::size_t spilled_step_size_ = 0;
    // Written by the dispatcher, read by the journal thread.
    alignas(kLineSize) std::atomic<std::uint64_t> published_{0};
    std::atomic<Time> time_{0};
    // Written by the journal thread, read by the dispatcher.
    alignas(kLineSize) std::atomic<std::uint64_t> released_{0};
};

}  // namespace pinnace::journal
