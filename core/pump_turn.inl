// SPDX-License-Identifier: Apache-2.0
// Pump's turn: acknowledgments, time, submissions, cold bodies, and what is told to clients. Part of
// core/pump.h.
#pragma once

namespace pinnace {

template <SessionPort Port, LogPort Log, Outside Out>
bool Pump<Port, Log, Out>::turn(Time now) {
    progress_ = false;
    blocked_ = false;
    // Commands of the acknowledgment rings happen just before whatever falls due by `now` (rule 9): moving
    // there changes nothing but the clock.
    const Time before_due = std::min(now, core_.next_due() - 1);
    if (before_due > core_.now()) core_.advance(before_due);
    bool held = false;
    for (SessionId id = 0; id < sessions_.size(); ++id) {
        if (sessions_[id]->open && !sessions_[id]->violated) held = read_acks(id) || held;
    }
    if (!held) advance(now);
    blocked_ = blocked_ || held;

    const std::size_t count = sessions_.size();
    for (std::size_t i = 0; i < count; ++i) {
        const auto id = static_cast<SessionId>((first_session_ + i) % count);
        if (sessions_[id]->open && !sessions_[id]->violated) blocked_ = read_submissions(id) || blocked_;
    }
    if (count != 0) first_session_ = (first_session_ + 1) % count;

    serve_reads();
    log_.publish();
    for (SessionId id = 0; id < count; ++id) {
        if (sessions_[id]->touched_ring) report(id);
        if (sessions_[id]->open && sessions_[id]->ring_free < limits_.ring_low) refresh_ring(*sessions_[id]);
    }
    tell_durable();
    if (ending_ != 0) {
        for (SessionId id = 0; id < sessions_.size(); ++id) {
            if (sessions_[id]->ending && try_end(id)) progress_ = true;
        }
        log_.publish();
    }
    return progress_;
}

template <SessionPort Port, LogPort Log, Outside Out>
void Pump<Port, Log, Out>::advance(Time now) {
    // Each instant is a step of its own, so that a long pause does not make one huge step.
    while (core_.next_due() <= now) {
        if (!log_.room_for_verbs(1)) {  // the journal takes what there is first; time waits for it (rule 9)
            blocked_ = true;
            return;
        }
        core_.advance(std::max(core_.next_due(), core_.now()));
        end_step();
        progress_ = true;
    }
    if (now > core_.now()) core_.advance(now);
}

// True: this session's acknowledgments could not be read to the frontier for want of room, so time must not
// pass.
template <SessionPort Port, LogPort Log, Outside Out>
bool Pump<Port, Log, Out>::read_acks(SessionId id) {
    Session& s = session(id);
    AckEntry entry;
    for (std::uint32_t budget = s.port->ack_capacity(); budget != 0; --budget) {
        const Next next = s.port->peek_ack(entry);
        if (next == Next::none) return false;
        if (next == Next::violation) return violation(id, "its acknowledgment ring holds rubbish"), false;
        if (entry.submit_position > s.port->submit_position()) {
            const Step step = read_submissions_to(id, entry.submit_position);
            if (s.violated || step == Step::unread) return false;
            if (step == Step::blocked) return true;
            if (step == Step::idle && entry.submit_position > s.port->submit_position()) {
                return violation(id, "an acknowledgment names a submit position that was never written"),
                       false;
            }
        }
        if (s.list.size() >= s.port->answer_capacity()) {
            return violation(id, "a list of acknowledgments is longer than its ring of answers"), false;
        }
        // Who does not read answers is not read: that is the holder's own affair, and time does not wait
        // for it.
        if (!answers_fit(s, s.list.size() + 1)) return false;
        if (!log_.room_for_verbs(static_cast<std::uint32_t>(s.list.size() + 1))) return true;
        s.port->take_ack();
        s.touched_ring = true;
        progress_ = true;
        entry.request.client = s.client;
        if (entry.reread) {
            reread(id, entry.request);
            if (!entry.more) continue;
            return violation(id, "a reread stands inside a list of acknowledgments"), false;
        }
        s.list.push_back(entry.request);
        if (entry.more && s.list.size() >= s.port->ack_capacity()) {
            return violation(id, "a list of acknowledgments is longer than its ring"), false;
        }
        if (!entry.more) apply_list(id);
    }
    return false;
}

template <SessionPort Port, LogPort Log, Outside Out>
void Pump<Port, Log, Out>::apply_list(SessionId id) {
    Session& s = session(id);
    answers_.resize(s.list.size());
    core_.verbs(s.list, answers_);
    end_step();
    const std::uint64_t first = s.port->ack_count() - s.list.size();
    for (std::size_t i = 0; i < answers_.size(); ++i) {
        if (answers_[i] == Answer::ok) continue;
        answer(id, {.kind = AnswerEntry::Kind::verb,
                    .answer = answers_[i],
                    .id = first + i,
                    .queue = s.list[i].queue,
                    .position = s.list[i].position});
    }
    s.list.clear();
}

template <SessionPort Port, LogPort Log, Outside Out>
bool Pump<Port, Log, Out>::read_submissions(SessionId id) {
    Session& s = session(id);
    std::uint32_t copy_left = limits_.copy_size_max_per_turn;
    for (std::uint32_t i = 0; i < limits_.frame_count_max_per_turn && copy_left != 0 && !s.violated; ++i) {
        const Step step = read_frame(id, copy_left);
        if (step != Step::progress) return step == Step::blocked;
        progress_ = true;
    }
    return false;
}

template <SessionPort Port, LogPort Log, Outside Out>
auto Pump<Port, Log, Out>::read_submissions_to(SessionId id, std::uint64_t position) -> Step {
    Session& s = session(id);
    std::uint32_t copy_left = limits_.copy_size_max_per_turn;
    while (s.port->submit_position() < position) {
        if (copy_left == 0) return Step::blocked;  // a large body: the rest comes next turn
        const Step step = read_frame(id, copy_left);
        if (s.violated || step != Step::progress) return step;
        progress_ = true;
    }
    return Step::progress;
}

template <SessionPort Port, LogPort Log, Outside Out>
auto Pump<Port, Log, Out>::read_frame(SessionId id, std::uint32_t& copy_left) -> Step {
    Session& s = session(id);
    Assembly& assembly = s.assembly;
    if (assembly.complete()) return apply_publish(id);  // it had to wait
    if (!s.frame_loaded) {
        const Next next = s.port->peek_submit(s.frame);
        if (next == Next::none) return Step::idle;
        if (next == Next::violation) return violation(id, "its submit ring holds rubbish"), Step::idle;
        if (s.frame.first == assembly.message_open() || s.frame.options.size() > kOptionBytesMax ||
            assembly.byte_count() + (s.frame.first ? s.frame.message_size : 0) > limits_.message_size_max) {
            return violation(id, "a frame does not fit the message that it belongs to"), Step::idle;
        }
        if (is_plain(s.frame) && assembly.empty() && s.frame.body.size() <= copy_left)
            return publish_plain(id, copy_left);
        if (s.frame.first) {
            if (assembly.parts().size() >= s.port->answer_capacity()) {
                return violation(id, "a publish has more messages than its ring of answers has places"),
                       Step::idle;
            }
            if (!answers_fit(s, assembly.parts().size() + 1)) return Step::unread;
            if (!log_.room_for_submission()) return Step::blocked;
            const auto at = log_.allocate(s.frame.message_size);
            if (!at) return Step::blocked;
            if (!assembly.begin_message(s.frame, *at)) {
                log_.abandon(*at, s.frame.message_size);
                return violation(id, "a publish has malformed options"), Step::idle;
            }
        }
        s.frame_loaded = true;
    }
    const std::size_t size = std::min<std::size_t>(assembly.frame_left(s.frame), copy_left);
    if (assembly.copied() + size > assembly.parts().back().size) {
        return violation(id, "the pieces of a message are longer than the message"), Step::idle;
    }
    const std::span<const std::byte> piece = s.frame.body.subspan(assembly.frame_copied(), size);
    log_.write(assembly.parts().back().log, assembly.copied(), piece);
    assembly.copied_more(size);
    copy_left -= static_cast<std::uint32_t>(size);
    if (assembly.frame_left(s.frame) != 0) return Step::progress;
    s.frame_loaded = false;
    s.port->take_submit();
    s.touched_ring = true;
    if (!assembly.end_frame(s.frame)) {
        return violation(id, "the pieces of a message do not add up to its size"), Step::idle;
    }
    return assembly.complete() ? apply_publish(id) : Step::progress;
}

// The ordinary publish: one message, whole in its frame, without options.
template <SessionPort Port, LogPort Log, Outside Out>
auto Pump<Port, Log, Out>::publish_plain(SessionId id, std::uint32_t& copy_left) -> Step {
    Session& s = session(id);
    const SubmitFrame& frame = s.frame;
    const std::uint32_t size = frame.message_size;
    if (!answers_fit(s, 1)) return Step::unread;
    if (!log_.room_for_submission()) return Step::blocked;
    const auto at = log_.allocate(size);
    if (!at) return Step::blocked;
    log_.write(*at, 0, frame.body);
    log_.finish(*at, core_.now(), size, frame.topic);
    copy_left -= size;
    s.touched_ring = true;

    PublishMessage message;
    message.topic = frame.topic;
    message.body = {*at, size, log_.body(*at)};
    const PublishRequest request{.messages = {&message, 1},
                                 .to_queue = {},
                                 .publisher = frame.publisher,
                                 .number = frame.number,
                                 .previous = frame.previous,
                                 .resend = frame.resend};
    PublishResult result{Answer::fenced, 0};
    if (owns_publisher(id, frame.publisher)) {
        late_.expect();
        core_.publish(request, {&result, 1});
        late_.dismiss();
        end_step();
    }
    if (result.answer == Answer::would_block) {  // the message waits, taken out of its ring
        const bool whole = s.assembly.begin_message(frame, *at);
        s.assembly.copied_more(size);
        PINNACE_CHECK(whole && s.assembly.end_frame(frame));
        s.port->take_submit();
        return Step::blocked;
    }
    s.port->take_submit();
    if (result.answer == Answer::ok) return Step::progress;
    log_.abandon(*at, size);
    answer(id, {.kind = AnswerEntry::Kind::publish,
                .answer = result.answer,
                .id = frame.number,
                .submit_position = frame.position,
                .publisher = frame.publisher,
                .position = result.position});
    return Step::progress;
}

template <SessionPort Port, LogPort Log, Outside Out>
auto Pump<Port, Log, Out>::apply_publish(SessionId id) -> Step {
    Session& s = session(id);
    const auto parts = s.assembly.parts();
    const PublisherId publisher = s.assembly.publisher();
    PublishRequest request;
    gather_messages(s.assembly, request);
    results_.assign(parts.size(), {});
    if (!owns_publisher(id, publisher)) {
        std::ranges::fill(results_, PublishResult{Answer::fenced, 0});
    } else {
        request.publisher = publisher;
        request.number = s.assembly.number();
        request.previous = s.assembly.previous();
        request.resend = s.assembly.resend();
        core_.publish(request, results_);
        end_step();
    }
    if (results_[0].answer == Answer::would_block) return Step::blocked;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const Assembly::Part& part = parts[i];
        const bool recorded = results_[i].answer == Answer::ok || results_[i].stored;
        if (!recorded) log_.abandon(part.log, part.size);
        const bool wanted = part.options_size != 0 && s.assembly.options(part).answer;
        if (results_[i].answer == Answer::ok && !wanted) continue;
        answer(id, {.kind = AnswerEntry::Kind::publish,
                    .answer = results_[i].answer,
                    .id = part.number,
                    .submit_position = part.submit_position,
                    .publisher = publisher,
                    .position = results_[i].position});
    }
    s.assembly.clear();
    s.touched_ring = true;
    return Step::progress;
}

