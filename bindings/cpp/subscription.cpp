// SPDX-License-Identifier: Apache-2.0
#include "bindings/cpp/subscription.h"

#include <algorithm>

namespace pinnace::client {

void Arena::next_chunk(std::size_t wanted) {
    while (chunk_ < chunks_.size() && chunks_[chunk_].size < wanted) ++chunk_;
    if (chunk_ == chunks_.size()) {
        const std::size_t size = std::max(wanted, kChunkSize);
        chunks_.push_back({std::make_unique_for_overwrite<std::byte[]>(size), size});
    }
    next_ = chunks_[chunk_].bytes.get();
    left_ = chunks_[chunk_].size;
    ++chunk_;
}

void Subscription::reset() {
    messages_.clear();
    arena_.reset();
    handed_.clear();
    for (std::size_t i = 0; i < view_count_; ++i) views_[i].release();
    view_count_ = 0;
}

Message& Subscription::append(const shm::DeliveryEntry& entry, const Names& names) {
    Message& message = messages_.emplace_back();
    message.lease_ = {entry.position, entry.lease, entry.queue, entry.handle, entry.subscription};
    message.topic_ = names.topic;
    message.queue_ = names.queue;
    message.deadline_ = entry.deadline;
    message.count_ = entry.count;
    return message;
}

shm::BodyStatus Subscription::hand(const shm::LogReader& log, const shm::DeliveryEntry& entry,
                                   const Names& names) {
    const LogPosition position{entry.log_position};
    if (entry.size > kCopySizeMax && view_count_ < views_.size()) {
        auto view = log.pin(position, entry.size);
        if (view) {
            Message& message = append(entry, names);
            shm::LogView& kept = views_[view_count_++];
            kept = std::move(*view);
            message.body_ = kept.body();
            message.published_ = kept.published();
            message.view_ = &kept;
            return shm::BodyStatus::ok;
        }
        if (view.error() != shm::BodyStatus::no_pin) return view.error();
    }
    const std::span<std::byte> body = arena_.allocate(entry.size);
    std::int64_t published = 0;
    const shm::BodyStatus status = log.copy(position, body, published);
    if (status != shm::BodyStatus::ok) return status;
    Message& message = append(entry, names);
    message.body_ = body;
    message.published_ = published;
    return status;
}

shm::BodyStatus Subscription::keep(const shm::LogReader& log, const shm::DeliveryEntry& entry,
                                   const Names& names) {
    Pending pending;
    pending.entry = entry;
    pending.names = names;
    pending.body.resize(entry.size);
    pending.is_ready = true;
    const shm::BodyStatus status = log.copy({entry.log_position}, pending.body, pending.published);
    if (status == shm::BodyStatus::ok) pending_.push_back(std::move(pending));
    return status;
}

void Subscription::wait_for_body(const shm::DeliveryEntry& entry, const Names& names,
                                 std::uint64_t again_number, std::int64_t now_ns) {
    const auto found = std::ranges::find_if(pending_, [&](const Pending& pending) {
        return pending.entry.position == entry.position && pending.entry.lease == entry.lease;
    });
    if (found != pending_.end()) {
        found->again_number = again_number;
        return;
    }
    Pending& pending = pending_.emplace_back();
    pending.entry = entry;
    pending.names = names;
    pending.again_number = again_number;
    pending.asked_at_ns = now_ns;
}

shm::BodyStatus Subscription::fill(const shm::LogReader& log, const shm::DeliveryEntry& entry) {
    for (Pending& pending : pending_) {
        if (pending.is_ready || pending.entry.position != entry.position ||
            pending.entry.lease != entry.lease) {
            continue;
        }
        pending.body.resize(entry.size);
        const shm::BodyStatus status = log.copy({entry.log_position}, pending.body, pending.published);
        pending.is_ready = status == shm::BodyStatus::ok;
        return status;
    }
    return shm::BodyStatus::ok;  // not waited for any more
}

void Subscription::hand_ready(std::size_t max) {
    while (messages_.size() < max && !pending_.empty() && pending_.front().is_ready) {
        Pending& pending = handed_.emplace_back(std::move(pending_.front()));
        pending_.pop_front();
        Message& message = append(pending.entry, pending.names);
        message.body_ = pending.body;  // stays where it is when the vector grows
        message.published_ = pending.published;
    }
}

bool Subscription::drop(std::uint64_t again_number) {
    return std::erase_if(pending_, [&](const Pending& pending) {
               return !pending.is_ready && pending.again_number == again_number;
           }) != 0;
}

std::optional<Lease> Subscription::drop_late(std::int64_t now_ns) {
    const auto found = std::ranges::find_if(pending_, [&](const Pending& pending) {
        return !pending.is_ready && now_ns - pending.asked_at_ns > kBodyWaitNs;
    });
    if (found == pending_.end()) return std::nullopt;
    const shm::DeliveryEntry& entry = found->entry;
    const Lease lease{entry.position, entry.lease, entry.queue, entry.handle, entry.subscription};
    pending_.erase(found);
    return lease;
}

}  // namespace pinnace::client
