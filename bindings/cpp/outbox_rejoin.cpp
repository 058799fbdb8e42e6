// SPDX-License-Identifier: Apache-2.0
// How what was not persisted gets to the next engine (rules 23, 24).
#include <algorithm>

#include "bindings/cpp/outbox.h"
#include "bindings/cpp/session.h"

namespace pinnace::client {

namespace {

// The frame's header in our own ring, which this process maps writable.
shm::SubmitHeader* header_of(const shm::SubmitFrame& frame) {
    const std::byte* at = frame.options - shm::kSubmitHeaderSize;
    return reinterpret_cast<shm::SubmitHeader*>(const_cast<std::byte*>(at));
}

}  // namespace

void Outbox::withhold(shm::ClientSession& former) {
    if (!is_open_) return;
    const std::uint64_t persisted = former.submit().refresh();
    if (withheld_.header != nullptr) {
        if (withheld_.position >= persisted) return;
        release();  // the former engine got that far after all
    }
    shm::SubmitReader reader = former.unpersisted();
    shm::SubmitFrame frame;
    Withheld first;
    while (reader.peek(frame) == shm::ReadStatus::ready) {
        shm::SubmitHeader* header = header_of(frame);
        if (first.header == nullptr) first = {header, shm::load_relaxed(header->commit), frame.position};
        // M1: it may have been accepted in the engine's former life.
        header->flags = static_cast<std::uint8_t>(header->flags | shm::kFrameResend);
        reader.take(frame);
    }
    withheld_ = first;
    // Relaxed: the next engine sees this memory after the hello, which goes through the kernel.
    if (first.header != nullptr) shm::store_relaxed(first.header->commit, std::uint64_t{0});
}

void Outbox::release() {
    if (withheld_.header == nullptr) return;
    shm::shared(withheld_.header->commit)
        .store(withheld_.commit, std::memory_order_release);  // pair: submitted
    withheld_ = {};
}

// An engine that died before the publisher's record was durable gives the name another id the next time.
// While the first commit word is away, nobody reads the frames behind it but us.
void Outbox::change_publisher(std::uint32_t id) {
    if (id == id_) return;
    id_ = id;
    for (Kept& kept : backlog_) kept.fields.publisher = id;
    if (withheld_.header == nullptr) return;
    const std::uint64_t capacity = session_.shm().geometry().submit_capacity;
    std::byte* ring =
        reinterpret_cast<std::byte*>(withheld_.header) - shm::offset_of(withheld_.position, capacity);
    const std::uint64_t key = withheld_.commit ^ (withheld_.position + 1);
    withheld_.header->publisher = id;
    const std::uint64_t length =
        shm::kSubmitHeaderSize + withheld_.header->options_size + withheld_.header->size;
    const std::uint64_t next =
        withheld_.position + shm::round_up<std::uint64_t>(length, shm::kFrameAlignment);
    // Frames behind the first one may be the rest of its message, which a reader that starts there would
    // refuse: this one only follows the sizes.
    for (std::uint64_t at = next; at != session_.shm().submit().position();) {
        auto* header = reinterpret_cast<shm::SubmitHeader*>(ring + shm::offset_of(at, capacity));
        if (header->commit != ((at + 1) ^ key)) return;
        header->publisher = id;
        at += shm::round_up<std::uint64_t>(shm::kSubmitHeaderSize + header->options_size + header->size,
                                           shm::kFrameAlignment);
    }
}

std::expected<void, Error> Outbox::rejoin(shm::ClientSession* former) {
    if (!is_open_) return {};
    if (former != nullptr) keep(*former);
    resent_ = number_;
    targets_.clear();
    last_name_.clear();
    protocol::WireWriter payload;
    payload.put(std::string_view(name_));
    const auto answer =
        session_.request_once(protocol::RequestKind::open_publisher, payload, std::chrono::seconds(10));
    if (!answer) return std::unexpected(answer.error());
    protocol::WireReader in(*answer);
    const auto id = in.get<std::uint32_t>();
    const auto highest = in.get<std::uint64_t>();
    if (!in.done()) return error(ErrorCode::broken, "the engine's answer to open_publisher is malformed");
    if (highest < stored_) {
        return error(ErrorCode::gap, "this engine does not know messages that were reported persisted");
    }
    change_publisher(id);
    release();
    session_.shm().ring();
    flush();
    return {};
}

// Copies what the former ring still holds out of it, in front of what waits already.
void Outbox::keep(const shm::ClientSession& former) {
    release();
    std::deque<Kept> messages;
    shm::SubmitReader reader = former.unpersisted();
    shm::SubmitFrame frame;
    while (reader.peek(frame) == shm::ReadStatus::ready) {
        const shm::SubmitHeader& header = frame.header;
        if (frame.is_first) {
            Kept& kept = messages.emplace_back();
            kept.fields.topic = header.topic;
            kept.fields.publisher = id_;
            kept.fields.number = header.number;
            kept.fields.previous = header.previous;
            kept.fields.flags = shm::kFrameResend;
            kept.options.assign(frame.options, frame.options + header.options_size);
        }
        Kept& kept = messages.back();
        kept.body.insert(kept.body.end(), frame.body, frame.body + header.size);
        kept.is_batch_end = frame.is_batch_end;
        reader.take(frame);
    }
    backlog_.insert(backlog_.begin(), std::make_move_iterator(messages.begin()),
                    std::make_move_iterator(messages.end()));
    sent_.clear();
}

bool Outbox::flush() {
    shm::SubmitWriter& ring = session_.shm().submit();
    bool wrote = false;
    while (!backlog_.empty()) {
        const auto last = std::ranges::find_if(backlog_, [](const Kept& kept) { return kept.is_batch_end; });
        const std::size_t count =
            static_cast<std::size_t>(last - backlog_.begin()) + (last == backlog_.end() ? 0 : 1);
        if (count == 0) break;
        std::vector<shm::PublishItem> items;
        for (std::size_t i = 0; i < count; ++i) {
            Kept& kept = backlog_[i];
            kept.fields.options = kept.options;
            items.push_back({kept.fields, kept.body});
        }
        const auto end = ring.try_publish_batch(items);
        if (!end && end.error() == shm::ClaimError::would_block) break;
        const std::uint64_t number = items.back().fields.number;
        if (end) {
            sent_.push({*end, number});
            session_.shm().note_published(*end);
            wrote = true;
        } else {
            // This engine's limits are narrower: the message is refused, as it would be if it were made now.
            take_answer({.number = number, .answer = static_cast<std::uint16_t>(Answer::too_large)});
        }
        backlog_.erase(backlog_.begin(), backlog_.begin() + static_cast<std::ptrdiff_t>(count));
    }
    if (wrote) session_.shm().ring();
    return backlog_.empty();
}

}  // namespace pinnace::client
