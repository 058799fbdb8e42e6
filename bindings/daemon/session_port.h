// SPDX-License-Identifier: Apache-2.0
// SessionPort: the pump's session port over the rings that a client and we share. What it hands on was
// loaded once and checked by the readers of shm/ (rule 3). Thread: the dispatcher.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "core/ports.h"
#include "shm/server_session.h"

namespace pinnace::daemon {

class SessionPort {
 public:
    explicit SessionPort(shm::ServerSession& session) : session_(session) {}

    shm::ServerSession& session() { return session_; }

    Next peek_submit(SubmitFrame& frame) {
        const Next next = as_next(session_.submit().peek(frame_));
        if (next != Next::ready) return next;
        const shm::SubmitHeader& header = frame_.header;
        frame.position = frame_.position;
        frame.number = header.number;
        frame.previous = header.previous;
        frame.message_size = header.total_size;
        frame.topic = header.topic;
        frame.publisher = header.publisher;
        frame.first = frame_.is_first;
        frame.last = frame_.is_last;
        frame.more = !frame_.is_batch_end;
        frame.resend = (header.flags & shm::kFrameResend) != 0;
        frame.options = {frame_.options, header.options_size};
        frame.body = {frame_.body, header.size};
        return Next::ready;
    }
    void take_submit() { session_.submit().take(frame_); }
    std::uint64_t submit_position() const { return session_.submit().position(); }

    Next peek_ack(AckEntry& entry) {
        const Next next = as_next(session_.peek_ack(ack_));
        if (next != Next::ready) return next;
        entry.reread = ack_.verb == shm::kVerbBodyAgain;
        entry.request.verb = entry.reread ? Verb::none : static_cast<Verb>(ack_.verb);
        entry.request.queue = ack_.queue;
        entry.request.position = ack_.position;
        entry.request.lease = ack_.lease;
        entry.request.handle = ack_.handle;
        entry.request.period = ack_.period;
        const bool unordered = (ack_.flags & shm::kAckUnordered) != 0;
        entry.submit_position = unordered ? 0 : ack_.submit_position;
        entry.more = (ack_.flags & shm::kAckMore) != 0;
        return Next::ready;
    }
    void take_ack() { session_.acks().take(ack_); }
    std::uint64_t ack_count() const { return session_.acks().index(); }
    std::uint32_t ack_capacity() const { return static_cast<std::uint32_t>(session_.geometry().ack_count); }

    std::uint32_t answer_capacity() const {
        return static_cast<std::uint32_t>(session_.geometry().answer_count);
    }
    std::uint32_t answer_room(std::uint32_t wanted) {
        shm::AnswerWriter& answers = session_.answers();
        if (answers.free_count() < std::max(wanted, kAnswerRoomLow)) answers.refresh();
        return static_cast<std::uint32_t>(answers.free_count());
    }
    void answer(const AnswerEntry& entry) {
        shm::AnswerEntry to;
        to.number = entry.id;
        to.submit_position = entry.submit_position;
        to.position = entry.position;
        to.publisher = entry.publisher;
        to.queue = entry.queue;
        to.kind = static_cast<std::uint16_t>(kind_of(entry.kind));
        to.answer = static_cast<std::uint16_t>(entry.answer);
        session_.answers().write(to);
    }

    void deliver(const Delivery& delivery, bool again) {
        session_.deliveries().write([&](shm::DeliveryEntry& to) {
            const bool barrier = delivery.lease == 0 && delivery.queue != kNone;
            to.position = delivery.position;
            to.lease = delivery.lease;
            to.deadline = delivery.deadline;
            to.log_position = delivery.body.log.bits;
            to.size = delivery.body.size;
            to.subscription = delivery.subscription;
            to.handle = delivery.handle;
            to.queue = delivery.queue;
            to.topic = delivery.topic;
            to.count = static_cast<std::uint16_t>(std::min(delivery.count, 65'535u));
            to.flags = static_cast<std::uint16_t>((again ? shm::kDeliveryAgain : 0) |
                                                  (barrier ? shm::kDeliveryBarrier : 0));
        });
    }
    std::optional<std::uint32_t> ring_free() {
        shm::DeliveryWriter& deliveries = session_.deliveries();
        deliveries.refresh();
        if (deliveries.violation()) return std::nullopt;
        return static_cast<std::uint32_t>(deliveries.free_count());
    }
    void untaken(SubscriptionId subscription, std::vector<Untaken>& untaken) {
        shm::DeliveryWriter& deliveries = session_.deliveries();
        deliveries.refresh();
        if (deliveries.violation()) return;
        for (std::uint64_t i = deliveries.taken(); i != deliveries.written(); ++i) {
            const shm::DeliveryEntry* entry = deliveries.untaken(i);
            if (entry == nullptr || entry->lease == 0 || (entry->flags & shm::kDeliveryAgain) != 0) continue;
            if (subscription != kNone && entry->subscription != subscription) continue;
            untaken.push_back({entry->queue, entry->position, entry->lease, entry->handle});
        }
    }
    bool frozen() const { return session_.is_frozen(); }
    bool has_input() const { return session_.submit().is_ready() || session_.acks().is_ready(); }

    void mark_read(std::uint64_t, std::uint64_t acks) {
        // Both marks go together; while a list is half read they wait for its end.
        if (acks == session_.acks().index()) session_.publish_read_marks();
    }
    void mark_durable(std::uint64_t submit, std::uint64_t acks) {
        session_.publish_persisted(submit);
        session_.publish_ack_durable(acks);
    }

 private:
    static constexpr std::uint32_t kAnswerRoomLow = 64;

    static Next as_next(shm::ReadStatus status) {
        switch (status) {
            case shm::ReadStatus::ready:
                return Next::ready;
            case shm::ReadStatus::nothing:
                return Next::none;
            case shm::ReadStatus::violation:
                break;
        }
        return Next::violation;
    }
    static shm::AnswerKind kind_of(AnswerEntry::Kind kind) {
        switch (kind) {
            case AnswerEntry::Kind::publish:
                return shm::AnswerKind::publish;
            case AnswerEntry::Kind::verb:
                return shm::AnswerKind::acknowledgment;
            case AnswerEntry::Kind::subscription_ended:
                break;
        }
        return shm::AnswerKind::subscription_ended;
    }

    shm::ServerSession& session_;
    shm::SubmitFrame frame_;
    shm::AckEntry ack_;
};

}  // namespace pinnace::daemon
