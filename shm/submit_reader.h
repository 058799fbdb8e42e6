// SPDX-License-Identifier: Apache-2.0
// SubmitReader: the engine's side of a submit ring that a client, trusted in nothing, writes.
//
// The reader polls one word, the commit word of the frame at its position: one line tells that there is a
// frame and brings its header. The header is loaded once into a local and checked against geometry in private
// memory; what comes out is either a SubmitFrame whose sizes are safe to use, or a violation, after which the
// reader stays where it is. The bytes of options and body still lie in memory that the client can change at
// any time: copy them once, and look only at the copy.
//
// Checked here, so that nobody downstream has to: type and flags; the frame within an eighth of the ring and
// within its lap; padding exactly to the lap's end; fragments in order and adding up to the size first told;
// a message within the session's limit, a batch too; nothing beyond what the persisted mark has freed.
//
// Ordering pairs
//   submitted  see submit_writer.h.
//
// Thread: the dispatcher; also a client that reads its own ring again to re-send (architecture rule 24).
#pragma once

#include "shm/layout.h"
#include "shm/ring_math.h"
#include "shm/untrusted.h"
#include "shm/words.h"

namespace pinnace::shm {

template <class P = std::uint64_t>
struct BasicSubmitFrame {
    P position = 0;
    P end = 0;
    SubmitHeader header;                 // a private copy, checked
    const std::byte* options = nullptr;  // header.options_size bytes that the client can change: copy once
    const std::byte* body = nullptr;     // header.size bytes, the same
    std::uint32_t body_offset = 0;       // of this frame's body in the message's
    bool is_first = true;                // of its message
    bool is_last = true;                 // of its message: with it, header.total_size bytes are in
    bool is_batch_end = true;            // no more messages of this batch follow
};

template <class P = std::uint64_t>
class BasicSubmitReader {
 public:
    using Frame = BasicSubmitFrame<P>;

    BasicSubmitReader(const std::byte* ring, P capacity, std::uint64_t key, std::uint32_t message_limit,
                      P start = 0)
        : ring_(ring),
          capacity_(capacity),
          key_(key),
          message_limit_(message_limit),
          position_(start),
          persisted_(start) {}

    // Up to where everything was taken.
    P position() const { return position_; }
    // No message or batch is half taken: the position is a boundary that may be persisted.
    bool is_at_boundary() const { return fragment_total_ == 0 && batch_footprint_ == 0; }
    const Violation& violation() const { return violation_; }

    // To be called with what the persisted mark is set to: the client may use the space below it again.
    void set_persisted(P position) { persisted_ = position; }

    // Whether a frame is there, at the price of one load. (A padding frame counts.)
    bool is_ready() const {
        return shared(header_at(position_)->commit).load(std::memory_order_acquire) ==  // pair: submitted
               commit_word(position_);
    }

    // Looks at the next frame without taking it; padding is stepped over.
    ReadStatus peek(Frame& frame) {
        if (violation_) return ReadStatus::violation;
        if (!is_ready()) return ReadStatus::nothing;
        load_once(*header_at(position_), frame.header);
        if (frame.header.type == static_cast<std::uint8_t>(FrameType::padding)) {
            if (!step_over_padding(frame.header)) return ReadStatus::violation;
            if (!is_ready()) return ReadStatus::nothing;
            load_once(*header_at(position_), frame.header);
        }
        if (!check_frame(frame) || !check_message(frame)) return ReadStatus::violation;
        return ReadStatus::ready;
    }

    // Goes on behind a frame that peek() showed.
    void take(const Frame& frame) {
        if (frame.is_last) {
            fragment_total_ = 0;
            fragment_done_ = 0;
        } else {
            fragment_total_ = frame.header.total_size;
            fragment_done_ = frame.body_offset + frame.header.size;
            fragment_ = frame.header;
        }
        if (frame.is_last && frame.is_batch_end) {
            batch_footprint_ = 0;
            batch_size_ = 0;
        } else {
            batch_footprint_ += used(frame.end, frame.position);
            batch_size_ += frame.header.size;
        }
        position_ = frame.end;
    }

 private:
    std::uint64_t commit_word(P position) const { return (std::uint64_t{position} + 1) ^ key_; }

    const SubmitHeader* header_at(P position) const {
        return reinterpret_cast<const SubmitHeader*>(ring_ + offset_of(position, capacity_));
    }

    bool refuse(ViolationKind kind, std::uint64_t value) {
        violation_ = {kind, position_, value};
        return false;
    }

