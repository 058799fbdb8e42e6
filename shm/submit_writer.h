// SPDX-License-Identifier: Apache-2.0
// SubmitWriter: the client's side of a submit ring, which is also its store of what is not durable yet.
//
// A frame is claimed, filled and committed; the last store is the commit word, so a client that dies anywhere
// before it has written nothing. Space is free again only when the engine's persisted mark has passed it
// (architecture rule 24): until then the frames can be read again and sent anew.
//
// Invariants
//   1. The bytes in [persisted, position) are frames, whole and unchanged.
//   2. A frame never straddles the end of a lap; the rest of a lap is one padding frame. Frames are 64-byte
//   aligned
//      and headers 48 bytes, so a padding frame always fits.
//   3. A frame is at most an eighth of the ring; a message or a batch is written whole or not at all.
//   4. The commit word is the frame's position + 1, xor a key that only engine and client know. The position
//   tells
//      this lap from older ones, so nobody has to zero the ring. The key is there because bytes of old bodies
//      lie where later commit words will be: whoever chooses a body could otherwise forge the frames after
//      it.
//
// Ordering pairs
//   submitted  commit word, release here, acquire in SubmitReader: the frame's bytes.
//   persisted  the mark, release in the engine, acquire here: the engine will not look at the space again.
//
// Thread: one at a time (a client with several publishing threads locks around it).
#pragma once

#include <cstring>
#include <expected>
#include <span>

#include "shm/layout.h"
#include "shm/ring_math.h"
#include "shm/untrusted.h"
#include "shm/words.h"

namespace pinnace::shm {

enum class ClaimError : std::uint8_t {
    would_block,  // C5: full now
    too_large,    // never: see message_size_max()
};

struct PublishFields {
    std::uint32_t topic = 0;
    std::uint32_t publisher = UINT32_MAX;  // UINT32_MAX: not numbered
    std::uint64_t number = 0;
    std::uint64_t previous = UINT64_MAX;
    std::uint8_t flags = 0;  // kFrameMore, kFrameResend
    std::span<const std::byte> options;
};

struct PublishItem {
    PublishFields fields;
    std::span<const std::byte> body;
};

template <class P = std::uint64_t>
class BasicSubmitWriter {
 public:
    struct Claim {
        SubmitHeader* header = nullptr;
        std::byte* body = nullptr;
        P position = 0;
        P end = 0;
    };

    // `persisted` is the engine's mark; both cursors start at `start`, or, where a ring is adopted, at the
    // values given to resume().
    BasicSubmitWriter(std::byte* ring, P capacity, std::uint64_t key, std::uint32_t message_limit,
                      const std::uint64_t* persisted, P start = 0)
        : ring_(ring),
          capacity_(capacity),
          key_(key),
          message_limit_(message_limit),
          mark_(persisted),
          position_(start),
          persisted_(start) {}

    // After an engine adopted the ring (rule 23): its new mark and limit. The frames stay where they are.
    void resume(std::uint32_t message_limit, const std::uint64_t* persisted) {
        message_limit_ = message_limit;
        mark_ = persisted;
    }

    std::uint32_t message_size_max() const { return message_limit_; }
    // Where the next frame starts: what was made before is below it (rule 8).
    P position() const { return position_; }
    // The engine's mark as last seen; refresh() looks again.
    P persisted() const { return persisted_; }
    const Violation& violation() const { return violation_; }

    P refresh() {
        const P told = static_cast<P>(shared(*mark_).load(std::memory_order_acquire));  // pair: persisted
        if (is_plausible_move(persisted_, told, position_)) {
            persisted_ = told;
        } else {
            violation_ = {ViolationKind::mark, position_, told};
        }
        return persisted_;
    }

    // Claims one frame for a body that the caller writes in place; at most frame_body_max() with its options.
    // Nothing is claimed for anybody else to see: a claim that is not committed is taken back by the next
    // one.
    std::expected<Claim, ClaimError> try_claim(const PublishFields& fields, std::uint32_t size) {
        const std::uint64_t length = frame_length(fields.options.size(), size);
        if (size > message_limit_ || length > frame_max()) return std::unexpected(ClaimError::too_large);
        auto placement = place_if_free<P>(capacity_, position_, persisted_, static_cast<P>(length));
        if (!placement) {
            placement = place_if_free<P>(capacity_, position_, refresh(), static_cast<P>(length));
            if (!placement) return std::unexpected(ClaimError::would_block);
        }
        return begin_frame(*placement, fields, size, size, FrameType::publish, fields.flags);
    }

    void commit(const Claim& claim) {
        shared(claim.header->commit)
            .store((std::uint64_t{claim.position} + 1) ^ key_, std::memory_order_release);  // pair: submitted
        position_ = claim.end;
        // Of the next frame; its first line is the one that the engine looks at meanwhile.
        prefetch_for_write(ring_ + offset_of(position_, capacity_) + kFrameAlignment);
    }

    // A whole message, in fragments where it has to be. Returns the position after it: when the persisted
    // mark reaches it, the message is durable.
    std::expected<P, ClaimError> try_publish(const PublishFields& fields, std::span<const std::byte> body) {
        if (body.size() <= message_limit_ &&
            frame_length(fields.options.size(), body.size()) <= frame_max()) {
            auto claim = try_claim(fields, static_cast<std::uint32_t>(body.size()));
            if (!claim) return std::unexpected(claim.error());
            copy_in(claim->body, body);
            commit(*claim);
            return position_;
        }
        const PublishItem item{fields, body};
        return try_publish_batch({&item, 1});
    }

