// SPDX-License-Identifier: Apache-2.0
#include "tests/bindings/cpp/fake_engine.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

namespace pinnace::client {

void FakeEngine::start() {
    is_dying_ = is_stopping_ = is_ready_ = false;
    thread_ = std::thread([this] { run(); });
    while (!is_ready_) sched_yield();
}

void FakeEngine::die() {
    is_dying_ = true;
    if (thread_.joinable()) thread_.join();
}

void FakeEngine::stop() {
    is_stopping_ = true;
    if (thread_.joinable()) thread_.join();
}

void FakeEngine::look(const std::function<void()>& call) {
    {
        const std::lock_guard lock(call_mutex_);
        call_ = call;
    }
    for (;;) {
        const std::lock_guard lock(call_mutex_);
        if (!call_) return;
        sched_yield();
    }
}

void FakeEngine::run() {
    shm::EngineOptions options;
    options.epoch = ++store_.epoch;
    options.wait_mode = shm::WaitMode::spin;
    options.message_size_max = 1u << 20;
    options.log = shm::LogGeometry{{1u << 16, 32}, {1u << 20, 8}, {1u << 20, 4}, options.message_size_max};
    options.memory = {false, false};
    auto regions = shm::EngineRegions::create(options);
    ASSERT_TRUE(regions) << regions.error();
    regions_ = std::move(*regions);
    admission_ = std::make_unique<shm::Admission>(*regions_, shm::AdmissionLimits{});
    auto listener = shm::Listener::create(path_);
    ASSERT_TRUE(listener) << listener.error();
    listener_ = std::make_unique<shm::Listener>(std::move(*listener));
    messages_.clear();
    position_ = 0;
    for (const FakeMessage& message : store_.messages) {
        position_ = std::max(position_, message.position);
        if (!message.is_acknowledged) messages_.push_back(message);
    }
    highest_ = store_.highest;
    is_ready_ = true;
    while (!is_dying_) {
        turn();
        if (is_stopping_) {
            admission_->stop();
            shm::shared(regions_->control().stopping).store(1, std::memory_order_release);  // pair: stopping
            for (const auto& session : sessions_) static_cast<void>(session->session->bell().ring());
            const bool all_frozen =
                std::ranges::all_of(sessions_, [](const auto& s) { return s->session->is_frozen(); });
            if (all_frozen) break;
        }
        sched_yield();
    }
    if (!is_dying_) {
        turn();
        make_durable();
    }
    sessions_.clear();
    handshakes_.clear();
    listener_.reset();
    admission_.reset();
    regions_.reset();
}

void FakeEngine::turn() {
    {
        const std::lock_guard lock(call_mutex_);
        if (call_) call_();
        call_ = nullptr;
    }
    admit();
    for (const auto& session : sessions_) {
        serve(*session);
        if (!reads) continue;
        read_verbs(*session);
        read_submissions(*session);
        read_verbs(*session);
        session->session->publish_read_marks();
    }
    if (delivers) deliver();
    if (!holds_marks) make_durable();
    shm::full_fence();
    for (const auto& session : sessions_) {
        if (session->session->bell().should_ring()) static_cast<void>(session->session->bell().ring());
    }
    std::erase_if(sessions_, [&](const auto& session) {
        if (!session->session->socket().is_closed()) return false;
        session->session->deliveries().refresh();
        if (session->session->is_frozen()) {
            untaken_count += static_cast<int>(session->session->deliveries().written() -
                                              session->session->deliveries().taken());
        }
        return true;
    });
}

// Looks at the hello without taking it.
bool FakeEngine::is_refused(int socket) {
    shm::HelloMessage hello;
    while (recv(socket, &hello, sizeof hello, MSG_PEEK) < 0) sched_yield();
    if ((hello.flags & shm::kHelloAdopt) == 0) return false;
    shm::RefusedMessage message;
    message.kind = static_cast<std::uint32_t>(shm::MessageKind::refused);
    message.reason = static_cast<std::uint32_t>(shm::RefusalReason::adoption);
    shm::send_message(socket, shm::bytes_of(message));
    return true;
}

void FakeEngine::admit() {
    std::string error;
    while (auto socket = listener_->accept(error)) {
        if (refuses_adoption && is_refused(socket->get())) continue;
        handshakes_.push_back(std::make_unique<shm::ServerHandshake>(std::move(*socket), *admission_));
    }
    for (auto& handshake : handshakes_) {
        const auto state = handshake->step();
        if (state == shm::ServerHandshake::State::done) {
            auto session = std::make_unique<Session>();
            session->session = handshake->take_session();
            session->session->publish_state(shm::SessionState::running, 0);
            sessions_.push_back(std::move(session));
        }
        if (state == shm::ServerHandshake::State::done || state == shm::ServerHandshake::State::failed) {
            handshake.reset();
        }
    }
    std::erase(handshakes_, nullptr);
}

void FakeEngine::read_submissions(Session& session) {
    shm::SubmitReader& ring = session.session->submit();
    shm::SubmitFrame frame;
    while (ring.peek(frame) == shm::ReadStatus::ready) {
        session.partial.append(reinterpret_cast<const char*>(frame.body), frame.header.size);
        ring.take(frame);
        if (!frame.is_last) continue;
        const std::string body = std::exchange(session.partial, {});
        const std::uint64_t number = frame.header.number;
        read_numbers.push_back(number);
        std::uint64_t& highest = highest_[frame.header.publisher];
        Answer answer = Answer::ok;
        if (frame.header.publisher != session.publisher) {
            answer = Answer::fenced;
        } else if (number <= highest) {
            answer = Answer::duplicate;
        } else if (frame.header.previous != UINT64_MAX && frame.header.previous > highest) {
            answer = Answer::gap;
        } else if (refused_numbers.contains(number)) {
            answer = Answer::bad_group;
        }
        if (answer != Answer::ok) {
            shm::AnswerEntry entry;
            entry.number = number;
            entry.publisher = frame.header.publisher;
            entry.kind = static_cast<std::uint16_t>(shm::AnswerKind::publish);
            entry.answer = static_cast<std::uint16_t>(answer);
            session.session->answers().try_write(entry);
            continue;
        }
        highest = number;
        FakeMessage& message = messages_.emplace_back();
        message.position = ++position_;
        message.number = number;
        message.publisher = frame.header.publisher;
        message.body = body;
        message.is_resent = (frame.header.flags & shm::kFrameResend) != 0;
    }
    if (ring.violation()) ADD_FAILURE() << ring.violation().text();
}

FakeMessage* FakeEngine::find(std::uint64_t position) {
    const auto found = std::ranges::find(messages_, position, &FakeMessage::position);
    return found == messages_.end() ? nullptr : &*found;
}

void FakeEngine::read_verbs(Session& session) {
    shm::AckEntry entry;
    shm::AckReader& ring = session.session->acks();
    while (session.session->peek_ack(entry) == shm::ReadStatus::ready) {
        if (!shm::is_due(entry, session.session->submit().position())) break;
        apply(session, entry);
        ring.take(entry);
    }
    if (ring.violation()) ADD_FAILURE() << ring.violation().text();
}

void FakeEngine::apply(Session& session, const shm::AckEntry& entry) {
    verbs.push_back({entry.position, entry.verb});
    FakeMessage* message = find(entry.position);
    const auto lease = session.leased.find(entry.position);
    if (entry.verb == shm::kVerbBodyAgain) {
        if (bodies_refused > 0) {
            --bodies_refused;
            return tell(session, entry, Answer::stale);
        }
        for (Subscription& subscription : session.subscriptions) {
            if (message != nullptr && lease != session.leased.end() && subscription.id == lease->second) {
                deliver(session, subscription, *message, true);
            }
        }
        return;
    }
    const bool is_acknowledge = entry.verb == static_cast<std::uint8_t>(Verb::acknowledge);
    Answer answer = Answer::ok;
    if (message == nullptr || message->is_acknowledged) {
        answer = Answer::unknown;
    } else if (!is_acknowledge && lease == session.leased.end()) {
        answer = Answer::stale;
    } else {
        message->is_acknowledged = is_acknowledge;
        if (lease != session.leased.end()) {
            for (Subscription& subscription : session.subscriptions) {
                if (subscription.id == lease->second) --subscription.held;
            }
            session.leased.erase(lease);
        }
    }
    if (answer != Answer::ok) tell(session, entry, answer);
}

// What became of the verb that is read now.
void FakeEngine::tell(Session& session, const shm::AckEntry& entry, Answer answer) {
    shm::AnswerEntry told;
    told.number = session.session->acks().index();
    told.position = entry.position;
    told.kind = static_cast<std::uint16_t>(shm::AnswerKind::acknowledgment);
    told.answer = static_cast<std::uint16_t>(answer);
    session.session->answers().try_write(told);
}

void FakeEngine::deliver() {
    for (FakeMessage& message : messages_) {
        if (message.is_acknowledged) continue;
        const bool is_leased = std::ranges::any_of(
            sessions_, [&](const auto& session) { return session->leased.contains(message.position); });
        if (is_leased) continue;
        bool is_done = false;
        for (const auto& session : sessions_) {
            for (Subscription& subscription : session->subscriptions) {
                if (is_done || subscription.held >= subscription.limit) continue;
                ++subscription.held;
                ++message.count;
                session->leased[message.position] = subscription.id;
                deliver(*session, subscription, message, false);
                is_done = true;
            }
        }
        if (!is_done) return;
    }
}

void FakeEngine::deliver(Session& session, Subscription& subscription, FakeMessage& message, bool again) {
    shm::LogHeader header;
    header.published = 1'000 + static_cast<std::int64_t>(message.number);
    header.position = message.position;
    header.size = static_cast<std::uint32_t>(message.body.size());
    auto place = regions_->log().try_place(header);
    ASSERT_TRUE(place);
    std::memcpy(place->body, message.body.data(), message.body.size());
    regions_->log().settle(place->position, header.size, 0);
    shm::DeliveryEntry entry;
    entry.position = message.position;
    entry.lease = (std::uint64_t{store_.epoch} << 40) | message.position;
    entry.deadline = INT64_MAX;
    entry.log_position = place->position.bits;
    if (bodies_gone > 0) {
        --bodies_gone;
        entry.log_position += regions_->log().area(place->position.area()).geometry().data_size();
    }
    if (lies) entry.log_position = ~std::uint64_t{0};
    entry.size = header.size;
    entry.subscription = subscription.id;
    entry.queue = kQueue;
    entry.topic = kTopic;
    entry.count = message.count;
    entry.flags = again ? shm::kDeliveryAgain : std::uint16_t{0};
    ASSERT_TRUE(session.session->deliveries().try_write(entry));
}

void FakeEngine::make_durable() {
    for (FakeMessage& message : messages_) {
        const auto found = std::ranges::find(store_.messages, message.position, &FakeMessage::position);
        if (found == store_.messages.end()) {
            store_.messages.push_back(message);
        } else {
            *found = message;
        }
    }
    std::erase_if(messages_, [](const FakeMessage& message) { return message.is_acknowledged; });
    store_.highest = highest_;
    for (const auto& session : sessions_) {
        if (!session->session->submit().is_at_boundary()) continue;
        session->session->publish_persisted(session->session->submit().position());
        session->session->publish_ack_durable(session->session->acks().index());
    }
}

void FakeEngine::serve(Session& session) {
    shm::SocketMessage request;
    while (session.session->socket().receive(request)) {
        session.session->socket().send(shm::MessageKind::answer, request.type, request.id,
                                       answer(session, request));
    }
}

std::vector<std::byte> FakeEngine::answer(Session& session, const shm::SocketMessage& request) {
    protocol::WireReader in(request.payload);
    protocol::WireWriter out;
    const auto refuse = [&](Answer why) {
        out.put(static_cast<std::uint8_t>(why)).put(std::string_view("no"));
    };
    const auto ok = [&]() -> protocol::WireWriter& { return out.put(static_cast<std::uint8_t>(Answer::ok)); };
    switch (static_cast<protocol::RequestKind>(request.type)) {
        case protocol::RequestKind::resolve: {
            const auto name = in.get_text();
            if (name == "t" || name == "q") {
                ok().put(kTopic).put(name == "q" ? kQueue : UINT32_MAX);
            } else {
                refuse(Answer::unknown_topic);
            }
            break;
        }
        case protocol::RequestKind::open_publisher: {
            const std::string name(in.get_text());
            const auto found =
                store_.publishers.try_emplace(name, static_cast<std::uint32_t>(store_.publishers.size() + 3));
            session.publisher = found.first->second;
            ok().put(session.publisher).put(highest_[session.publisher]);
            break;
        }
        case protocol::RequestKind::subscribe: {
            const std::string_view target = in.get_text();
            if (target != "q") {
                refuse(Answer::unknown_topic);
                break;
            }
            const auto limit = in.get<std::uint64_t>();
            session.subscriptions.push_back({++subscription_, limit, 0});
            ok().put(subscription_).put(limit);
            break;
        }
        case protocol::RequestKind::replace: {
            const auto id = in.get<std::uint32_t>();
            given_at_replace = in.get<std::uint8_t>();
            target_at_replace = in.get_text();
            const auto limit = in.get<std::uint64_t>();
            for (Subscription& subscription : session.subscriptions)
                if (subscription.id == id) subscription.limit = limit;
            ok().put(id).put(limit);
            break;
        }
        case protocol::RequestKind::unsubscribe: {
            const auto id = in.get<std::uint32_t>();
            std::erase_if(session.subscriptions, [&](const Subscription& s) { return s.id == id; });
            std::erase_if(session.leased, [&](const auto& lease) { return lease.second == id; });
            ok();
            break;
        }
        case protocol::RequestKind::topic_name:
            ok().put(std::string_view("t"));
            break;
        case protocol::RequestKind::queue_name:
            ok().put(std::string_view("q"));
            break;
        case protocol::RequestKind::status:
            ok().put(std::string_view("{}"));
            break;
        default:
            ok();
    }
    return {out.bytes().begin(), out.bytes().end()};
}

}  // namespace pinnace::client
