// SPDX-License-Identifier: Apache-2.0
// LogReader: a client's way to the bodies in the delivery log, which it maps read-only.
//
// A small body is copied and the generation of its slot is looked at afterwards: if it moved, what was copied
// is thrown away and the body has to be asked for again (BodyStatus::gone). A large one can be read in place
// under a pin (pins.h); LogView::is_valid() then tells whether the engine kept to it. Where a body lies comes
// from a descriptor, and is checked against the log's bounds before anything is read (architecture rule 3
// holds towards the engine too).
//
// Ordering pairs
//   slot  the reader's fence between the copy and its second look at the generation.
//   pin   pin and generation, see pins.h.
//
// Thread: copy() any number at a time; pin() and the views' ends too.
#pragma once

#include <array>
#include <expected>
#include <span>

#include "shm/log_writer.h"
#include "shm/untrusted.h"

namespace pinnace::shm {

enum class BodyStatus : std::uint8_t {
    ok,
    gone,       // reused since: ask for the body again
    no_pin,     // all pins are in use: copy instead
    violation,  // the descriptor points outside of the log
};

class LogReader;

// A body that is read in place, and the pin that protects it.
class LogView {
 public:
    LogView() = default;
    LogView(LogView&& other) noexcept { swap(other); }
    LogView& operator=(LogView&& other) noexcept {
        LogView(std::move(other)).swap(*this);
        return *this;
    }
    ~LogView() { release(); }

    std::span<const std::byte> body() const { return body_; }
    std::int64_t published() const { return published_; }
    // Whether everything read up to now was the body. Ask after reading; false: throw it away and ask again.
    bool is_valid() const;
    void release();

 private:
    friend class LogReader;
    void swap(LogView& other) noexcept {
        std::swap(reader_, other.reader_);
        std::swap(pin_, other.pin_);
        std::swap(slots_, other.slots_);
        std::swap(body_, other.body_);
        std::swap(published_, other.published_);
    }

    const LogReader* reader_ = nullptr;
    std::uint64_t* pin_ = nullptr;
    PinnedSlots slots_;
    std::span<const std::byte> body_;
    std::int64_t published_ = 0;
};

class LogReader {
 public:
    struct Regions {
        const std::byte* small = nullptr;
        const std::byte* large = nullptr;
        const std::byte* reread = nullptr;
    };

    // `pins` are the kPinCount words in the client's own page.
    LogReader(const LogGeometry& geometry, const Regions& regions, std::uint64_t* pins);

    // Copies a body of `out.size()` bytes, which is the size in the descriptor.
    BodyStatus copy(LogPosition position, std::span<std::byte> out, std::int64_t& published) const;
    std::expected<LogView, BodyStatus> pin(LogPosition position, std::uint32_t size) const;
    // The body will be looked at soon. The place is possible.
    void prefetch(LogPosition position) const {
        const std::byte* at = frame(position);
        __builtin_prefetch(at);
        __builtin_prefetch(at + kLogFrameAlignment);
    }
    // Whether the descriptor's place is one that can be.
    bool is_possible(LogPosition position, std::uint32_t size) const;

 private:
    friend class LogView;
    struct AreaView {
        const std::uint64_t* generations = nullptr;
        const std::byte* data = nullptr;
        std::uint64_t slot_mask = 0;  // of slot numbers
        std::uint64_t data_mask = 0;  // of byte positions
        std::uint64_t unit = 0;       // no frame straddles a multiple of it
        std::uint64_t end_max = 0;    // no frame ends beyond: slot numbers have 48 bits
        unsigned slot_shift = 0;
    };

    const AreaView& area(Area which) const { return areas_[static_cast<std::size_t>(which) - 1]; }
    PinnedSlots slots_of(LogPosition position, std::uint32_t size) const;
    bool are_current(const PinnedSlots& slots) const;
    const std::byte* frame(LogPosition position) const {
        const AreaView& view = area(position.area());
        return view.data + (position.byte_position() & view.data_mask);
    }
    static std::int64_t published(const std::byte* frame);

    std::uint64_t message_size_max_;
    std::array<AreaView, 3> areas_;
    std::uint64_t* pins_;
};

}  // namespace pinnace::shm
