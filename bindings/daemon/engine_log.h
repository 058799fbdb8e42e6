// SPDX-License-Identifier: Apache-2.0
// EngineLog: the pump's log port over the delivery log in shared memory and the journal. Thread: the
// dispatcher.
//
// Invariants
//   L1  A body's place in the log is settled exactly once: with its record's index, or with 0 if it is
//       given up.
//   L2  Submissions are taken while half of the feed is free, verbs while a quarter is (rule 14): what the
//       core emits by itself mostly finds the rest, and is spilled otherwise.
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <vector>

#include "core/ports.h"
#include "journal/journal.h"
#include "shm/log_writer.h"
#include "shm/wait.h"

namespace pinnace::daemon {

class EngineLog {
 public:
    EngineLog() {
        for (std::uint32_t i = 0; i < kReadMax; ++i) free_reads_.push_back(i);
    }
    // Before the first command.
    void attach(shm::LogWriter& writer, journal::Journal& journal) {
        writer_ = &writer;
        journal_ = &journal;
        feed_ = &journal.feed();
    }

    std::optional<LogPosition> allocate(std::uint32_t size) {
        const auto place =
            writer_->try_place({.published = 0, .position = 0, .size = size, .topic = 0, .reserved = 0});
        if (!place) return std::nullopt;
        return place->position;
    }
    void write(LogPosition position, std::uint32_t offset, std::span<const std::byte> bytes) {
        shm::copy_shared(body_to_write(position) + offset, bytes.data(), bytes.size());
    }
    const std::byte* body(LogPosition position) const { return writer_->body(position); }
    void finish(LogPosition position, Time published, std::uint32_t size, TopicId topic) {
        const shm::LogHeader header{
            .published = published, .position = 0, .size = size, .topic = topic, .reserved = 0};
        shm::copy_shared(body_to_write(position) - shm::kLogHeaderSize,
                         reinterpret_cast<const std::byte*>(&header), sizeof header);
    }
    void abandon(LogPosition position, std::uint32_t size) { writer_->settle(position, size, 0); }
    bool resident(LogPosition position, std::uint32_t size) const {
        return writer_->is_current(position, size);
    }

    bool room_for_submission() { return journal_takes_messages() && has_room(feed_->byte_count() / 2); }
    bool room_for_verbs(std::uint32_t count) {
        const std::size_t quarter = feed_->byte_count() / 4;
        // A long list must find room some day; what of it exceeds the ring is spilled.
        return has_room(quarter + std::min(quarter, count * journal::Feed::entry_size(64)));
    }
    RecordIndex append(const RecordHeader& header, std::span<const std::byte> head, const BodyRef& body) {
        const bool has_body = header.kind == static_cast<std::uint16_t>(RecordKind::message);
        const std::byte* data =
            has_body ? (body.log == kCold ? keep(header.position, body) : writer_->body(body.log)) : nullptr;
        const RecordIndex index = feed_->append(header, head, data, has_body ? body.size : 0);
        room_ -= std::min(room_, journal::Feed::entry_size(head.size()));
        if (has_body && body.log != kCold) writer_->settle(body.log, body.size, index);
        staged_ = true;
        return index;
    }
    void end_step(Time now) {
        now_ = now;
        if (staged_) feed_->end_step();
    }
    void publish() {
        if (!staged_ && !feed_->spilled()) return;
        staged_ = false;
        feed_->publish(now_);
        journal_->wake();
    }
    RecordIndex durable() {
        const RecordIndex durable = journal_->durable();
        if (durable != durable_) writer_->set_durable(durable);
        durable_ = durable;
        while (!kept_.empty() && kept_.front().index <= durable) kept_.pop_front();
        return durable;
    }
    RecordIndex appended() const { return feed_->last_index(); }

    bool request_read(const ReadRequest& request) {
        if (free_reads_.empty()) return false;
        const auto place = writer_->try_place_reread(
            {.published = 0, .position = request.position, .size = request.size, .topic = 0, .reserved = 0});
        if (!place) return false;
        const std::uint32_t read = free_reads_.back();
        if (!journal_->request_body({request.position, request.size, place->body, read})) {
            writer_->settle(place->position, request.size, 0);
            return false;
        }
        free_reads_.pop_back();
        reads_[read] = {request.token, place->position, request.size, request.published, request.topic};
        journal_->wake();
        return true;
    }
    std::optional<ReadDone> next_read() {
        journal::BodyReply reply;
        if (!early_replies_.empty()) {
            reply = early_replies_.front();
            early_replies_.erase(early_replies_.begin());
        } else if (free_reads_.size() == kReadMax || !journal_->next_body(reply)) {
            return std::nullopt;
        }
        if (reply.token == kReadNow) return next_read();  // nobody waits for it any more
        const Read& read = reads_[reply.token];
        free_reads_.push_back(static_cast<std::uint32_t>(reply.token));
        if (reply.readable) finish(read.log, read.published, read.size, read.topic);
        writer_->settle(read.log, read.size, 0);
        return ReadDone{read.token, read.log, reply.readable};
    }

    // Waits for the journal thread (bodies that are not durable yet are at hand): filters that come later
    // than their messages are to become jobs (rule 18).
    const std::byte* read_now(Position position, std::uint32_t size) {
        for (const Kept& kept : kept_)
            if (kept.position == position) return kept.body.data();
        if (scratch_.size() < size) scratch_.resize(size);
        shm::Waiter waiter(shm::WaitMode::yield);
        while (!journal_->request_body({position, size, scratch_.data(), kReadNow})) waiter.idle();
        journal_->wake();
        for (;;) {
            journal::BodyReply reply;
            if (!journal_->next_body(reply)) {
                if (journal_->state() == journal::State::failed) return nullptr;
                waiter.idle();
                continue;
            }
            if (reply.token == kReadNow) return reply.readable ? scratch_.data() : nullptr;
            early_replies_.push_back(reply);
        }
    }

 private:
    static constexpr std::uint32_t kReadMax = 256;
    static constexpr std::uint64_t kReadNow = UINT64_MAX;
    struct Read {
        std::uint64_t token = 0;
        LogPosition log;
        std::uint32_t size = 0;
        Time published = 0;
        TopicId topic = kNone;
    };

    struct Kept {
        RecordIndex index = 0;
        Position position = 0;
        std::vector<std::byte> body;
    };

    // A body that the core made (A1), until it is durable. Rare, and allocated: it must never be refused.
    const std::byte* keep(Position position, const BodyRef& body) {
        kept_.push_back({feed_->last_index() + 1, position, {body.data, body.data + body.size}});
        return kept_.back().body.data();
    }

    std::byte* body_to_write(LogPosition position) { return const_cast<std::byte*>(writer_->body(position)); }
    bool journal_takes_messages() const { return journal_->state() < journal::State::no_space; }
    bool has_room(std::size_t wanted) {
        if (room_ < wanted) room_ = feed_->room();
        return room_ >= wanted;
    }

    shm::LogWriter* writer_ = nullptr;
    journal::Journal* journal_ = nullptr;
    journal::Feed* feed_ = nullptr;
    std::array<Read, kReadMax> reads_;
    std::vector<std::uint32_t> free_reads_;
    std::vector<std::byte> scratch_;
    std::deque<Kept> kept_;
    std::vector<journal::BodyReply> early_replies_;  // that came while read_now waited for its own
    std::size_t room_ = 0;                           // of the feed, at least
    Time now_ = 0;
    RecordIndex durable_ = 0;
    bool staged_ = false;
};

}  // namespace pinnace::daemon
