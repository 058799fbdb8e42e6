// SPDX-License-Identifier: Apache-2.0
#include "shm/log_reader.h"

#include "shm/ring_math.h"
#include "shm/words.h"

namespace pinnace::shm {

LogReader::LogReader(const LogGeometry& geometry, const Regions& regions, std::uint64_t* pins)
    : message_size_max_(geometry.message_size_max), pins_(pins) {
    auto view = [](const AreaGeometry& area, const std::byte* region, bool spans_slots) {
        AreaView out;
        out.generations = reinterpret_cast<const std::uint64_t*>(region);
        out.data = region + area.table_size();
        out.slot_mask = area.slot_count - 1;
        out.data_mask = area.data_size() - 1;
        out.unit = spans_slots ? area.data_size() : area.slot_size;
        out.slot_shift = area.slot_shift();
        out.end_max = ((std::uint64_t{1} << 48) << out.slot_shift) - 1;
        return out;
    };
    areas_ = {view(geometry.small, regions.small, false), view(geometry.large, regions.large, true),
              view(geometry.reread, regions.reread, true)};
}

bool LogReader::is_possible(LogPosition position, std::uint32_t size) const {
    if (position.area() == Area::cold || size > message_size_max_) return false;
    const std::uint64_t start = position.byte_position();
    if (start % kLogFrameAlignment != 0) return false;
    const AreaView& view = area(position.area());
    const std::uint64_t length = kLogHeaderSize + std::uint64_t{size};
    return length <= space_to_end(start, view.unit) && start + length <= view.end_max;
}

PinnedSlots LogReader::slots_of(LogPosition position, std::uint32_t size) const {
    const unsigned shift = area(position.area()).slot_shift;
    const std::uint64_t first = position.byte_position() >> shift;
    const std::uint64_t last = (position.byte_position() + kLogHeaderSize + size - 1) >> shift;
    return {position.area(), first, last - first + 1};
}

bool LogReader::are_current(const PinnedSlots& slots) const {
    const AreaView& view = area(slots.area);
    for (std::uint64_t i = 0; i < slots.slot_count; ++i) {
        const std::uint64_t number = slots.first_slot + i;
        // Relaxed: fences stand between this and the copy or the pin.
        if (load_relaxed(view.generations[number & view.slot_mask]) != number + 1) return false;
    }
    return true;
}

// The word in front of the body that a client wants.
std::int64_t LogReader::published(const std::byte* frame) {
    return load_relaxed(reinterpret_cast<const LogHeader*>(frame)->published);
}

BodyStatus LogReader::copy(LogPosition position, std::span<std::byte> out, std::int64_t& published) const {
    if (out.size() > UINT32_MAX) return BodyStatus::violation;
    const auto size = static_cast<std::uint32_t>(out.size());
    if (!is_possible(position, size)) return BodyStatus::violation;
    const std::byte* from = frame(position);
    const std::int64_t time = LogReader::published(from);
    if (size != 0) copy_shared(out.data(), from + kLogHeaderSize, size);
    copied_fence();
    if (!are_current(slots_of(position, size))) return BodyStatus::gone;
    published = time;
    return BodyStatus::ok;
}

std::expected<LogView, BodyStatus> LogReader::pin(LogPosition position, std::uint32_t size) const {
    if (!is_possible(position, size)) return std::unexpected(BodyStatus::violation);
    LogView view;
    view.slots_ = slots_of(position, size);
    if (view.slots_.slot_count > 0x3fff) return std::unexpected(BodyStatus::no_pin);
    for (std::size_t i = 0; i < kPinCount && view.pin_ == nullptr; ++i) {
        std::uint64_t free = 0;
        // Relaxed: only threads of this process compete for the word; the fence below orders it for the
        // engine.
        if (shared(pins_[i]).compare_exchange_strong(free, view.slots_.word(), std::memory_order_relaxed)) {
            view.pin_ = &pins_[i];
        }
    }
    if (view.pin_ == nullptr) return std::unexpected(BodyStatus::no_pin);
    view.reader_ = this;
    full_fence();  // pair: pin
    if (!are_current(view.slots_)) return std::unexpected(BodyStatus::gone);
    view.published_ = published(frame(position));
    view.body_ = {frame(position) + kLogHeaderSize, size};
    return view;
}

bool LogView::is_valid() const {
    if (reader_ == nullptr) return false;
    copied_fence();
    return reader_->are_current(slots_);
}

void LogView::release() {
    if (pin_ != nullptr) shared(*pin_).store(0, std::memory_order_release);  // pair: unpinned
    pin_ = nullptr;
    reader_ = nullptr;
    body_ = {};
}

}  // namespace pinnace::shm
