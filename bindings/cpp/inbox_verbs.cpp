// SPDX-License-Identifier: Apache-2.0
// Inbox's verbs: written, answered, durable, and how they get to the next engine.
#include <fmt/format.h>

#include "bindings/cpp/inbox.h"
#include "bindings/cpp/session.h"

namespace pinnace::client {

void Inbox::list(Verb verb, std::span<const Lease> leases, std::int64_t period, bool with_bookmarks) {
    list_.clear();
    for (const Lease& lease : leases) {
        if (lease.lease == 0 && !with_bookmarks) continue;  // a barrier: nothing is to be acknowledged
        shm::AckEntry& entry = list_.emplace_back();
        entry.position = lease.position;
        entry.lease = lease.lease;
        entry.period = period;
        entry.queue = lease.queue;
        entry.handle = lease.handle;
        entry.subscription = lease.subscription;
        entry.verb = static_cast<std::uint8_t>(verb);
    }
}

std::expected<std::uint64_t, Error> Inbox::verb(Verb verb, std::span<const Lease> leases,
                                                std::int64_t period) {
    list(verb, leases, period, false);
    if (list_.empty()) return written();
    return write(list_);
}

std::expected<std::vector<ErrorCode>, Error> Inbox::verb_now(Verb verb, std::span<const Lease> leases,
                                                             std::int64_t period, const Deadline& deadline) {
    list(verb, leases, period, true);
    if (list_.empty()) return std::vector<ErrorCode>();
    watched_ = Watched{written() + 1, std::vector<ErrorCode>(list_.size(), ErrorCode::none)};
    const auto number = write(list_);
    const auto durable = number ? wait_durable(*number, deadline) : std::unexpected(number.error());
    Watched watched = std::move(*watched_);
    watched_.reset();
    if (!durable) return std::unexpected(durable.error());
    return std::move(watched.codes);
}

std::uint64_t Inbox::written() const { return durable_ + undurable_.size(); }
std::uint64_t Inbox::in_ring() const { return session_.shm().acks().written() + base_; }

std::uint64_t Inbox::count_before(std::uint64_t index) const {
    std::uint64_t base = base_;
    for (auto range = rewritten_.rbegin(); range != rewritten_.rend(); ++range) {
        if (index >= range->end) break;
        if (index > range->begin) return range->begin + range->former_base;
        base = range->former_base;
    }
    return index + base;
}

std::uint64_t Inbox::number_of(std::uint64_t index) const {
    for (const Rewritten& range : rewritten_) {
        if (index >= range.begin && index < range.end) return range.numbers[index - range.begin];
    }
    return count_before(index) + 1;
}

std::expected<std::uint64_t, Error> Inbox::write(std::span<shm::AckEntry> entries) {
    session_.look();
    if (!session_.is_usable()) return std::unexpected(session_.why_unusable());
    if (in_ring() != written()) {  // the last reconnect did not get that far
        if (const auto connected = session_.ensure(Deadline(kForever)); !connected) {
            return std::unexpected(connected.error());
        }
    }
    while (!session_.shm().try_acknowledge(entries)) {
        const std::size_t limit = session_.shm().ack_list_max();
        if (entries.size() > limit) {
            return error(ErrorCode::bad_request,
                         fmt::format("a list of {} is above the limit of {}", entries.size(), limit));
        }
        const auto room = session_.wait(
            [&] {
                shm::AckWriter& ring = session_.shm().acks();
                ring.refresh();
                return ring.free_count() >= entries.size();
            },
            Deadline(kForever));
        if (!room) return std::unexpected(room.error());
    }
    for (const shm::AckEntry& entry : entries) undurable_.push(entry);
    const std::uint64_t number = written();
    if ((number & 1023) < entries.size()) session_.collect();
    return number;
}

void Inbox::settle(std::uint64_t entry_count) {
    // After a reconnect, verbs before those that were written again are durable only when these are.
    if (!rewritten_.empty()) {
        if (entry_count < rewritten_.back().end) return;
        rewritten_.clear();
    }
    const std::uint64_t number = entry_count + base_;
    if (number - durable_ > undurable_.size()) return;  // a mark that cannot be
    while (durable_ != number) {
        undurable_.pop();
        ++durable_;
    }
    while (!answered_.empty() && *answered_.begin() <= durable_) answered_.erase(answered_.begin());
}

std::uint64_t Inbox::applied() const { return count_before(session_.shm().ack_read()); }

std::expected<void, Error> Inbox::wait_applied(std::uint64_t number, const Deadline& deadline) {
    if (number > written()) return error(ErrorCode::bad_request, "this number was not given out yet");
    const auto done = session_.wait([&] { return applied() >= number; }, deadline);
    if (!done) return std::unexpected(done.error());
    if (!*done) return error(ErrorCode::timed_out, "not applied yet");
    return {};
}

std::uint64_t Inbox::durable() {
    session_.look();
    session_.collect();
    return durable_;
}

std::expected<void, Error> Inbox::wait_durable(std::uint64_t number, const Deadline& deadline) {
    if (number > written()) return error(ErrorCode::bad_request, "this number was not given out yet");
    const auto done = session_.wait(
        [&] {
            if (durable_ < number) session_.collect();
            return durable_ >= number;
        },
        deadline);
    if (!done) return std::unexpected(done.error());
    if (!*done) return error(ErrorCode::timed_out, "not durable yet");
    return {};
}

std::vector<VerbAnswer> Inbox::take_answers() {
    std::vector<VerbAnswer> out(answers_.begin(), answers_.end());
    answers_.clear();
    return out;
}

void Inbox::take_answer(const shm::AnswerEntry& entry) {
    if (entry.number >= session_.shm().acks().written()) return;
    const std::uint64_t number = number_of(entry.number);
    const ErrorCode code = code_of_answer(entry.answer);
    for (const auto& subscription : subscriptions_) {
        if (subscription->drop(number)) return;  // the question for a body, not a verb of the application's
    }
    if (number > durable_) answered_.insert(number);
    if (watched_ && number >= watched_->first && number - watched_->first < watched_->codes.size()) {
        watched_->codes[number - watched_->first] = code;
        return;
    }
    const VerbAnswer answer{number, entry.position, code};
    if (call_) {
        call_(answer);
        return;
    }
    if (answers_.size() == kAnswersKept) answers_.pop_front();
    answers_.push_back(answer);
}

void Inbox::withhold(shm::ClientSession& former) {
    shm::AckWriter& ring = former.acks();
    const std::uint64_t taken = ring.refresh();
    read_ = count_before(taken);
    if (withheld_.commit != nullptr) {
        if (withheld_.index >= taken) return;
        release();  // the former engine got that far after all
    }
    const shm::AckEntry* first = ring.untaken(taken);
    if (first == nullptr) return;
    // It lies in our own region, which this process maps writable.
    withheld_ = {const_cast<std::uint64_t*>(&first->commit), taken};
    // Relaxed: the next engine sees this memory after the hello, which goes through the kernel.
    shm::store_relaxed(*withheld_.commit, std::uint64_t{0});
}

void Inbox::release() {
    if (withheld_.commit == nullptr) return;
    shm::shared(*withheld_.commit).store(withheld_.index + 1, std::memory_order_release);  // pair: entry
    withheld_ = {};
}

std::expected<void, Error> Inbox::rejoin(bool is_adopted) {
    release();
    session_.shm().ring();
    if (const auto written = rewrite(is_adopted); !written) return written;
    // The acknowledgments count only for messages that were not delivered since.
    static_cast<void>(session_.shm().wait(
        [&] { return session_.shm().ack_read() == session_.shm().acks().written(); }, 1'000'000'000));
    for (const auto& subscription : subscriptions_) {
        subscription->clear_pending();
        if (subscription->failure()) continue;
        if (subscription->only_pulls()) {
            subscription->set(UINT32_MAX, 0);  // the next pull gives it another one
            continue;
        }
        const auto sent = send_subscribe(*subscription);
        if (sent) continue;
        if (sent.error().code == ErrorCode::disconnected || sent.error().code == ErrorCode::timed_out) {
            return sent;
        }
        subscription->fail(sent.error());
    }
    return {};
}

// Writes once more what the former engine had read and not made durable; into a new ring also what it had not
// read.
std::expected<void, Error> Inbox::rewrite(bool is_adopted) {
    const std::uint64_t last = written();
    const std::uint64_t have = is_adopted ? in_ring() : read_;
    const std::uint64_t start = session_.shm().acks().written();
    std::vector<std::uint64_t> numbers;
    bool is_going = true;
    const auto write_one = [&](std::uint64_t number) {
        shm::AckEntry entry = undurable_[static_cast<std::size_t>(number - durable_ - 1)];
        if (!is_adopted) entry.submit_position = 0;  // of another ring
        const auto result =
            session_.shm().wait([&] { return session_.shm().try_acknowledge({&entry, 1}); }, 10'000'000'000);
        is_going = result == shm::WaitResult::ready;
        return is_going;
    };
    for (std::uint64_t number = durable_ + 1; is_going && number <= read_; ++number) {
        const shm::AckEntry& entry = undurable_[static_cast<std::size_t>(number - durable_ - 1)];
        if (entry.verb == shm::kVerbBodyAgain || answered_.contains(number)) continue;
        if (write_one(number)) numbers.push_back(number);
    }
    if (!is_adopted) rewritten_.clear();
    const std::uint64_t end = start + numbers.size();
    rewritten_.push_back({start, end, base_, std::move(numbers)});
    base_ = have - end;
    for (std::uint64_t number = have + 1; is_going && number <= last; ++number) write_one(number);
    if (!is_going) return error(ErrorCode::disconnected, "the engine has gone again");
    return {};
}

}  // namespace pinnace::client