template <SessionPort Port, LogPort Log, Outside Out>
void Pump<Port, Log, Out>::gather_messages(const Assembly& assembly, PublishRequest& request) {
    messages_.clear();
    for (const Assembly::Part& part : assembly.parts()) {
        log_.finish(part.log, core_.now(), part.size, part.topic);
        PublishMessage message;
        message.topic = part.topic;
        message.body = {part.log, part.size, log_.body(part.log)};
        if (part.options_size != 0) {
            const PublishOptions options = assembly.options(part);
            message.expiration = options.expiration;
            message.delay = options.delay;
            message.group = options.group;
            message.dedup = options.dedup;
            if (options.to_queue < core_.queue_count()) request.to_queue = core_.queue_name(options.to_queue);
        }
        messages_.push_back(message);
    }
    request.messages = messages_;
}

template <SessionPort Port, LogPort Log, Outside Out>
void Pump<Port, Log, Out>::report(SessionId id) {
    Session& s = session(id);
    s.touched_ring = false;
    const std::uint64_t acks = s.port->ack_count() - s.list.size();
    s.port->mark_read(s.port->submit_position(), acks);
    // A publish that is still being put together becomes durable as a whole later on: its frames stay in
    // the ring.
    if (!s.assembly.empty()) return;
    if (s.marks.empty()) ++waiting_marks_;
    s.marks.add({log_.appended(), s.port->submit_position(), acks});
    if (log_.appended() <= told_durable_) tell_durable(id);
}