    // Padding ends exactly at the lap's end and never starts a lap, so a client cannot keep us stepping.
    bool step_over_padding(const SubmitHeader& header) {
        const P to_end = space_to_end(position_, capacity_);
        if (offset_of(position_, capacity_) == 0 || header.size != to_end - kSubmitHeaderSize) {
            return refuse(ViolationKind::padding, header.size);
        }
        if (used(static_cast<P>(position_ + to_end), persisted_) > capacity_) {
            return refuse(ViolationKind::cursor, persisted_);
        }
        if (batch_footprint_ != 0) batch_footprint_ += to_end;
        position_ = static_cast<P>(position_ + to_end);
        return true;
    }

    bool check_frame(Frame& frame) {
        const SubmitHeader& header = frame.header;
        const bool is_fragment = header.type == static_cast<std::uint8_t>(FrameType::fragment);
        if (!is_fragment && header.type != static_cast<std::uint8_t>(FrameType::publish)) {
            return refuse(ViolationKind::frame_type, header.type);
        }
        const std::uint8_t ends = header.flags & (kFrameFirst | kFrameLast);
        if ((header.flags & ~kFrameFlagsAll) != 0 || (!is_fragment && ends != 0)) {
            return refuse(ViolationKind::frame_flags, header.flags);
        }
        // In 64 bits: 48 + 65,535 + 2^32 cannot wrap.
        const std::uint64_t length = round_up<std::uint64_t>(
            kSubmitHeaderSize + std::uint64_t{header.options_size} + header.size, kFrameAlignment);
        if (length > frame_size_max(capacity_) || length > space_to_end(position_, capacity_)) {
            return refuse(ViolationKind::frame_size, length);
        }
        frame.position = position_;
        frame.end = static_cast<P>(position_ + static_cast<P>(length));
        if (used(frame.end, persisted_) > capacity_) return refuse(ViolationKind::cursor, persisted_);
        frame.options = reinterpret_cast<const std::byte*>(header_at(position_)) + kSubmitHeaderSize;
        frame.body = frame.options + header.options_size;
        frame.is_first = !is_fragment || (ends & kFrameFirst) != 0;
        frame.is_last = !is_fragment || (ends & kFrameLast) != 0;
        frame.is_batch_end = (header.flags & kFrameMore) == 0;
        frame.body_offset = frame.is_first ? 0 : fragment_done_;
        return true;
    }

    bool check_message(const Frame& frame) {
        const SubmitHeader& header = frame.header;
        if (header.total_size > message_limit_) return refuse(ViolationKind::message_size, header.total_size);
        if (frame.is_first != (fragment_total_ == 0)) return refuse(ViolationKind::fragment, header.flags);
        if (!frame.is_first && !continues_fragment(header))
            return refuse(ViolationKind::fragment, header.number);
        const std::uint64_t done = std::uint64_t{frame.body_offset} + header.size;
        if (done > header.total_size || frame.is_last != (done == header.total_size)) {
            return refuse(ViolationKind::fragment, done);
        }
        // An empty fragment would let a message go on for ever.
        if (!frame.is_last && header.size == 0) return refuse(ViolationKind::fragment, 0);
        if (batch_size_ + header.size > message_limit_ ||
            batch_footprint_ + used(frame.end, frame.position) > capacity_) {
            return refuse(ViolationKind::batch, batch_size_);
        }
        return true;
    }

    bool continues_fragment(const SubmitHeader& header) const {
        return header.options_size == 0 && header.total_size == fragment_total_ &&
               header.number == fragment_.number && header.previous == fragment_.previous &&
               header.topic == fragment_.topic && header.publisher == fragment_.publisher &&
               ((header.flags ^ fragment_.flags) & (kFrameMore | kFrameResend)) == 0;
    }

    const std::byte* ring_;
    P capacity_;
    std::uint64_t key_;
    std::uint32_t message_limit_;
    P position_;
    P persisted_;
    std::uint32_t fragment_total_ = 0;  // of the message whose fragments are being taken; 0: none
    std::uint32_t fragment_done_ = 0;
    std::uint64_t batch_footprint_ = 0;
    std::uint64_t batch_size_ = 0;
    SubmitHeader fragment_;
    Violation violation_;
};

using SubmitFrame = BasicSubmitFrame<>;
using SubmitReader = BasicSubmitReader<>;

}  // namespace pinnace::shm
