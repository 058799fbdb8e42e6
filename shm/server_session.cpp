// SPDX-License-Identifier: Apache-2.0
#include "shm/server_session.h"

#include <cstring>

namespace pinnace::shm {

bool SessionSocket::receive(SocketMessage& request) {
    if (is_closed_ || violation_) return false;
    std::byte buffer[kMessageSizeOverall];
    const Received received = receive_message(socket_.get(), buffer);
    switch (received.status) {
        case ReceiveStatus::would_block:
            return false;
        case ReceiveStatus::closed:
        case ReceiveStatus::failed:
            is_closed_ = true;
            return false;
        case ReceiveStatus::truncated:
        case ReceiveStatus::descriptors_lost:
            violation_ = {ViolationKind::message, 0, received.size};
            return false;
        case ReceiveStatus::message:
            break;
    }
    PayloadHeader header;
    if (received.size < sizeof(header) || !received.descriptors.empty()) {
        violation_ = {ViolationKind::message, 0, received.size};
        return false;
    }
    std::memcpy(&header, buffer, sizeof(header));
    if (header.kind != static_cast<std::uint32_t>(MessageKind::request)) {
        violation_ = {ViolationKind::message, 1, header.kind};
        return false;
    }
    request.kind = MessageKind::request;
    request.type = header.type;
    request.id = header.id;
    request.payload.assign(buffer + sizeof(header), buffer + received.size);
    return true;
}

void SessionSocket::send(MessageKind kind, std::uint32_t type, std::uint64_t id,
                         std::span<const std::byte> payload) {
    if (is_closed_ || violation_) return;
    std::vector<std::byte> bytes(sizeof(PayloadHeader) + payload.size());
    const PayloadHeader header{static_cast<std::uint32_t>(kind), type, id};
    std::memcpy(bytes.data(), &header, sizeof(header));
    if (!payload.empty()) std::memcpy(bytes.data() + sizeof(header), payload.data(), payload.size());
    if (outbox_.size() >= kOutboxMax) {
        violation_ = {ViolationKind::message, 2, outbox_.size()};
        outbox_.clear();
        return;
    }
    outbox_.push_back(std::move(bytes));
    flush();
}

void SessionSocket::flush() {
    while (!outbox_.empty()) {
        switch (send_message(socket_.get(), outbox_.front())) {
            case SendStatus::sent:
                outbox_.pop_front();
                break;
            case SendStatus::would_block:
                return;
            case SendStatus::closed:
            case SendStatus::failed:
                is_closed_ = true;
                outbox_.clear();
                return;
        }
    }
}

namespace {

template <class Entry>
Entry* entries_at(const Mapping& mapping, std::uint64_t offset) {
    return reinterpret_cast<Entry*>(mapping.data() + offset);
}

}  // namespace

ServerSession::ServerSession(ServerSessionParts parts)
    : parts_(std::move(parts)),
      submit_(parts_.up.data() + parts_.geometry.submit_offset(), parts_.geometry.submit_capacity,
              parts_.ring_key, static_cast<std::uint32_t>(parts_.message_size_max), parts_.submit_start),
      acks_(entries_at<const AckEntry>(parts_.up, parts_.geometry.ack_offset()), parts_.geometry.ack_count,
            parts_.ack_start),
      deliveries_(entries_at<DeliveryEntry>(parts_.down, parts_.geometry.delivery_offset()),
                  parts_.geometry.delivery_count, &client_page().delivery_taken),
      answers_(entries_at<AnswerEntry>(parts_.down, parts_.geometry.answer_offset()),
               parts_.geometry.answer_count, &client_page().answer_taken),
      bell_(&client_page().sleep_count, parts_.wake.get()),
      socket_(std::move(parts_.socket)) {
    MarksPage& page = marks();
    store_relaxed(page.submit_read, parts_.submit_start);  // relaxed: the client looks only after `admitted`
    store_relaxed(page.submit_persisted, parts_.submit_start);
    store_relaxed(page.ack_read, parts_.ack_start);
    store_relaxed(page.ack_durable, parts_.ack_start);
    publish_state(SessionState::running, 0);
}

Violation ServerSession::violation() const {
    for (const Violation& violation :
         {submit_.violation(), acks_.violation(), deliveries_.violation(), answers_.violation()}) {
        if (violation) return violation;
    }
    return {};
}

}  // namespace pinnace::shm
