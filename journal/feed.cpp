// SPDX-License-Identifier: Apache-2.0
#include "journal/feed.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <new>

#include "core/check.h"

namespace pinnace::journal {
namespace {

constexpr std::size_t kFeedSizeMin = 16u << 10;
// An entry that begins at the last bytes of the ring runs on into this.
constexpr std::size_t kSlack = Feed::entry_size(std::numeric_limits<std::uint16_t>::max());
constexpr std::align_val_t kPage{4096};

}  // namespace

Feed::Feed(std::size_t byte_count)
    : byte_count_(std::bit_ceil(std::max(byte_count, kFeedSizeMin))),
      bytes_(static_cast<std::byte*>(::operator new(byte_count_ + kSlack, kPage))) {
    std::memset(bytes_, 0, byte_count_ + kSlack);
}

Feed::~Feed() { ::operator delete(bytes_, kPage); }

std::size_t Feed::room() const {
    if (spilled()) return 0;
    const std::uint64_t released = released_.load(std::memory_order_acquire);  // pair: feed freed
    return byte_count_ - static_cast<std::size_t>(staged_ - released);
}

RecordIndex Feed::append(const RecordHeader& header, std::span<const std::byte> head, const std::byte* body,
                         std::uint32_t body_size) {
    PINNACE_CHECK(head.size() <= std::numeric_limits<std::uint16_t>::max());
    PINNACE_CHECK(body_size <= std::numeric_limits<std::uint32_t>::max() - head.size());
    FeedEntry entry{header, body};
    entry.header.head_size = static_cast<std::uint16_t>(head.size());
    entry.header.payload_size = static_cast<std::uint32_t>(head.size()) + body_size;
    entry.header.payload_crc = 0;
    FeedEntry* placed = spilled() ? nullptr : put(entry, head);
    last_entry_ = placed != nullptr ? placed : spill(entry, head);
    return ++last_index_;
}

// Null: the ring has no room for it.
FeedEntry* Feed::put(const FeedEntry& entry, std::span<const std::byte> head) {
    const std::size_t size = entry_size(head.size());
    if (byte_count_ - (staged_ - released_seen_) < size) {
        released_seen_ = released_.load(std::memory_order_acquire);  // pair: feed freed
        if (byte_count_ - (staged_ - released_seen_) < size) return nullptr;
    }
    auto* placed = new (bytes_ + (staged_ & (byte_count_ - 1))) FeedEntry(entry);
    if (!head.empty()) std::memcpy(placed + 1, head.data(), head.size());
    staged_ += size;
    return placed;
}

// The journal takes whole steps only, so one that is larger than the ring would wait for ever.
FeedEntry* Feed::spill(const FeedEntry& entry, std::span<const std::byte> head) {
    if (last_entry_ == nullptr) {
        spilled_step_size_ = 0;
    } else if (!spilled()) {
        spilled_step_size_ = static_cast<std::size_t>(staged_ - whole_);
    }
    spilled_step_size_ += entry_size(head.size());
    PINNACE_CHECK(spilled_step_size_ <= byte_count_);
    return &spill_.emplace_back(entry, std::vector<std::byte>(head.begin(), head.end())).entry;
}

void Feed::move_in() {
    while (spilled()) {
        const Spilled& first = spill_.front();
        if (put(first.entry, first.head) == nullptr) return;
        if (first.entry.ends_step()) whole_ = staged_;
        spill_.pop_front();
    }
}

void Feed::end_step() {
    if (last_entry_ == nullptr) return;
    last_entry_->header.payload_crc = 1;
    last_entry_ = nullptr;
    if (!spilled()) whole_ = staged_;
}

void Feed::publish(Time now) {
    end_step();
    move_in();
    // Relaxed: the store below makes it visible with the entries.
    time_.store(now, std::memory_order_relaxed);
    published_.store(whole_, std::memory_order_release);  // pair: feed filled
    // What comes next lies in lines that left the cache long ago: fetched while there is time.
    for (std::size_t ahead = 0; ahead < 4 * 64; ahead += 64) {
        __builtin_prefetch(bytes_ + ((staged_ + ahead) & (byte_count_ - 1)), 1);
    }
}

std::uint64_t Feed::visible_end() const {
    return published_.load(std::memory_order_acquire);  // pair: feed filled
}

// Relaxed: called after visible_end, so it is that publish's time or a later one's.
Time Feed::time() const { return time_.load(std::memory_order_relaxed); }

const FeedEntry& Feed::take(FeedCursor& cursor) const {
    const auto* entry =
        std::launder(reinterpret_cast<const FeedEntry*>(bytes_ + (cursor.position & (byte_count_ - 1))));
    cursor.position += entry_size(entry->header.head_size);
    ++cursor.index;
    return *entry;
}

void Feed::release(std::uint64_t position) {
    released_.store(position, std::memory_order_release);  // pair: feed freed
}

}  // namespace pinnace::journal
