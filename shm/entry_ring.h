// SPDX-License-Identifier: Apache-2.0
// Rings of fixed 64-byte entries: acknowledgments, deliveries and answers.
//
// One writer, one reader, in two processes that do not trust each other. An entry's first word is its commit
// word: the entry's index + 1, stored last. The index tells this lap from older ones, so nothing is zeroed,
// and the reader polls the entry that it waits for: one line brings the news and the entry. Unlike in the
// submit ring, a commit word's place never holds anything else, so it needs no key.
//
// The reader's cursor comes back through a word that the reader owns: in its own page for deliveries and
// answers, in the marks page for acknowledgments. The writer keeps a private copy and looks again only when
// that says full.
//
// Ordering pairs
//   entry  commit word, release in the writer, acquire in the reader: the entry's other words.
//   taken  the reader's cursor, release by the reader, acquire in the writer: the reader is done with the
//   entry.
//
// Thread: one at a time on each side.
#pragma once

#include <concepts>
#include <span>

#include "shm/layout.h"
#include "shm/ring_math.h"
#include "shm/untrusted.h"
#include "shm/words.h"

namespace pinnace::shm {

template <class Entry, class Index = std::uint64_t>
class EntryWriter {
    static_assert(sizeof(Entry) == kEntrySize && offsetof(Entry, commit) == 0);

 public:
    EntryWriter(Entry* entries, Index count, const std::uint64_t* taken, Index start = 0)
        : entries_(entries), count_(count), cursor_(taken), written_(start), taken_(start) {}

    // After the ring was adopted by another engine (acknowledgments only): its cursor word.
    void resume(const std::uint64_t* taken) { cursor_ = taken; }

    // Index of the next entry: how many were written.
    Index written() const { return written_; }
    // The reader's cursor as last seen.
    Index taken() const { return taken_; }
    const Violation& violation() const { return violation_; }

    // Free entries by what was last seen.
    Index free_count() const { return free_space(count_, written_, taken_); }

    // Looks at the reader's cursor. A cursor that cannot be is a violation, and the old value stays.
    Index refresh() {
        const Index told =
            static_cast<Index>(shared(*cursor_).load(std::memory_order_acquire));  // pair: taken
        if (is_plausible_move(taken_, told, written_)) {
            taken_ = told;
        } else {
            violation_ = {ViolationKind::cursor, written_, told};
        }
        return taken_;
    }

    // Writes one entry in its place and returns its index; the caller has made sure that there is room.
    // `fill` sets every field but the commit word.
    template <std::invocable<Entry&> Fill>
    Index write(Fill&& fill) {
        Entry& slot = entries_[offset_of(written_, count_)];
        fill(slot);
        const Index index = written_;
        written_ = static_cast<Index>(written_ + 1);
        shared(slot.commit).store(written_, std::memory_order_release);  // pair: entry
        return index;
    }
    Index write(const Entry& entry) {
        Entry& slot = entries_[offset_of(written_, count_)];
        const auto* from = reinterpret_cast<const std::uint64_t*>(&entry);
        auto* to = reinterpret_cast<std::uint64_t*>(&slot);
        for (std::size_t i = 1; i < kEntrySize / 8; ++i) to[i] = from[i];
        const Index index = written_;
        written_ = static_cast<Index>(written_ + 1);
        shared(slot.commit).store(written_, std::memory_order_release);  // pair: entry
        return index;
    }

    // All of them or none; false: no room.
    bool try_write(std::span<const Entry> entries) {
        if (entries.size() > free_count()) {
            refresh();
            if (entries.size() > free_count()) return false;
        }
        for (const Entry& entry : entries) write(entry);
        return true;
    }
    bool try_write(const Entry& entry) { return try_write(std::span<const Entry>(&entry, 1)); }

    // The entry at this index, if it still is one that the reader has not taken by its own word. Only for a
    // ring that the reader cannot write.
    const Entry* untaken(Index index) const {
        const bool is_held = static_cast<Index>(index - taken_) < used(written_, taken_);
        return is_held ? &entries_[offset_of(index, count_)] : nullptr;
    }

 private:
    Entry* entries_;
    Index count_;
    const std::uint64_t* cursor_;
    Index written_;
    Index taken_;
    Violation violation_;
};

template <class Entry, class Index = std::uint64_t>
class EntryReader {
    static_assert(sizeof(Entry) == kEntrySize && offsetof(Entry, commit) == 0);

 public:
    EntryReader(const Entry* entries, Index count, Index start = 0)
        : entries_(entries), count_(count), index_(start) {}

