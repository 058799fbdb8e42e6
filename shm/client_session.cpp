// SPDX-License-Identifier: Apache-2.0
#include "shm/client_session.h"

#include <poll.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

namespace pinnace::shm {

namespace {

constexpr std::size_t kEventsMax = 4096;

template <class Entry>
Entry* entries_at(const Mapping& mapping, std::uint64_t offset) {
    return reinterpret_cast<Entry*>(mapping.data() + offset);
}

// Time left until a deadline (-1: none); never less than 0.
std::int64_t time_left(std::int64_t deadline_ns) {
    return deadline_ns < 0 ? -1 : std::max<std::int64_t>(0, deadline_ns - monotonic_ns());
}

std::int64_t deadline_after(std::int64_t timeout_ns) {
    return timeout_ns < 0 ? -1 : monotonic_ns() + std::min(timeout_ns, INT64_MAX / 2);
}

}  // namespace

ClientSession::ClientSession(const ClientOptions& options, Parts parts, ClientSession* former)
    : wait_mode_(options.wait_mode),
      parts_(std::move(parts)),
      submit_(former != nullptr ? former->submit_ : SubmitWriter(nullptr, 0, 0, 0, nullptr)),
      acks_(former != nullptr ? former->acks_ : AckWriter(nullptr, 0, nullptr)),
      deliveries_(entries_at<const DeliveryEntry>(parts_.down, geometry().delivery_offset()),
                  geometry().delivery_count),
      answers_(entries_at<const AnswerEntry>(parts_.down, geometry().answer_offset()),
               geometry().answer_count),
      bell_(&control().dispatcher_sleep, parts_.wake.get(),
            parts_.welcome.wait_mode == static_cast<std::uint32_t>(WaitMode::spin)) {
    const auto limit = static_cast<std::uint32_t>(message_size_max());
    if (former != nullptr) {
        parts_.up = std::move(former->parts_.up);
        parts_.up_file = std::move(former->parts_.up_file);
        parts_.welcome.ring_key = former->parts_.welcome.ring_key;
        submit_.resume(limit, &marks().submit_persisted);
        acks_.resume(&marks().ack_read);
        published_ = former->published_;
    } else {
        submit_ = SubmitWriter(parts_.up.data() + geometry().submit_offset(), geometry().submit_capacity,
                               parts_.welcome.ring_key, limit, &marks().submit_persisted);
        acks_ = AckWriter(entries_at<AckEntry>(parts_.up, geometry().ack_offset()), geometry().ack_count,
                          &marks().ack_read);
    }
    if (is_consumer()) {
        log_ = std::make_unique<LogReader>(
            parts_.welcome.log,
            LogReader::Regions{parts_.log[0].data(), parts_.log[1].data(), parts_.log[2].data()},
            page().pins);
    }
}

ClientSession::~ClientSession() = default;

std::expected<std::uint64_t, ClientSession::PublishError> ClientSession::publish(
    std::span<const PublishItem> items, std::int64_t timeout_ns) {
    auto attempt = [&] {
        return items.size() == 1 ? submit_.try_publish(items.front().fields, items.front().body)
                                 : submit_.try_publish_batch(items);
    };
    auto result = attempt();
    if (!result && result.error() == ClaimError::would_block) {
        if (timeout_ns == 0) return std::unexpected(PublishError::would_block);
        const WaitResult waited = wait(
            [&] {
                // Cheap while the mark stands still: a failed attempt writes nothing.
                result = attempt();
                return result || result.error() == ClaimError::too_large;
            },
            timeout_ns);
        if (waited == WaitResult::timed_out) return std::unexpected(PublishError::timed_out);
        if (waited == WaitResult::disconnected) return std::unexpected(PublishError::disconnected);
    }
    if (!result) return std::unexpected(PublishError::too_large);
    note_published(*result);
    ring();
    return *result;
}

SubmitReader ClientSession::unpersisted() const {
    // Its own frames may be larger than what another engine's limit allows.
    const auto limit = static_cast<std::uint32_t>(geometry().submit_capacity / 2);
    return SubmitReader(parts_.up.data() + geometry().submit_offset(), geometry().submit_capacity,
                        parts_.welcome.ring_key, limit, submit_.persisted());
}

ReadStatus ClientSession::take(DeliveryEntry& entry) {
    const ReadStatus status = deliveries_.peek(entry);
    if (status != ReadStatus::ready) return status;
    if (log_ == nullptr || !log_->is_possible(LogPosition{entry.log_position}, entry.size)) {
        descriptor_violation_ = {ViolationKind::descriptor, deliveries_.index(), entry.log_position};
        return ReadStatus::violation;
    }
    log_->prefetch(LogPosition{entry.log_position});
    deliveries_.take();
    // Rule 17: the cursor is stored before the entry is handed over.
    deliveries_.publish_taken(page().delivery_taken);
    // A dispatcher that found the ring full may sleep: it learns of new room at every half.
    if ((deliveries_.index() & (geometry().delivery_count / 2 - 1)) == 0) ring();
    return ReadStatus::ready;
}

ReadStatus ClientSession::take(AnswerEntry& entry) {
    const ReadStatus status = answers_.peek(entry);
    if (status != ReadStatus::ready) return status;
    answers_.take();
    answers_.publish_taken(page().answer_taken);
    if ((answers_.index() & (geometry().answer_count / 2 - 1)) == 0) ring();
    return ReadStatus::ready;
}

void ClientSession::freeze() {
    store_relaxed(page().frozen,
                  std::uint64_t{1});  // relaxed: the request that tells of it goes through the kernel
}

bool ClientSession::try_acknowledge(std::span<AckEntry> entries) {
    if (entries.empty()) return true;
    if (entries.size() > ack_list_max()) return false;
    for (AckEntry& entry : entries) {
        entry.flags =
            static_cast<std::uint8_t>((entry.flags & ~kAckMore) | (&entry != &entries.back() ? kAckMore : 0));
        entry.submit_position = std::max(entry.submit_position, published_position());
    }
    if (!acks_.try_write(entries)) return false;
    ring();
    return true;
}

std::uint64_t ClientSession::submit_read() const {
    return shared(marks().submit_read).load(std::memory_order_acquire);  // pair: mark
}
std::uint64_t ClientSession::submit_persisted() const {
    return shared(marks().submit_persisted).load(std::memory_order_acquire);  // pair: persisted
}
std::uint64_t ClientSession::ack_read() const {
    return shared(marks().ack_read).load(std::memory_order_acquire);  // pair: taken
}
std::uint64_t ClientSession::ack_durable() const {
    return shared(marks().ack_durable).load(std::memory_order_acquire);  // pair: mark
}
SessionState ClientSession::state() const {
    return static_cast<SessionState>(shared(marks().state).load(std::memory_order_acquire));  // pair: mark
}

Violation ClientSession::violation() const {
    for (const Violation& violation : {submit_.violation(), acks_.violation(), deliveries_.violation(),
                                       answers_.violation(), descriptor_violation_}) {
        if (violation) return violation;
    }
    return {};
}

WaitResult ClientSession::wait_by(Predicate ready, std::int64_t timeout_ns) {
    const std::int64_t deadline = deadline_after(timeout_ns);
    Waiter waiter(wait_mode_);
    while (true) {
        if (ready()) return WaitResult::ready;
        if (is_disconnected()) return ready() ? WaitResult::ready : WaitResult::disconnected;
        if (waiter.idle()) {
            if (time_left(deadline) == 0) return WaitResult::timed_out;
            block(ready, deadline);
        } else if (waiter.idle_count() % 256 == 0) {
            // A spinning client looks at its sockets every so often: for hang-up, and for what the engine
            // says.
            if (time_left(deadline) == 0) return WaitResult::timed_out;
            if (waiter.idle_count() % 4096 == 0) look_at_sockets(0);
        }
    }
}

// One sleep, or less: the caller looks again. One thread polls for all; the others wait until it has looked.
void ClientSession::block(Predicate ready, std::int64_t deadline_ns) {
    std::unique_lock lock(sleep_mutex_);
    const std::uint64_t seen = poll_count_;
    lock.unlock();
    get_ready_to_sleep();
    if (ready()) return;
    lock.lock();
    // A ring after get_ready_to_sleep() moves the count past `seen`, whoever takes the byte.
    if (poll_count_ != seen) return;
    if (is_polled_) {
        auto was_polled = [&] { return poll_count_ != seen; };
        if (deadline_ns < 0) {
            sleep_done_.wait(lock, was_polled);
        } else {
            sleep_done_.wait_for(lock, std::chrono::nanoseconds(time_left(deadline_ns)), was_polled);
        }
        return;
    }
    is_polled_ = true;
    lock.unlock();
    look_at_sockets(time_left(deadline_ns));
    lock.lock();
    is_polled_ = false;
    ++poll_count_;
    sleep_done_.notify_all();
}

void ClientSession::get_ready_to_sleep() {
    shared(page().sleep_count).fetch_add(1, std::memory_order_relaxed);  // relaxed: the fence orders it
    full_fence();                                                        // pair: bell
}

void ClientSession::look_at_sockets(std::int64_t timeout_ns) {
    pollfd entries[2] = {{parts_.wake.get(), POLLIN, 0}, {parts_.socket.get(), POLLIN, 0}};
    timespec timeout{timeout_ns / 1'000'000'000, timeout_ns % 1'000'000'000};
    const int count = ppoll(entries, 2, timeout_ns < 0 ? nullptr : &timeout, nullptr);
    if (count <= 0) return;  // time over, or a signal: the caller looks again
    if (entries[0].revents != 0 && !drain(parts_.wake.get())) set_disconnected();
    if (entries[1].revents != 0) read_socket();
}

void ClientSession::read_socket() {
    std::unique_lock lock(socket_mutex_, std::try_to_lock);
    if (!lock.owns_lock()) {
        // A request is under way in another thread, which will read what came in a moment.
        sched_yield();
        return;
    }
    std::byte buffer[kMessageSizeOverall];
    while (true) {
        const Received received = receive_message(parts_.socket.get(), buffer);
        if (received.status == ReceiveStatus::would_block) return;
        PayloadHeader header;
        if (received.status != ReceiveStatus::message || received.size < sizeof(header))
            return set_disconnected();
        std::memcpy(&header, buffer, sizeof(header));
        // An answer that nobody waits for is one that came after its request's time-out.
        if (header.kind != static_cast<std::uint32_t>(MessageKind::event)) continue;
        keep_event({MessageKind::event, header.type, 0, {buffer + sizeof(header), buffer + received.size}});
    }
}

void ClientSession::keep_event(SocketMessage event) {
    const std::lock_guard lock(event_mutex_);
    if (events_.size() >= kEventsMax) return set_disconnected();
    events_.push_back(std::move(event));
}

bool ClientSession::next_event(SocketMessage& event) {
    const std::lock_guard lock(event_mutex_);
    if (events_.empty()) return false;
    event = std::move(events_.front());
    events_.pop_front();
    return true;
}

bool ClientSession::send_request(std::span<const std::byte> message, std::int64_t deadline_ns) {
    while (true) {
        const SendStatus status = send_message(parts_.socket.get(), message);
        if (status == SendStatus::sent) return true;
        if (status != SendStatus::would_block) {
            set_disconnected();
            return false;
        }
        pollfd entry{parts_.socket.get(), POLLOUT, 0};
        const std::int64_t left = time_left(deadline_ns);
        if (left == 0) return false;
        const timespec timeout{left / 1'000'000'000, left % 1'000'000'000};
        ppoll(&entry, 1, left < 0 ? nullptr : &timeout, nullptr);
    }
}

std::expected<SocketMessage, ClientSession::RequestError> ClientSession::request(
    std::uint32_t type, std::span<const std::byte> payload, std::int64_t timeout_ns) {
    if (payload.size() > kPayloadSizeMax)
        return std::unexpected(RequestError{false, "the request is too large"});
    const std::int64_t deadline = deadline_after(timeout_ns);
    const std::lock_guard lock(socket_mutex_);
    const PayloadHeader header{static_cast<std::uint32_t>(MessageKind::request), type, ++request_id_};
    std::byte buffer[kMessageSizeOverall];
    std::memcpy(buffer, &header, sizeof(header));
    if (!payload.empty()) std::memcpy(buffer + sizeof(header), payload.data(), payload.size());
    const bool is_sent = send_request({buffer, sizeof(header) + payload.size()}, deadline);
    while (is_sent && wait_readable(parts_.socket.get(), deadline)) {
        const Received received = receive_message(parts_.socket.get(), buffer);
        if (received.status == ReceiveStatus::would_block) continue;
        PayloadHeader answer;
        if (received.status != ReceiveStatus::message || received.size < sizeof(answer)) {
            set_disconnected();
            break;
        }
        std::memcpy(&answer, buffer, sizeof(answer));
        SocketMessage message{static_cast<MessageKind>(answer.kind),
                              answer.type,
                              answer.id,
                              {buffer + sizeof(answer), buffer + received.size}};
        if (message.kind == MessageKind::event) {
            keep_event(std::move(message));
        } else if (message.kind == MessageKind::answer && message.id == request_id_) {
            return message;
        }
    }
    if (is_disconnected()) return std::unexpected(RequestError{false, "the engine has gone"});
    return std::unexpected(RequestError{true, "the engine does not answer in time"});
}

}  // namespace pinnace::shm
