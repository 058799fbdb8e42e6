// SPDX-License-Identifier: Apache-2.0
#include "core/record_codec.h"

#include <cstring>
#include <limits>

namespace pinnace {

namespace {

constexpr std::size_t kVarintSizeMax = 10;

enum EntryFlag : std::uint64_t {
    kExpiry = 1 << 0,
    kDue = 1 << 1,
    kPriority = 1 << 2,
    kOrdinal = 1 << 3,
    kGroup = 1 << 4,
    kDedup = 1 << 5,
    kBarrier = 1 << 6,
    kBeyond = 1 << 7,
    kHandedOver = 1 << 8,
    kDuplicate = 1 << 9,
    kKnownFlags = (1 << 10) - 1,
};

std::uint64_t flags_of(const QueueEntry& entry) {
    std::uint64_t flags = 0;
    if (entry.expiry != kNever) flags |= kExpiry;
    if (entry.due != 0) flags |= kDue;
    if (entry.has_priority) flags |= kPriority;
    if (entry.ordinal != 0) flags |= kOrdinal;
    if (!entry.group.empty()) flags |= kGroup;
    if (entry.has_dedup) flags |= kDedup;
    if (entry.barrier) flags |= kBarrier;
    if (entry.beyond) flags |= kBeyond;
    if (entry.handed_over) flags |= kHandedOver;
    if (entry.duplicate) flags |= kDuplicate;
    return flags;
}

Time read_time(HeadReader& in) {
    const std::uint64_t value = in.varint();
    if (value >= static_cast<std::uint64_t>(kNever)) in.fail();
    return static_cast<Time>(value);
}

std::size_t write_varint(std::byte* out, std::uint64_t value) {
    std::size_t size = 0;
    while (value >= 0x80) {
        out[size++] = static_cast<std::byte>(value | 0x80);
        value >>= 7;
    }
    out[size++] = static_cast<std::byte>(value);
    return size;
}

// The count of positions from `from` on that follow each other without a gap.
std::size_t run_length(std::span<const Position> sorted, std::size_t from) {
    std::size_t end = from + 1;
    while (end < sorted.size() && sorted[end] == sorted[end - 1] + 1) ++end;
    return end - from;
}

}  // namespace

void put_text(HeadBytes& out, std::string_view text) {
    put_varint(out, text.size());
    const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
    out.insert(out.end(), bytes, bytes + text.size());
}

std::uint64_t HeadReader::varint() {
    std::uint64_t value = 0;
    for (std::size_t index = 0; index < rest_.size() && index < kVarintSizeMax; ++index) {
        const auto bits = std::to_integer<std::uint64_t>(rest_[index]);
        if (index == kVarintSizeMax - 1 && bits > 1) break;  // beyond 64 bits
        value |= (bits & 0x7f) << (7 * index);
        if (bits < 0x80) {
            if (bits == 0 && index > 0) break;  // not the shortest form
            rest_ = rest_.subspan(index + 1);
            return value;
        }
    }
    fail();
    return 0;
}

std::uint32_t HeadReader::varint32() {
    const std::uint64_t value = varint();
    if (value > std::numeric_limits<std::uint32_t>::max()) {
        fail();
        return 0;
    }
    return static_cast<std::uint32_t>(value);
}

std::uint8_t HeadReader::byte() {
    if (rest_.empty()) {
        fail();
        return 0;
    }
    const auto value = std::to_integer<std::uint8_t>(rest_.front());
    rest_ = rest_.subspan(1);
    return value;
}

std::string_view HeadReader::text(std::size_t size_max) {
    const std::uint64_t size = varint();
    if (size > size_max || size > rest_.size()) {
        fail();
        return {};
    }
    const std::string_view result(reinterpret_cast<const char*>(rest_.data()), size);
    rest_ = rest_.subspan(size);
    return result;
}

DedupHash HeadReader::hash() {
    DedupHash result{};
    if (rest_.size() < result.size()) {
        fail();
        return result;
    }
    std::memcpy(result.data(), rest_.data(), result.size());
    rest_ = rest_.subspan(result.size());
    return result;
}

void put_entry(HeadBytes& out, const QueueEntry& entry) {
    const std::uint64_t flags = flags_of(entry);
    put_varint(out, entry.queue);
    put_varint(out, flags);
    if (flags == 0) return;
    if (flags & kExpiry) put_varint(out, static_cast<std::uint64_t>(entry.expiry));
    if (flags & kDue) put_varint(out, static_cast<std::uint64_t>(entry.due));
    if (flags & kPriority) put_varint(out, entry.priority);
    if (flags & kOrdinal) put_varint(out, entry.ordinal);
    if (flags & kGroup) put_text(out, entry.group);
    if (flags & kDedup) out.insert(out.end(), entry.dedup.begin(), entry.dedup.end());
}

bool read_entry(HeadReader& in, QueueEntry& entry) {
    entry = {};
    entry.queue = in.varint32();
    const std::uint64_t flags = in.varint();
    if ((flags & ~std::uint64_t{kKnownFlags}) != 0) in.fail();
    if (flags & kExpiry) entry.expiry = read_time(in);
    if (flags & kDue) entry.due = read_time(in);
    if ((flags & kDue) && entry.due == 0) in.fail();
    entry.has_priority = (flags & kPriority) != 0;
    if (flags & kPriority) entry.priority = in.varint();
    if (flags & kOrdinal) entry.ordinal = in.varint();
    if ((flags & kOrdinal) && entry.ordinal == 0) in.fail();
    if (flags & kGroup) entry.group = in.text(kGroupSizeMax);
    if ((flags & kGroup) && entry.group.empty()) in.fail();
    entry.has_dedup = (flags & kDedup) != 0;
    if (flags & kDedup) entry.dedup = in.hash();
    entry.barrier = (flags & kBarrier) != 0;
    entry.beyond = (flags & kBeyond) != 0;
    entry.handed_over = (flags & kHandedOver) != 0;
    entry.duplicate = (flags & kDuplicate) != 0;
    if (entry.queue == kNone) in.fail();
    return !in.failed();
}

void put_move(HeadBytes& out, const MoveHead& move) {
    put_varint(out, move.redrive ? 1 : 0);
    put_varint(out, move.from);
    put_varint(out, move.origin);
    put_varint(out, static_cast<std::uint64_t>(move.published));
    put_varint(out, move.deliveries);
    put_varint(out, move.cancels);
    put_varint(out, move.topic);
    put_varint(out, move.size);
}

bool read_move(HeadReader& in, MoveHead& move) {
    const std::uint64_t flags = in.varint();
    if (flags > 1) in.fail();
    move.redrive = flags == 1;
    move.from = in.varint();
    move.origin = in.varint();
    move.published = read_time(in);
    move.deliveries = in.varint();
    move.cancels = in.varint();
    move.topic = in.varint32();
    move.size = in.varint32();
    return !in.failed();
}

void put_queue_definition(HeadBytes& out, const QueueDefinition& definition) {
    put_varint(out, (definition.at_most_once ? 1u : 0u) | (definition.fifo ? 2u : 0u));
    put_text(out, definition.name);
    put_text(out, definition.recovery_point);
}

std::optional<QueueDefinition> read_queue_definition(std::span<const std::byte> head) {
    HeadReader in(head);
    QueueDefinition result;
    const std::uint64_t flags = in.varint();
    if (flags > 3) in.fail();
    result.at_most_once = (flags & 1) != 0;
    result.fifo = (flags & 2) != 0;
    result.name = in.text(kNameSizeMax);
    result.recovery_point = in.text(kNameSizeMax);
    if (!in.complete() || result.name.empty()) return std::nullopt;
    return result;
}

void put_topic_definition(HeadBytes& out, const TopicDefinition& definition) {
    put_text(out, definition.name);
    put_text(out, definition.message_type);
}

std::optional<TopicDefinition> read_topic_definition(std::span<const std::byte> head) {
    HeadReader in(head);
    TopicDefinition result;
    result.name = in.text(kNameSizeMax);
    result.message_type = in.text(kNameSizeMax);
    if (!in.complete() || result.name.empty()) return std::nullopt;
    return result;
}

void put_publisher_name(HeadBytes& out, std::string_view name) { put_text(out, name); }

std::optional<std::string_view> read_publisher_name(std::span<const std::byte> head) {
    HeadReader in(head);
    const std::string_view name = in.text(kNameSizeMax);
    if (!in.complete()) return std::nullopt;
    return name;
}

void encode_runs(std::span<const Position> sorted, HeadBytes& out) {
    if (sorted.empty()) return;
    Position cursor = sorted.front();
    for (std::size_t index = 0; index < sorted.size();) {
        const std::size_t length = run_length(sorted, index);
        put_varint(out, sorted[index] - cursor);
        put_varint(out, length);
        cursor = sorted[index] + length;
        index += length;
    }
}

std::size_t encode_runs(std::span<const Position> sorted, std::span<std::byte> out, std::size_t& size) {
    size = 0;
    std::size_t index = 0;
    Position cursor = sorted.empty() ? 0 : sorted.front();
    while (index < sorted.size()) {
        const std::size_t length = run_length(sorted, index);
        std::array<std::byte, 2 * kVarintSizeMax> pair;
        std::size_t pair_size = write_varint(pair.data(), sorted[index] - cursor);
        pair_size += write_varint(pair.data() + pair_size, length);
        if (pair_size > out.size() - size) break;
        std::memcpy(out.data() + size, pair.data(), pair_size);
        size += pair_size;
        cursor = sorted[index] + length;
        index += length;
    }
    return index;
}

bool check_runs(std::span<const std::byte> head, Position base) {
    HeadReader in(head);
    Position cursor = base;
    bool first = true;
    while (!in.at_end()) {
        const std::uint64_t gap = in.varint();
        const std::uint64_t length = in.varint();
        if (in.failed() || length == 0 || (gap == 0 && !first)) return false;
        constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
        if (gap > kMax - cursor || length > kMax - cursor - gap) return false;
        cursor += gap + length;
        first = false;
    }
    return !first && !in.failed();
}

}  // namespace pinnace