    // Index of the next entry: how many were taken.
    Index index() const { return index_; }
    Index count() const { return count_; }
    const Violation& violation() const { return violation_; }

    bool is_ready() const {
        return shared(slot().commit).load(std::memory_order_acquire) == expected();  // pair: entry
    }

    // Looks at the next entry without taking it: a private copy, each word loaded once. Its fields are
    // unchecked.
    ReadStatus peek(Entry& entry) {
        const std::uint64_t commit = shared(slot().commit).load(std::memory_order_acquire);  // pair: entry
        if (commit == expected()) {
            load_once(slot(), entry);
            return violation_ ? ReadStatus::violation : ReadStatus::ready;
        }
        // Untouched memory, or the entry of the lap before: the writer has not come here yet.
        if (commit != 0 && commit != static_cast<Index>(expected() - count_)) {
            violation_ = {ViolationKind::commit_word, index_, commit};
        }
        return violation_ ? ReadStatus::violation : ReadStatus::nothing;
    }

    void take() { index_ = static_cast<Index>(index_ + 1); }

    // Tells the writer that everything before index() may be overwritten.
    void publish_taken(std::uint64_t& cursor) const {
        shared(cursor).store(index_, std::memory_order_release);  // pair: taken
    }

    void refuse(ViolationKind kind, std::uint64_t value) { violation_ = {kind, index_, value}; }

 private:
    const Entry& slot() const { return entries_[offset_of(index_, count_)]; }
    Index expected() const { return static_cast<Index>(index_ + 1); }

    const Entry* entries_;
    Index count_;
    Index index_;
    Violation violation_;
};

using AckWriter = EntryWriter<AckEntry>;
using DeliveryWriter = EntryWriter<DeliveryEntry>;
using AnswerWriter = EntryWriter<AnswerEntry>;
using DeliveryReader = EntryReader<DeliveryEntry>;
using AnswerReader = EntryReader<AnswerEntry>;

// The engine's side of the ack ring: checks what can be checked without knowing queues.
template <class Index = std::uint64_t>
class BasicAckReader {
 public:
    BasicAckReader(const AckEntry* entries, Index count, Index start = 0) : ring_(entries, count, start) {}

    // Index of the next entry, which is its number.
    Index index() const { return ring_.index(); }
    const Violation& violation() const { return ring_.violation(); }
    // No list is half taken.
    bool is_at_boundary() const { return list_size_ == 0; }
    bool is_ready() const { return ring_.is_ready(); }

    // Looks at the next entry. `submit_read` and `submit_capacity` are those of the session's submit ring: an
    // entry may refer to a publish that was not read yet (wait for it: see is_due), but not to one that
    // cannot be.
    ReadStatus peek(AckEntry& entry, std::uint64_t submit_read, std::uint64_t submit_capacity) {
        const ReadStatus status = ring_.peek(entry);
        if (status != ReadStatus::ready) return status;
        if ((entry.verb == 0 || entry.verb > kVerbMax) && entry.verb != kVerbBodyAgain) {
            return refuse(ViolationKind::ack_verb, entry.verb);
        }
        if ((entry.flags & ~kAckFlagsAll) != 0) return refuse(ViolationKind::ack_verb, entry.flags);
        const bool is_ahead = entry.submit_position > submit_read;
        if (is_ahead && entry.submit_position - submit_read > submit_capacity) {
            return refuse(ViolationKind::submit_position, entry.submit_position);
        }
        if ((entry.flags & kAckMore) != 0 && list_size_ + 1 >= static_cast<Index>(ring_.count() / 2)) {
            return refuse(ViolationKind::ack_list, list_size_);
        }
        return ReadStatus::ready;
    }

    void take(const AckEntry& entry) {
        ring_.take();
        list_size_ = (entry.flags & kAckMore) != 0 ? static_cast<Index>(list_size_ + 1) : Index{0};
    }

 private:
    ReadStatus refuse(ViolationKind kind, std::uint64_t value) {
        ring_.refuse(kind, value);
        return ReadStatus::violation;
    }

    EntryReader<AckEntry, Index> ring_;
    Index list_size_ = 0;
};

using AckReader = BasicAckReader<>;

// Architecture rule 8: a verb is applied only when its client's submit ring was read as far as it says.
inline bool is_due(const AckEntry& entry, std::uint64_t submit_read) {
    return entry.submit_position <= submit_read || (entry.flags & kAckUnordered) != 0;
}

}  // namespace pinnace::shm
