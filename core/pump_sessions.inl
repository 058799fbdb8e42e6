// SPDX-License-Identifier: Apache-2.0
// Pump's sessions: how they begin, end, subscribe and are detached. Part of core/pump.h.
#pragma once

namespace pinnace {

template <SessionPort Port, LogPort Log, Outside Out>
auto Pump<Port, Log, Out>::open_session(Port& port, std::uint32_t uid) -> SessionId {
    SessionId id = 0;
    while (id < sessions_.size() && (sessions_[id]->open || sessions_[id]->ending)) ++id;
    if (id == sessions_.size()) sessions_.push_back(std::make_unique<Session>());
    Session& s = session(id);
    s = Session{};
    s.port = &port;
    s.open = true;
    s.list.reserve(256);
    s.client = core_.open_client(uid);
    if (s.client >= session_of_client_.size()) session_of_client_.resize(s.client + 1, kNone);
    session_of_client_[s.client] = id;
    return id;
}

template <SessionPort Port, LogPort Log, Outside Out>
void Pump<Port, Log, Out>::end_session(SessionId id, bool cursor_believed) {
    Session& s = session(id);
    if (!s.open || s.ending) return;
    s.ending = true;
    s.cursor_believed = cursor_believed && !s.violated;
    ++ending_;
}

// True: the session is gone. False: something of it waits for room; tried again next turn.
template <SessionPort Port, LogPort Log, Outside Out>
bool Pump<Port, Log, Out>::try_end(SessionId id) {
    Session& s = session(id);
    if (!s.violated) {
        if (read_acks(id)) return false;
        for (Step step = Step::progress; step == Step::progress && !s.violated;) {
            std::uint32_t copy_left = limits_.copy_size_max_per_turn;
            step = read_frame(id, copy_left);
            if (step == Step::blocked) return false;
        }
    }
    if (!log_.room_for_verbs(s.port->ack_capacity())) return false;
    release(id);
    return true;
}

template <SessionPort Port, LogPort Log, Outside Out>
void Pump<Port, Log, Out>::release(SessionId id) {
    Session& s = session(id);
    std::vector<Untaken> untaken;
    if (s.cursor_believed && !s.violated) s.port->untaken(kNone, untaken);
    for (SubscriptionId i = 0; i < subscriptions_.size(); ++i) {
        if (subscriptions_[i].session == id) drop_pending(i, untaken);
    }
    for (const Assembly::Part& part : s.assembly.parts()) log_.abandon(part.log, part.size);
    core_.end_client(s.client, untaken);
    end_step();
    if (!s.marks.empty()) --waiting_marks_;
    session_of_client_[s.client] = kNone;
    std::ranges::replace(owner_of_publisher_, id, kNone);
    --ending_;
    s = Session{};
    out_.ended(id);
}

template <SessionPort Port, LogPort Log, Outside Out>
void Pump<Port, Log, Out>::drop_pending(SubscriptionId id, std::vector<Untaken>& untaken) {
    Subscription& subscription = subscriptions_[id];
    while (!subscription.pending.empty()) {
        const PendingDeliveries::Entry& entry = subscription.pending.front();
        const Delivery& d = entry.delivery;
        if (!entry.again) untaken.push_back({d.queue, d.position, d.lease, d.handle});
        if (entry.again) refuse_again(subscription.session, entry.asked, d.queue, d.position);
        leave_pending(subscription);
    }
    subscription.session = kNone;
}

template <SessionPort Port, LogPort Log, Outside Out>
void Pump<Port, Log, Out>::violation(SessionId id, std::string_view why) {
    Session& s = session(id);
    if (s.violated) return;
    s.violated = true;
    progress_ = true;
    out_.violation(id, why);
}

template <SessionPort Port, LogPort Log, Outside Out>
std::optional<std::uint64_t> Pump<Port, Log, Out>::bind_publisher(SessionId id, PublisherId publisher) {
    if (publisher >= owner_of_publisher_.size()) owner_of_publisher_.resize(publisher + 1, kNone);
    const SessionId owner = owner_of_publisher_[publisher];
    if (owner != kNone && owner != id) {
        Session& old = session(owner);
        for (Step step = Step::progress; step == Step::progress && !old.violated;) {
            std::uint32_t copy_left = limits_.copy_size_max_per_turn;
            step = read_frame(owner, copy_left);
            if (step == Step::blocked) return std::nullopt;
        }
    }
    owner_of_publisher_[publisher] = id;
    return core_.highest_number(publisher);
}

template <SessionPort Port, LogPort Log, Outside Out>
std::expected<Subscribed, RequestError> Pump<Port, Log, Out>::subscribe(SessionId id,
                                                                        SubscribeRequest request) {
    Session& s = session(id);
    refresh_ring(s);
    if (s.violated) return std::unexpected(RequestError{Answer::bad_request, "the session is detached"});
    if (auto error = beyond_limits(id, true, request.filter)) return std::unexpected(*error);
    request.client = s.client;
    auto answer = core_.subscribe(request);
    end_step();
    if (answer) subscription(answer->subscription, id);
    return answer;
}

template <SessionPort Port, LogPort Log, Outside Out>
auto Pump<Port, Log, Out>::subscription(SubscriptionId id, SessionId session) -> Subscription& {
    if (id >= subscriptions_.size()) subscriptions_.resize(id + 1);
    subscriptions_[id].session = session;
    return subscriptions_[id];
}

template <SessionPort Port, LogPort Log, Outside Out>
std::expected<Subscribed, RequestError> Pump<Port, Log, Out>::replace(SessionId id,
                                                                      const ReplaceRequest& request) {
    if (!owns(id, request.subscription)) {
        return std::unexpected(RequestError{Answer::bad_request, "no such subscription of this session"});
    }
    if (auto error =
            beyond_limits(id, false, request.filter != nullptr ? *request.filter : std::string_view()))
        return std::unexpected(*error);
    auto answer = core_.replace(request);
    end_step();
    return answer;
}

template <SessionPort Port, LogPort Log, Outside Out>
std::expected<Pulled, RequestError> Pump<Port, Log, Out>::pull(SessionId id, PullRequest request) {
    Session& s = session(id);
    if (request.subscription != kNone && !owns(id, request.subscription)) {
        return std::unexpected(RequestError{Answer::bad_request, "no such subscription of this session"});
    }
    refresh_ring(s);
    if (s.violated) return std::unexpected(RequestError{Answer::bad_request, "the session is detached"});
    const bool is_new = request.subscription == kNone;
    if (auto error = beyond_limits(id, is_new, request.filter)) return std::unexpected(*error);
    request.client = s.client;
    auto answer = core_.pull(request);
    end_step();
    if (answer) subscription(answer->subscription, id);
    return answer;
}

template <SessionPort Port, LogPort Log, Outside Out>
std::expected<std::uint64_t, RequestError> Pump<Port, Log, Out>::verbs_where(SessionId id,
                                                                             VerbWhereRequest request,
                                                                             Slice& slice) {
    if (auto error = beyond_limits(id, false, request.filter)) return std::unexpected(*error);
    request.client = session(id).client;
    auto answer = core_.verbs_where(request, slice);
    end_step();
    return answer;
}

// What one client may ask of memory and time that all share.
template <SessionPort Port, LogPort Log, Outside Out>
std::optional<RequestError> Pump<Port, Log, Out>::beyond_limits(SessionId id, bool is_new,
                                                                std::string_view filter) const {
    if (filter.size() > limits_.filter_size_max) {
        return RequestError{Answer::bad_filter, "the filter is longer than " +
                                                    std::to_string(limits_.filter_size_max) + " bytes"};
    }
    const auto held = std::ranges::count(subscriptions_, id, &Subscription::session);
    if (is_new && static_cast<std::uint64_t>(held) >= limits_.subscription_count_max) {
        return RequestError{
            Answer::bad_request,
            "a session may have " + std::to_string(limits_.subscription_count_max) + " subscriptions"};
    }
    return std::nullopt;
}

template <SessionPort Port, LogPort Log, Outside Out>
bool Pump<Port, Log, Out>::unsubscribe(SessionId id, SubscriptionId subscription) {
    if (!owns(id, subscription)) return false;
    Session& s = session(id);
    std::vector<Untaken> untaken;
    s.port->untaken(subscription, untaken);
    drop_pending(subscription, untaken);
    core_.unsubscribe(subscription, untaken);
    end_step();
    return true;
}

template <SessionPort Port, LogPort Log, Outside Out>
void Pump<Port, Log, Out>::subscription_ended(SubscriptionId subscription, std::string_view) {
    if (subscription >= subscriptions_.size() || subscriptions_[subscription].session == kNone) return;
    const SessionId id = subscriptions_[subscription].session;
    while (!subscriptions_[subscription].pending.empty()) leave_pending(subscriptions_[subscription]);
    subscriptions_[subscription].session = kNone;
    Session& s = session(id);
    if (!answers_fit(s, 1)) return violation(id, "it reads neither deliveries nor answers");
    answer(id, {.kind = AnswerEntry::Kind::subscription_ended, .id = subscription});
}

// Nobody reads the answers of a session that is ending; those that do not fit are dropped.
template <SessionPort Port, LogPort Log, Outside Out>
bool Pump<Port, Log, Out>::answers_fit(const Session& s, std::size_t count) const {
    return s.ending || s.port->answer_room(static_cast<std::uint32_t>(count)) >= count;
}

template <SessionPort Port, LogPort Log, Outside Out>
void Pump<Port, Log, Out>::answer(SessionId id, const AnswerEntry& entry) {
    Session& s = session(id);
    if (s.port->answer_room(1) == 0) return;
    s.port->answer(entry);
    out_.touched(id);
}

// Learns from the client's cursor how many entries of its delivery ring are free.
template <SessionPort Port, LogPort Log, Outside Out>
void Pump<Port, Log, Out>::refresh_ring(Session& s) {
    const auto unwritten = s.port->ring_free();
    if (!unwritten) return violation(session_of_client_[s.client], "its delivery cursor is out of range");
    const std::uint32_t ring_free = *unwritten - std::min(*unwritten, s.places);
    if (ring_free == s.ring_free) return;
    s.ring_free = ring_free;
    core_.set_ring_free(s.client, s.ring_free);
    end_step();
}

template <SessionPort Port, LogPort Log, Outside Out>
bool Pump<Port, Log, Out>::has_input() const {
    return std::ranges::any_of(sessions_,
                               [](const auto& s) { return s->open && !s->violated && s->port->has_input(); });
}

template <SessionPort Port, LogPort Log, Outside Out>
void Pump<Port, Log, Out>::drain() {
    for (SessionId id = 0; id < sessions_.size(); ++id) {
        Session& s = session(id);
        if (!s.open || s.violated || read_acks(id)) continue;
        for (Step step = Step::progress; step == Step::progress && !s.violated;) {
            std::uint32_t copy_left = limits_.copy_size_max_per_turn;
            step = read_frame(id, copy_left);
        }
        report(id);
    }
    log_.publish();
}

template <SessionPort Port, LogPort Log, Outside Out>
void Pump<Port, Log, Out>::stop() {
    for (SessionId id = 0; id < sessions_.size(); ++id) {
        if (sessions_[id]->open) end_session(id, sessions_[id]->port->frozen());
    }
    for (SessionId id = 0; id < sessions_.size(); ++id) {
        if (sessions_[id]->ending) release(id);
    }
    core_.stop();
    end_step();
    log_.publish();
}

}  // namespace pinnace
