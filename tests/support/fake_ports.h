// SPDX-License-Identifier: Apache-2.0
// Fake ports for the pump: a client's rings, the log and the journal, and the outside as plain containers.
// Tests write what a client would write, run turns, and look at what came out.
#pragma once

#include <cstring>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "core/pump.h"

namespace pinnace::testing {

class FakePort {
 public:
    // --- What the client does.
    // Its body and options stay where they are until the frame is taken.
    std::uint64_t publish(TopicId topic, std::string body, SubmitFrame frame = {}) {
        frame.topic = topic;
        bodies_.push_back(std::move(body));
        const std::string& kept = bodies_.back();
        frame.body = std::as_bytes(std::span(kept));
        if (frame.message_size == 0 && frame.first && frame.last) {
            frame.message_size = static_cast<std::uint32_t>(kept.size());
        }
        frame.position = written_;
        written_ += 64 + kept.size();
        ends_.push_back(written_);
        frames.push_back(frame);
        return written_;
    }
    std::uint64_t submit_written() const { return written_; }
    void verb(VerbRequest request, bool more = false) { acks.push_back({request, written_, more, false}); }
    void acknowledge(const Delivery& d) {
        verb({Verb::acknowledge, kNone, d.queue, d.position, d.lease, d.handle, 0});
    }
    void ask_again(const Delivery& d) {
        acks.push_back(
            {{Verb::none, kNone, d.queue, d.position, d.lease, d.handle, 0}, written_, false, true});
    }
    // Takes everything that was delivered.
    std::vector<Delivery> take() {
        std::vector<Delivery> taken(deliveries.begin() + static_cast<std::ptrdiff_t>(cursor),
                                    deliveries.end());
        cursor = deliveries.size();
        return taken;
    }

    // --- SessionPort
    Next peek_submit(SubmitFrame& frame) {
        if (submit_rubbish) return Next::violation;
        if (frames.empty()) return Next::none;
        frame = frames.front();
        return Next::ready;
    }
    void take_submit() {
        submit_taken_ = ends_.front();
        ends_.pop_front();
        frames.pop_front();
    }
    std::uint64_t submit_position() const { return submit_taken_; }
    Next peek_ack(AckEntry& entry) {
        if (ack_rubbish) return Next::violation;
        if (acks.empty()) return Next::none;
        entry = acks.front();
        return Next::ready;
    }
    void take_ack() {
        acks.pop_front();
        ++ack_count_;
    }
    std::uint64_t ack_count() const { return ack_count_; }
    std::uint32_t ack_capacity() const { return 64; }
    std::uint32_t answer_capacity() const { return answer_count_max; }
    std::uint32_t answer_room(std::uint32_t) const {
        return answer_count_max - static_cast<std::uint32_t>(answers.size());
    }
    void answer(const AnswerEntry& entry) { answers.push_back(entry); }
    void deliver(const Delivery& delivery, bool again) {
        overflowed = overflowed || deliveries.size() - cursor >= ring_capacity;
        deliveries.push_back(delivery);
        if (again) ++again_count;
    }
    bool has_input() const { return !frames.empty() || !acks.empty(); }
    std::optional<std::uint32_t> ring_free() const {
        if (cursor > deliveries.size()) return std::nullopt;
        return ring_capacity - static_cast<std::uint32_t>(deliveries.size() - cursor);
    }
    void untaken(SubscriptionId subscription, std::vector<Untaken>& untaken) const {
        for (std::size_t i = cursor; i < deliveries.size(); ++i) {
            const Delivery& d = deliveries[i];
            if (subscription != kNone && d.subscription != subscription) continue;
            untaken.push_back({d.queue, d.position, d.lease, d.handle});
        }
    }
    bool frozen() const { return is_frozen; }
    void mark_read(std::uint64_t submit, std::uint64_t acks_read) {
        read_submit = submit;
        read_acks = acks_read;
    }
    void mark_durable(std::uint64_t submit, std::uint64_t acks_durable) {
        durable_submit = submit;
        durable_acks = acks_durable;
    }

    std::deque<SubmitFrame> frames;
    std::deque<AckEntry> acks;
    std::vector<Delivery> deliveries;
    std::vector<AnswerEntry> answers;
    std::size_t cursor = 0;
    std::uint32_t ring_capacity = 64;
    std::uint32_t answer_count_max = 64;
    std::size_t again_count = 0;  // deliveries of bodies that were asked for again
    bool overflowed = false;      // something was delivered without room
    bool is_frozen = false;
    bool submit_rubbish = false;
    bool ack_rubbish = false;
    std::uint64_t read_submit = 0;
    std::uint64_t read_acks = 0;
    std::uint64_t durable_submit = 0;
    std::uint64_t durable_acks = 0;

