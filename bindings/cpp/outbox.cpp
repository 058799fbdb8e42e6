// SPDX-License-Identifier: Apache-2.0
#include "bindings/cpp/outbox.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "bindings/cpp/session.h"
#include "core/publish_options.h"

namespace pinnace::client {

namespace {

std::string random_name() {
    std::random_device random;
    return fmt::format("auto-{:08x}{:08x}{:08x}", random(), random(), random());
}

PublishOptions to_core(const MessageOptions& options, std::uint32_t queue) {
    PublishOptions out;
    if (options.group) out.group = options.group->data() == nullptr ? std::string_view("") : *options.group;
    if (options.dedup) out.dedup = options.dedup->data() == nullptr ? std::string_view("") : *options.dedup;
    if (options.delay) out.delay = options.delay->count();
    if (options.expiration) out.expiration = options.expiration->count();
    out.answer = options.answer;
    out.to_queue = queue;
    return out;
}

}  // namespace

std::expected<void, Error> Outbox::open(std::string_view name) {
    if (is_open_) return error(ErrorCode::bad_request, "this connection has a publisher already");
    name_ = name.empty() ? random_name() : std::string(name);
    protocol::WireWriter payload;
    payload.put(std::string_view(name_));
    const auto answer = session_.request(protocol::RequestKind::open_publisher, payload, Deadline(kForever));
    if (!answer) return std::unexpected(answer.error());
    protocol::WireReader in(*answer);
    id_ = in.get<std::uint32_t>();
    number_ = in.get<std::uint64_t>();
    if (!in.done()) return error(ErrorCode::broken, "the engine's answer to open_publisher is malformed");
    persisted_ = stored_ = number_;
    is_open_ = true;
    return {};
}

std::expected<Outbox::Target, Error> Outbox::target(std::string_view name) {
    if (name == last_name_ && !name.empty()) return last_target_;
    std::string key(name);
    auto found = targets_.find(key);
    if (found == targets_.end()) {
        protocol::WireWriter payload;
        payload.put(name);
        const auto answer = session_.request(protocol::RequestKind::resolve, payload, Deadline(kForever));
        if (!answer) return std::unexpected(answer.error());
        protocol::WireReader in(*answer);
        Target resolved;
        resolved.topic = in.get<std::uint32_t>();
        resolved.queue = in.get<std::uint32_t>();
        if (!in.done()) return error(ErrorCode::broken, "the engine's answer to resolve is malformed");
        found = targets_.emplace(key, resolved).first;
    }
    last_name_ = std::move(key);
    last_target_ = found->second;
    return last_target_;
}

Error Outbox::too_large(std::uint64_t size) const {
    return {ErrorCode::too_large, fmt::format("{} bytes are above the limit of {} bytes for one publish",
                                              size, session_.shm().message_size_max())};
}

std::expected<void, Error> Outbox::check(const OutgoingMessage& message) const {
    if (message.body.size() > session_.shm().message_size_max()) {
        return std::unexpected(too_large(message.body.size()));
    }
    const MessageOptions& options = message.options;
    if ((options.delay && options.delay->count() < 0) ||
        (options.expiration && options.expiration->count() < 0)) {
        return error(ErrorCode::bad_request, "delay and expiration are not negative");
    }
    if (options.number == 0) return error(ErrorCode::bad_request, "a publisher's numbers begin with 1");
    return {};
}

std::expected<void, Error> Outbox::check_topic(std::string_view name) {
    if (const auto to = target(name); !to) return std::unexpected(to.error());
    return {};
}

shm::PublishFields Outbox::fields(const Target& target, std::uint64_t number,
                                  std::span<const std::byte> options) const {
    shm::PublishFields fields;
    fields.topic = target.topic;
    fields.publisher = id_;
    fields.number = number;
    fields.previous = stored_;
    fields.options = options;
    return fields;
}

std::expected<Receipt, Error> Outbox::publish(std::string_view topic, std::span<const std::byte> body,
                                              Timeout timeout) {
    const bool is_simple = topic == last_name_ && !topic.empty() && last_target_.queue == kNone;
    if (is_simple && backlog_.empty() && !is_fenced_) {
        const auto end = session_.shm().submit().try_publish(fields(last_target_, number_ + 1, {}), body);
        if (end) {
            const Receipt receipt = note_sent(*end, number_ + 1);
            session_.look();
            return receipt;
        }
    }
    return publish(topic, body, MessageOptions{}, timeout);
}

std::expected<Receipt, Error> Outbox::publish(std::string_view topic, std::span<const std::byte> body,
                                              const MessageOptions& options, Timeout timeout) {
    const OutgoingMessage message{topic, body, options};
    if (const auto good = check(message); !good) return std::unexpected(good.error());
    const auto to = target(topic);
    if (!to) return std::unexpected(to.error());
    std::byte room[kOptionBytesMax];
    const std::size_t size = encode_options(to_core(options, to->queue), room);
    const std::uint64_t number = first_number(options);
    const shm::PublishItem item{fields(*to, number, {room, size}), body};
    return send({&item, 1}, number, timeout);
}

std::expected<Receipt, Error> Outbox::publish(std::span<const OutgoingMessage> messages, Timeout timeout) {
    if (messages.empty()) return Receipt{number_};
    std::vector<shm::PublishItem> items;
    std::vector<std::byte> room(messages.size() * kOptionBytesMax);
    std::byte* options_at = room.data();
    std::uint64_t sum = 0;
    std::uint64_t number = first_number(messages.front().options) - 1;
    for (const OutgoingMessage& message : messages) {
        if (const auto good = check(message); !good) return std::unexpected(good.error());
        const auto to = target(message.topic);
        if (!to) return std::unexpected(to.error());
        const std::size_t size = encode_options(to_core(message.options, to->queue), options_at);
        items.push_back({fields(*to, ++number, {options_at, size}), message.body});
        options_at += size;
        sum += message.body.size();
    }
    if (sum > session_.shm().message_size_max()) return std::unexpected(too_large(sum));
    if (const std::uint64_t most = session_.shm().geometry().answer_count; items.size() > most) {
        return error(
            ErrorCode::too_large,
            fmt::format("{} messages are above the limit of {} for one publish", items.size(), most));
    }
    return send(items, number, timeout);
}

std::expected<Receipt, Error> Outbox::send(std::span<const shm::PublishItem> items, std::uint64_t number,
                                           Timeout timeout) {
    session_.look();
    std::optional<Deadline> deadline;
    for (;;) {
        if (is_fenced_) return error(ErrorCode::fenced, "a newer session owns the publisher's name");
        shm::SubmitWriter& ring = session_.shm().submit();
        if (backlog_.empty() || flush()) {
            const auto end = items.size() == 1 ? ring.try_publish(items[0].fields, items[0].body)
                                               : ring.try_publish_batch(items);
            if (end) return note_sent(*end, number);
            if (end.error() == shm::ClaimError::too_large) {
                return error(ErrorCode::too_large, "more than what the submit ring can hold at once");
            }
        }
        if (!deadline) deadline.emplace(timeout);
        if (deadline->is_zero()) return error(ErrorCode::would_block);
        const std::uint64_t before = ring.persisted();
        const auto moved =
            session_.wait([&] { return session_.shm().submit().refresh() != before; }, *deadline);
        if (!moved) return std::unexpected(moved.error());
        if (!*moved) return error(ErrorCode::timed_out, "no room in the submit ring");
        session_.collect();
    }
}

Receipt Outbox::note_sent(std::uint64_t end, std::uint64_t number) {
    // A re-send under an old number is settled with the newest one.
    number_ = std::max(number_, number);
    sent_.push({end, number_});
    session_.shm().note_published(end);
    session_.shm().ring();
    if ((number & kSettleMask) == 0) session_.collect();
    return {number};
}

void Outbox::settle(std::uint64_t position) {
    while (!sent_.empty() && sent_.front().end <= position) {
        persisted_ = std::max(persisted_, sent_.front().number);  // re-sends have older numbers
        if (refused_.empty() || !refused_.contains(persisted_)) stored_ = persisted_;
        sent_.pop();
    }
    while (refused_.size() > kAnswersKept) refused_.erase(refused_.begin());
}

std::uint64_t Outbox::persisted() {
    session_.look();
    session_.collect();
    return persisted_;
}

std::expected<void, Error> Outbox::wait_persisted(std::uint64_t number, const Deadline& deadline) {
    if (number > number_) return error(ErrorCode::bad_request, "this number was not given out yet");
    const auto done = session_.wait(
        [&] {
            if (!backlog_.empty()) flush();
            if (persisted_ >= number) return true;
            session_.collect();
            return persisted_ >= number;
        },
        deadline);
    if (!done) return std::unexpected(done.error());
    if (!*done) return error(ErrorCode::timed_out, "not persisted yet");
    const auto refused = refused_.find(number);
    if (refused == refused_.end() || refused->second == ErrorCode::duplicate) return {};
    return error(refused->second,
                 fmt::format("the engine refused the message: {}", to_text(refused->second)));
}

std::expected<void, Error> Outbox::wait_read(const Deadline& deadline) {
    const auto done = session_.wait(
        [&] {
            if (!backlog_.empty() && !flush()) return false;
            return session_.shm().submit_read() == session_.shm().submit().position();
        },
        deadline);
    if (!done) return std::unexpected(done.error());
    if (!*done) return error(ErrorCode::timed_out, "the engine has not read everything");
    session_.collect();
    return {};
}

std::vector<PublishAnswer> Outbox::take_answers() {
    std::vector<PublishAnswer> out(answers_.begin(), answers_.end());
    answers_.clear();
    return out;
}

void Outbox::take_answer(const shm::AnswerEntry& entry) {
    const ErrorCode code = code_of_answer(entry.answer);
    const std::uint64_t number = entry.number;
    if (number == 0 || number > number_) return;  // not one of ours, whatever the engine means by it
    if (code == ErrorCode::duplicate && number <= resent_) return;
    if (code == ErrorCode::fenced) is_fenced_ = true;
    if (code != ErrorCode::none) refused_[number] = code;
    const PublishAnswer answer{number, code, entry.position};
    if (call_) {
        call_(answer);
        return;
    }
    if (answers_.size() == kAnswersKept) answers_.pop_front();
    answers_.push_back(answer);
}

}  // namespace pinnace::client