    // All of them or none (F8). The flag kFrameMore is set here.
    std::expected<P, ClaimError> try_publish_batch(std::span<const PublishItem> items) {
        if (!is_batch_possible(items)) return std::unexpected(ClaimError::too_large);
        const P end = simulate(items);
        if (used(end, position_) > free_space(capacity_, position_, persisted_) &&
            used(end, position_) > free_space(capacity_, position_, refresh())) {
            return std::unexpected(ClaimError::would_block);
        }
        for (std::size_t i = 0; i < items.size(); ++i) {
            const bool more = i + 1 < items.size() || (items[i].fields.flags & kFrameMore) != 0;
            write_message(items[i], more);
        }
        return position_;
    }

    // The largest body that fits into one frame beside options of this size; larger ones go in fragments.
    std::uint64_t frame_body_max(std::size_t options_size) const {
        const std::uint64_t taken = kSubmitHeaderSize + options_size;
        return taken >= frame_max() ? 0 : frame_max() - taken;
    }

 private:
    std::uint64_t frame_max() const { return frame_size_max(capacity_); }

    static std::uint64_t frame_length(std::size_t options_size, std::uint64_t size) {
        return round_up<std::uint64_t>(kSubmitHeaderSize + options_size + size, kFrameAlignment);
    }

    static void copy_in(std::byte* to, std::span<const std::byte> from) {
        if (!from.empty()) std::memcpy(to, from.data(), from.size());
    }

    // Calls piece(size, is_first, is_last) for each frame of a message.
    template <class Piece>
    void for_each_piece(const PublishItem& item, Piece&& piece) const {
        std::uint64_t left = item.body.size();
        std::size_t options_size = item.fields.options.size();
        bool first = true;
        do {
            const std::uint64_t size = std::min(left, frame_body_max(options_size));
            left -= size;
            piece(static_cast<std::uint32_t>(size), first, left == 0);
            first = false;
            options_size = 0;
        } while (left > 0);
    }

    bool is_batch_possible(std::span<const PublishItem> items) const {
        std::uint64_t body_sum = 0;
        std::uint64_t footprint = 0;
        for (const PublishItem& item : items) {
            if (item.fields.options.size() > UINT16_MAX || item.body.size() > message_limit_) return false;
            if (frame_body_max(item.fields.options.size()) < kFrameAlignment) return false;
            body_sum += item.body.size();
            bool with_options = true;
            for_each_piece(item, [&](std::uint32_t size, bool, bool) {
                footprint += frame_length(with_options ? item.fields.options.size() : 0, size);
                with_options = false;
            });
            if (body_sum > message_limit_ || footprint > batch_footprint_max(capacity_)) return false;
        }
        return !items.empty();
    }

    // Where the last frame of these would end.
    P simulate(std::span<const PublishItem> items) const {
        P at = position_;
        for (const PublishItem& item : items) {
            for_each_piece(item, [&](std::uint32_t size, bool first, bool) {
                const auto length = frame_length(first ? item.fields.options.size() : 0, size);
                at = place<P>(capacity_, at, static_cast<P>(length)).end;
            });
        }
        return at;
    }

    void write_message(const PublishItem& item, bool more) {
        const auto total = static_cast<std::uint32_t>(item.body.size());
        const bool whole = frame_length(item.fields.options.size(), total) <= frame_max();
        std::size_t done = 0;
        for_each_piece(item, [&](std::uint32_t size, bool first, bool last) {
            PublishFields fields = item.fields;
            if (!first) fields.options = {};
            std::uint8_t flags = fields.flags & kFrameResend;
            if (more) flags |= kFrameMore;
            if (!whole)
                flags =
                    static_cast<std::uint8_t>(flags | (first ? kFrameFirst : 0) | (last ? kFrameLast : 0));
            const auto length = static_cast<P>(frame_length(fields.options.size(), size));
            const Claim claim = begin_frame(place<P>(capacity_, position_, length), fields, size, total,
                                            whole ? FrameType::publish : FrameType::fragment, flags);
            copy_in(claim.body, item.body.subspan(done, size));
            done += size;
            commit(claim);
        });
    }

    Claim begin_frame(const Placement<P>& placement, const PublishFields& fields, std::uint32_t size,
                      std::uint32_t total, FrameType type, std::uint8_t flags) {
        if (placement.padding != 0) {
            SubmitHeader* padding = header_at(position_);
            padding->size = static_cast<std::uint32_t>(placement.padding - kSubmitHeaderSize);
            padding->type = static_cast<std::uint8_t>(FrameType::padding);
            padding->flags = 0;
            padding->options_size = 0;
            commit({padding, nullptr, position_, placement.start});
        }
        SubmitHeader* header = header_at(placement.start);
        header->number = fields.number;
        header->previous = fields.previous;
        header->size = size;
        header->topic = fields.topic;
        header->total_size = total;
        header->publisher = fields.publisher;
        header->options_size = static_cast<std::uint16_t>(fields.options.size());
        header->type = static_cast<std::uint8_t>(type);
        header->flags = flags;
        header->reserved = 0;
        std::byte* after = reinterpret_cast<std::byte*>(header) + kSubmitHeaderSize;
        copy_in(after, fields.options);
        return {header, after + fields.options.size(), placement.start, placement.end};
    }

    SubmitHeader* header_at(P position) {
        return reinterpret_cast<SubmitHeader*>(ring_ + offset_of(position, capacity_));
    }

    std::byte* ring_;
    P capacity_;
    std::uint64_t key_;
    std::uint32_t message_limit_;
    const std::uint64_t* mark_;
    P position_;
    P persisted_;
    Violation violation_;
};

using SubmitWriter = BasicSubmitWriter<>;

}  // namespace pinnace::shm