template <SessionPort Port, LogPort Log, Outside Out>
void Pump<Port, Log, Out>::tell_durable(SessionId id) {
    Session& s = session(id);
    const auto mark = s.marks.take(told_durable_);
    if (!mark) return;
    if (s.marks.empty()) --waiting_marks_;
    s.port->mark_durable(mark->submit_position, mark->ack_count);
    out_.touched(id);
}

template <SessionPort Port, LogPort Log, Outside Out>
void Pump<Port, Log, Out>::tell_durable() {
    const RecordIndex durable = log_.durable();
    if (durable == told_durable_) return;
    told_durable_ = durable;
    progress_ = true;
    core_.durable(durable);
    end_step();
    log_.publish();
    for (SessionId id = 0; waiting_marks_ != 0 && id < sessions_.size(); ++id) {
        if (!sessions_[id]->marks.empty()) tell_durable(id);
    }
}

template <SessionPort Port, LogPort Log, Outside Out>
bool Pump<Port, Log, Out>::deliver(const Delivery& delivery) {
    const SessionId id = session_of_client_[delivery.client];
    Session& s = session(id);
    Subscription& to = subscription(delivery.subscription, id);
    progress_ = true;
    // The core has made sure of room, but for what is no lease: a barrier goes to every subscription (B2).
    const bool has_room = s.ring_free != 0;
    PINNACE_CHECK(has_room || delivery.lease == 0);
    if (has_room) --s.ring_free;
    const bool resident = log_.resident(delivery.body.log, delivery.body.size);
    if (resident && has_room && to.pending.empty()) {
        s.port->deliver(delivery, false);
        out_.touched(id);
        return true;
    }
    PendingDeliveries::Entry entry;
    entry.delivery = delivery;
    entry.state = resident ? PendingDeliveries::State::ready : PendingDeliveries::State::wanted;
    entry.log = delivery.body.log;
    entry.needs_room = !has_room;
    wait_for_body(delivery.subscription, entry);
    return false;
}