 private:
    std::deque<std::string> bodies_;
    std::deque<std::uint64_t> ends_;
    std::uint64_t written_ = 0;
    std::uint64_t submit_taken_ = 0;
    std::uint64_t ack_count_ = 0;
};

// Log and journal in memory. Nothing is durable before make_durable().
class FakeLog {
 public:
    struct Stored {
        RecordHeader header;
        std::vector<std::byte> head;
        std::string body;
        std::size_t step = 0;
    };

    std::optional<LogPosition> allocate(std::uint32_t size) {
        if (!room) return std::nullopt;
        const auto position = LogPosition::make(Area::small, next_);
        next_ += size + 64;
        bodies_[position.bits].resize(size);
        return position;
    }
    void write(LogPosition position, std::uint32_t offset, std::span<const std::byte> bytes) {
        if (!bytes.empty()) std::memcpy(bodies_[position.bits].data() + offset, bytes.data(), bytes.size());
    }
    const std::byte* body(LogPosition position) {
        return reinterpret_cast<const std::byte*>(bodies_[position.bits].data());
    }
    std::size_t body_count() const { return bodies_.size(); }
    std::string text(LogPosition position) const { return bodies_.at(position.bits); }
    void finish(LogPosition, Time, std::uint32_t, std::uint32_t) {}
    void abandon(LogPosition position, std::uint32_t) { bodies_.erase(position.bits); }
    bool resident(LogPosition position, std::uint32_t) const { return bodies_.contains(position.bits); }
    // The slot of this body is used anew: it is in the journal only.
    void evict(LogPosition position) {
        cold_[position.bits] = bodies_[position.bits];
        bodies_.erase(position.bits);
    }

    bool room_for_submission() const { return room; }
    bool room_for_verbs(std::uint32_t) const { return verb_room; }
    RecordIndex append(const RecordHeader& header, std::span<const std::byte> head, const BodyRef& body) {
        Stored stored{header, {head.begin(), head.end()}, {}, steps_};
        if (header.kind == static_cast<std::uint16_t>(RecordKind::message)) {
            stored.body.assign(reinterpret_cast<const char*>(body.data), body.size);
        }
        records.push_back(std::move(stored));
        return records.size();
    }
    void end_step(Time) { ++steps_; }
    void publish() { published = records.size(); }
    RecordIndex durable() const { return durable_; }
    RecordIndex appended() const { return records.size(); }
    void make_durable() { durable_ = published; }
    void make_durable(RecordIndex index) { durable_ = index; }

    bool request_read(const ReadRequest& request) {
        if (!read_room) return false;
        reads.push_back(request);
        return true;
    }
    const std::byte* read_now(Position, std::uint32_t) { return nullptr; }
    // Answers the oldest request with this text, or as unreadable.
    void serve_read(std::optional<std::string> text) {
        const ReadRequest request = reads.front();
        reads.pop_front();
        const auto position = LogPosition::make(Area::reread, next_);
        next_ += request.size + 64;
        if (text) bodies_[position.bits] = *text;
        done_.push_back({request.token, position, text.has_value()});
    }
    std::optional<ReadDone> next_read() {
        if (done_.empty()) return std::nullopt;
        const ReadDone done = done_.front();
        done_.pop_front();
        return done;
    }

    std::vector<Stored> records;
    std::deque<ReadRequest> reads;
    std::size_t published = 0;
    bool room = true;
    bool verb_room = true;
    bool read_room = true;

 private:
    std::map<std::uint64_t, std::string> bodies_;
    std::map<std::uint64_t, std::string> cold_;
    std::deque<ReadDone> done_;
    RecordIndex durable_ = 0;
    std::uint64_t next_ = 0;
    std::size_t steps_ = 0;
};

struct FakeOutside {
    void violation(std::uint32_t session, std::string_view why) { violations.emplace_back(session, why); }
    void ended(std::uint32_t session) { ended_sessions.push_back(session); }
    void touched(std::uint32_t session) { touched_sessions.push_back(session); }
    void expired(const Expired& event) { events.push_back(event); }

    std::vector<std::pair<std::uint32_t, std::string>> violations;
    std::vector<std::uint32_t> ended_sessions;
    std::vector<std::uint32_t> touched_sessions;
    std::vector<Expired> events;
};

using FakePump = Pump<FakePort, FakeLog, FakeOutside>;

}  // namespace pinnace::testing
