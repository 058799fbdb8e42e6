// SPDX-License-Identifier: Apache-2.0
// Inbox's pulls (PL1), and replacing a subscription (R1).
#include <algorithm>
#include <thread>

#include "bindings/cpp/inbox.h"
#include "bindings/cpp/session.h"

namespace pinnace::client {
namespace {

constexpr std::int64_t kPauseMinNs = 1'000'000;
constexpr std::int64_t kPauseMaxNs = 20'000'000;
// How long a pulled message is waited for whose body has to be read first: its lease may be over meanwhile.
constexpr Timeout kBodyTimeout = std::chrono::seconds(10);

}  // namespace

std::shared_ptr<Subscription> Inbox::open_for_pulls(std::string_view queue, std::string_view filter) {
    auto subscription = std::make_shared<Subscription>(std::string(queue), 0, std::string(filter));
    subscription->set_only_pulls();
    subscriptions_.push_back(subscription);
    return subscription;
}

std::expected<std::span<const Message>, Error> Inbox::receive(Subscription& subscription,
                                                              std::string_view queue, std::size_t max,
                                                              Timeout timeout) {
    subscription.reset();
    if (!subscription.is_open()) return error(ErrorCode::closed, "unsubscribed");
    const Deadline deadline(timeout);
    for (std::int64_t pause = kPauseMinNs;; pause = std::min(pause * 2, kPauseMaxNs)) {
        if (const auto read = session_.let_read(Deadline(kForever)); !read)
            return std::unexpected(read.error());
        const auto count = pull(subscription, queue.empty() ? subscription.target() : queue, max);
        if (!count) return std::unexpected(count.error());
        if (*count != 0) return take_pulled(subscription, *count, Deadline(kBodyTimeout));
        if (deadline.is_over()) return subscription.messages();
        std::this_thread::sleep_for(std::chrono::nanoseconds(deadline.left_ns(pause)));
    }
}

std::expected<std::uint32_t, Error> Inbox::pull(Subscription& subscription, std::string_view queue,
                                                std::size_t max) {
    for (;;) {
        if (const auto connected = session_.ensure(Deadline(kForever)); !connected)
            return std::unexpected(connected.error());
        protocol::WireWriter payload;
        payload.put(subscription.only_pulls() ? UINT32_MAX : subscription.id()).put(queue);
        payload.put(static_cast<std::uint32_t>(std::min<std::size_t>(max, protocol::kPullCountMax)));
        payload.put(subscription.only_pulls() ? std::string_view(subscription.filter()) : std::string_view());
        const auto answer =
            session_.request_once(protocol::RequestKind::pull, payload, std::chrono::seconds(10));
        if (!answer && answer.error().code == ErrorCode::disconnected) {
            session_.lose();
            continue;
        }
        if (!answer) return std::unexpected(answer.error());
        protocol::WireReader in(*answer);
        const auto id = in.get<std::uint32_t>();
        const auto count = in.get<std::uint32_t>();
        if (!in.done()) return error(ErrorCode::broken, "the engine's answer to pull is malformed");
        if (subscription.only_pulls()) subscription.set(id, 0);
        return count;
    }
}

std::expected<std::span<const Message>, Error> Inbox::take_pulled(Subscription& subscription,
                                                                  std::size_t count,
                                                                  const Deadline& deadline) {
    for (;;) {
        if (const auto filled = fill(subscription, count); !filled) return std::unexpected(filled.error());
        if (subscription.messages().size() >= count || session_.is_down() || deadline.is_over()) break;
        if (session_.shm().has_answer()) session_.collect();
        if (subscription.failure()) return std::unexpected(*subscription.failure());
        const auto ready = session_.wait(
            [&] { return session_.shm().has_delivery() || session_.shm().has_answer(); }, deadline);
        if (!ready) return std::unexpected(ready.error());
    }
    return subscription.messages();
}

std::expected<void, Error> Inbox::replace(Subscription& subscription, const ReplaceOptions& options) {
    if (!subscription.is_open()) return error(ErrorCode::closed, "unsubscribed");
    if (subscription.only_pulls()) {
        return error(ErrorCode::bad_request, "what only pulls cannot be replaced: open another one");
    }
    if (const auto read = session_.let_read(Deadline(kForever)); !read) return read;
    std::string target(options.target.value_or(subscription.target()));
    std::string filter(options.filter.value_or(subscription.filter()));
    const std::uint64_t max_backlog = options.max_backlog.value_or(subscription.wanted());
    const auto given = static_cast<std::uint8_t>((options.target ? 1 : 0) | (options.max_backlog ? 2 : 0) |
                                                 (options.filter ? 4 : 0));
    protocol::WireWriter payload;
    payload.put(subscription.id()).put(given).put(std::string_view(target)).put(max_backlog);
    payload.put(std::string_view(filter));
    const auto answer =
        session_.request_once(protocol::RequestKind::replace, payload, std::chrono::seconds(10));
    const bool is_gone = !answer && answer.error().code == ErrorCode::disconnected;
    if (!answer && !is_gone) return std::unexpected(answer.error());
    subscription.replace(std::move(target), max_backlog, std::move(filter));
    // The next engine is asked for what holds now.
    if (is_gone) {
        session_.lose();
        return session_.ensure(Deadline(kForever));
    }
    protocol::WireReader in(*answer);
    const auto id = in.get<std::uint32_t>();
    const auto limit = in.get<std::uint64_t>();
    if (!in.done()) return error(ErrorCode::broken, "the engine's answer to replace is malformed");
    subscription.set(id, limit);
    return {};
}

}  // namespace pinnace::client