template <SessionPort Port, LogPort Log, Outside Out>
void Pump<Port, Log, Out>::wait_for_body(SubscriptionId id, const PendingDeliveries::Entry& entry) {
    Subscription& subscription = subscriptions_[id];
    subscription.pending.push(entry);
    if (!entry.needs_room) ++session(subscription.session).places;
    if (!subscription.listed) pending_.push_back(id);
    subscription.listed = true;
}

template <SessionPort Port, LogPort Log, Outside Out>
void Pump<Port, Log, Out>::reread(SessionId id, const VerbRequest& request) {
    Session& s = session(id);
    const std::uint64_t asked = s.port->ack_count() - 1;
    const auto delivery = core_.current_delivery(request);
    if (!delivery || !owns(id, delivery->subscription)) {
        return refuse_again(id, asked, request.queue, request.position);
    }
    refresh_ring(s);
    if (s.violated) return;
    PendingDeliveries::Entry entry;
    entry.delivery = *delivery;
    entry.again = true;
    entry.asked = asked;
    entry.needs_room = s.ring_free == 0;
    std::uint32_t& again_count = subscriptions_[delivery->subscription].again_count;
    if (entry.needs_room && again_count >= limits_.again_count_max) {
        return violation(id, "it asks for bodies again and takes none");
    }
    if (entry.needs_room) {
        ++again_count;
    } else {
        --s.ring_free;
        core_.set_ring_free(s.client, s.ring_free);
    }
    wait_for_body(delivery->subscription, entry);
}

// The lease is over, or the body cannot be read: nothing more comes.
template <SessionPort Port, LogPort Log, Outside Out>
void Pump<Port, Log, Out>::refuse_again(SessionId id, std::uint64_t asked, QueueId queue, Position position) {
    answer(id, {.kind = AnswerEntry::Kind::verb,
                .answer = Answer::stale,
                .id = asked,
                .queue = queue,
                .position = position});
}

// For the first pending delivery, which found the ring full. False: it is full still.
template <SessionPort Port, LogPort Log, Outside Out>
bool Pump<Port, Log, Out>::take_place(Subscription& subscription) {
    Session& s = session(subscription.session);
    PendingDeliveries::Entry& entry = subscription.pending.front();
    if (s.ring_free == 0) refresh_ring(s);
    if (s.ring_free == 0 || s.violated) return false;
    --s.ring_free;
    ++s.places;
    core_.set_ring_free(s.client, s.ring_free);
    end_step();
    entry.needs_room = false;
    if (entry.again) --subscription.again_count;
    return true;
}

