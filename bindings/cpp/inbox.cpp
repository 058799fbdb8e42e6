// SPDX-License-Identifier: Apache-2.0
#include "bindings/cpp/inbox.h"

#include <fmt/format.h>

#include <algorithm>

#include "bindings/cpp/session.h"

namespace pinnace::client {

std::expected<std::shared_ptr<Subscription>, Error> Inbox::subscribe(std::string_view target,
                                                                     const SubscribeOptions& options) {
    if (!session_.shm().is_consumer()) {
        return error(ErrorCode::bad_request, "this connection was opened for publishing only");
    }
    auto subscription =
        std::make_shared<Subscription>(std::string(target), options.max_backlog, std::string(options.filter));
    for (;;) {
        if (const auto connected = session_.ensure(Deadline(kForever)); !connected) {
            return std::unexpected(connected.error());
        }
        const auto sent = send_subscribe(*subscription);
        if (sent) break;
        if (sent.error().code != ErrorCode::disconnected) return std::unexpected(sent.error());
        session_.lose();
    }
    subscriptions_.push_back(subscription);
    return subscription;
}

std::expected<void, Error> Inbox::send_subscribe(Subscription& subscription) {
    protocol::WireWriter payload;
    payload.put(std::string_view(subscription.target()));
    payload.put(subscription.wanted()).put(std::string_view(subscription.filter()));
    const auto answer =
        session_.request_once(protocol::RequestKind::subscribe, payload, std::chrono::seconds(10));
    if (!answer) return std::unexpected(answer.error());
    protocol::WireReader in(*answer);
    const auto id = in.get<std::uint32_t>();
    const auto limit = in.get<std::uint64_t>();
    if (!in.done()) return error(ErrorCode::broken, "the engine's answer to subscribe is malformed");
    subscription.set(id, limit);
    return {};
}

std::expected<void, Error> Inbox::unsubscribe(Subscription& subscription) {
    if (!subscription.is_open()) return error(ErrorCode::closed, "unsubscribed already");
    subscription.close();
    std::expected<void, Error> result;
    if (!session_.is_down() && !subscription.failure() && subscription.id() != UINT32_MAX) {
        // Nothing is taken from here on until the engine has looked at the cursor (L11).
        protocol::WireWriter payload;
        payload.put(subscription.id());
        const auto answer =
            session_.request_once(protocol::RequestKind::unsubscribe, payload, std::chrono::seconds(10));
        // An engine that has gone has taken everything back by itself.
        if (!answer && answer.error().code != ErrorCode::disconnected)
            result = std::unexpected(answer.error());
        // The id may be given out again: what still lies in the ring under it goes before that.
        if (answer) {
            if (const auto drained = fill(subscription, 0); !drained) result = drained;
        }
    }
    remove(subscription);
    return result;
}

void Inbox::remove(const Subscription& subscription) {
    std::erase_if(subscriptions_, [&](const auto& other) { return other.get() == &subscription; });
}

Subscription* Inbox::find(std::uint32_t id) const {
    for (const auto& subscription : subscriptions_) {
        if (subscription->id() == id && subscription->is_open()) return subscription.get();
    }
    return nullptr;
}

bool Inbox::has_views() const {
    return std::ranges::any_of(subscriptions_, [](const auto& s) { return s->has_views(); });
}

std::expected<std::span<const Message>, Error> Inbox::take(Subscription& subscription, std::size_t max,
                                                           Timeout timeout) {
    subscription.reset();
    std::optional<Deadline> deadline;
    for (;;) {
        if (const auto filled = fill(subscription, max); !filled) return std::unexpected(filled.error());
        if (!subscription.messages().empty()) return subscription.messages();
        session_.look();
        if (!session_.is_usable()) return std::unexpected(session_.why_unusable());
        if (session_.shm().has_answer()) {
            session_.collect();
            // It may say that a body does not come, which held back those behind it.
            subscription.hand_ready(max);
            if (!subscription.messages().empty()) return subscription.messages();
        }
        if (subscription.failure()) return std::unexpected(*subscription.failure());
        if (!subscription.is_open()) return error(ErrorCode::closed, "unsubscribed");
        if (!deadline) deadline.emplace(timeout);
        const bool waits_for_body = subscription.has_pending();
        const Deadline until = waits_for_body ? Deadline(Timeout(deadline->left_ns(50'000'000))) : *deadline;
        const auto ready = session_.wait(
            [&] { return session_.shm().has_delivery() || session_.shm().has_answer(); }, until);
        if (!ready) return std::unexpected(ready.error());
        if (!*ready && deadline->is_over()) return subscription.messages();
        if (waits_for_body) {
            if (const auto looked = look_after(subscription); !looked) return std::unexpected(looked.error());
        }
    }
}

// Hands over up to `max` messages of this subscription; what comes in between for others is kept for them.
std::expected<void, Error> Inbox::fill(Subscription& subscription, std::size_t max) {
    subscription.hand_ready(max);
    // An engine that has gone delivers them again: it, or the next one.
    if (session_.is_down()) return {};
    shm::DeliveryEntry entry;
    while (max == 0 || subscription.messages().size() < max) {
        const shm::ReadStatus status = session_.shm().take(entry);
        if (status == shm::ReadStatus::nothing) return {};
        if (status == shm::ReadStatus::violation) {
            session_.fail(ErrorCode::broken, "the engine: " + session_.shm().violation().text());
            return std::unexpected(session_.why_unusable());
        }
        const bool is_ours = entry.subscription == subscription.id() && subscription.is_open();
        Subscription* to = is_ours ? &subscription : find(entry.subscription);
        if (to == nullptr) continue;
        const auto accepted = accept(*to, entry, is_ours);
        // The engine went away in between: it has these messages still, and delivers them again.
        if (!accepted && accepted.error().code == ErrorCode::disconnected) return {};
        if (!accepted) return accepted;
        if (is_ours && subscription.has_pending()) subscription.hand_ready(max);
    }
    return {};
}

std::expected<void, Error> Inbox::accept(Subscription& subscription, const shm::DeliveryEntry& entry,
                                         bool is_wanted) {
    const shm::LogReader& log = session_.shm().log();
    shm::BodyStatus status = shm::BodyStatus::ok;
    if ((entry.flags & shm::kDeliveryAgain) != 0) {
        status = subscription.fill(log, entry);
        if (status == shm::BodyStatus::gone) return ask_again(subscription, entry, {});
    } else {
        if (entry.topic != named_topic_ || entry.queue != named_queue_) {
            if (const auto named = name(entry); !named) return named;
        }
        const bool at_once = is_wanted && !subscription.has_pending();
        status = at_once ? subscription.hand(log, entry, names_) : subscription.keep(log, entry, names_);
        if (status == shm::BodyStatus::gone) return ask_again(subscription, entry, names_);
    }
    if (status != shm::BodyStatus::violation) return {};
    session_.fail(ErrorCode::broken, "the engine named a body outside of its log");
    return std::unexpected(session_.why_unusable());
}

// Makes `names_` the names of this delivery's ids.
std::expected<void, Error> Inbox::name(const shm::DeliveryEntry& entry) {
    const auto topic = session_.topic_name(entry.topic);
    if (!topic) return std::unexpected(topic.error());
    std::string_view queue;  // of a plain topic's message: none (T4)
    if (entry.queue != kNone) {
        const auto found = session_.queue_name(entry.queue);
        if (!found) return std::unexpected(found.error());
        queue = *found;
    }
    names_ = {*topic, queue};
    named_topic_ = entry.topic;
    named_queue_ = entry.queue;
    return {};
}

std::expected<void, Error> Inbox::ask_again(Subscription& subscription, const shm::DeliveryEntry& entry,
                                            const Subscription::Names& names) {
    if (entry.lease == 0) return {};  // nobody may ask for it a second time
    shm::AckEntry ask;
    ask.verb = shm::kVerbBodyAgain;
    ask.position = entry.position;
    ask.lease = entry.lease;
    ask.queue = entry.queue;
    ask.handle = entry.handle;
    ask.subscription = entry.subscription;
    const auto number = write({&ask, 1});
    if (!number) return std::unexpected(number.error());
    subscription.wait_for_body(entry, names, *number, now_ns());
    return {};
}

// A body that does not come: the lease is over, or will be handed back.
std::expected<void, Error> Inbox::look_after(Subscription& subscription) {
    const auto late = subscription.drop_late(now_ns());
    if (!late) return {};
    const auto number = verb(Verb::cancel, {&*late, 1}, 0);
    if (!number) return std::unexpected(number.error());
    return {};
}

void Inbox::end_subscription(std::uint32_t id) {
    if (Subscription* subscription = find(id)) {
        subscription->fail({ErrorCode::ended, "the engine ended the subscription"});
    }
}

}  // namespace pinnace::client