// The first pending delivery is written, or will not be.
template <SessionPort Port, LogPort Log, Outside Out>
void Pump<Port, Log, Out>::leave_pending(Subscription& subscription) {
    const PendingDeliveries::Entry& entry = subscription.pending.front();
    if (!entry.needs_room) --session(subscription.session).places;
    if (entry.needs_room && entry.again) --subscription.again_count;
    subscription.pending.pop();
}

template <SessionPort Port, LogPort Log, Outside Out>
void Pump<Port, Log, Out>::give_back_place(Session& s) {
    ++s.ring_free;
    core_.set_ring_free(s.client, s.ring_free);
    end_step();
}

template <SessionPort Port, LogPort Log, Outside Out>
void Pump<Port, Log, Out>::serve_reads() {
    using State = PendingDeliveries::State;
    while (const auto done = log_.next_read()) {
        const auto id = static_cast<SubscriptionId>(done->token >> 32);
        auto* entry = subscriptions_[id].pending.find(static_cast<std::uint32_t>(done->token));
        if (entry == nullptr || entry->state != State::asked) continue;  // its subscription has ended
        entry->state = done->readable ? State::ready : State::unreadable;
        entry->log = done->log;
    }
    if (pending_.empty()) return;
    pending_before_.swap(pending_);
    for (const SubscriptionId id : pending_before_) {
        subscriptions_[id].listed = false;
        flush(id);
        PendingDeliveries& pending = subscriptions_[id].pending;
        if (!pending.empty() && pending.front().needs_room &&
            pending.count() - subscriptions_[id].again_count >= limits_.barrier_count_max) {
            violation(subscriptions_[id].session,
                      "it lets too many barrier messages wait for room in its ring");
        }
        ask_for_bodies(id);
        if (subscriptions_[id].pending.empty() || subscriptions_[id].listed) continue;
        subscriptions_[id].listed = true;
        pending_.push_back(id);
    }
    pending_before_.clear();
}

template <SessionPort Port, LogPort Log, Outside Out>
void Pump<Port, Log, Out>::flush(SubscriptionId id) {
    while (!subscriptions_[id].pending.empty() && flush_one(id)) {
    }
}

// False: the first pending delivery has to wait, for its body or for room.
template <SessionPort Port, LogPort Log, Outside Out>
bool Pump<Port, Log, Out>::flush_one(SubscriptionId id) {
    using State = PendingDeliveries::State;
    Subscription& subscription = subscriptions_[id];
    PendingDeliveries::Entry& first = subscription.pending.front();
    if (first.state < State::ready) return false;
    if (first.state == State::ready && !log_.resident(first.log, first.delivery.body.size)) {
        first.state = State::wanted;  // lapped while it waited
        return false;
    }
    if (first.needs_room && !take_place(subscription)) return false;
    PendingDeliveries::Entry entry = first;
    const SessionId session_id = subscription.session;
    leave_pending(subscription);
    progress_ = true;
    Delivery& d = entry.delivery;
    bool wanted = entry.state == State::ready;
    if (!wanted && d.lease != 0) core_.unreadable(d);
    if (wanted && entry.again) {
        const auto now =
            core_.current_delivery({Verb::none, d.client, d.queue, d.position, d.lease, d.handle, 0});
        wanted = now.has_value();
        if (now) d.deadline = now->deadline;
    } else if (wanted && d.lease != 0) {
        const auto deadline = core_.visible(d, entry.log);
        wanted = deadline.has_value();
        if (deadline) d.deadline = *deadline;
    }
    end_step();
    if (!wanted) {
        if (entry.again) refuse_again(session_id, entry.asked, d.queue, d.position);
        give_back_place(session(session_id));
        return true;
    }
    d.body.log = entry.log;
    session(session_id).port->deliver(d, entry.again);
    out_.touched(session_id);
    return true;
}

template <SessionPort Port, LogPort Log, Outside Out>
void Pump<Port, Log, Out>::ask_for_bodies(SubscriptionId id) {
    using State = PendingDeliveries::State;
    PendingDeliveries& pending = subscriptions_[id].pending;
    for (std::uint32_t number = pending.first(); number != pending.end(); ++number) {
        PendingDeliveries::Entry& entry = *pending.find(number);
        if (entry.state != State::wanted) continue;
        const std::uint64_t token = (std::uint64_t{id} << 32) | number;
        const Delivery& d = entry.delivery;
        if (!log_.request_read({token, d.body_position, d.body.size, d.published, d.topic})) return;
        entry.state = State::asked;
    }
}

}  // namespace pinnace
