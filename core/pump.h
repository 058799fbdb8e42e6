// SPDX-License-Identifier: Apache-2.0
// Pump: the loop that joins the parts: take what came in, step the core, append, deliver, report. A
// template over three ports, without I/O, clock or thread of its own; the engine and the simulator run
// this same code.
//
// One thread calls everything here: the dispatcher.
//
// Invariants
//   P1  The journal sees only whole steps (rule 7): every command is followed by end_step, and publish
//       comes
//   last. P2  A verb is applied only when its client's submit ring was read as far as the client had
//   written when it made
//       the verb (rule 8).
//   P3  Time moves only when every acknowledgment ring was read to the frontier visible after the clock was
//   read
//       (rule 9); a session's end is applied only after both its rings were read.
//   P4  Descriptors of one subscription are written in the order of the core's decisions (rule 16).
//   P5  A session's durable mark never passes what the journal reported (T8, L13).
//   P6  Whoever asks for a body again gets it, or an answer: `stale` once the lease is over.
//   P7  A record that is held back (LateRecord) is appended before any other one and before its step ends.
//   P8  What a ring has free for the core is what the client's cursor leaves, less the places of deliveries
//       that are decided and not written yet.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include "core/assembly.h"
#include "core/check.h"
#include "core/durable_marks.h"
#include "core/late_record.h"
#include "core/pending.h"
#include "core/ports.h"

namespace pinnace {

struct PumpLimits {
    std::uint32_t message_size_max = 16u << 20;         // of a whole publish, batch included
    std::uint32_t copy_size_max_per_turn = 128u << 10;  // of one session's bodies (rule 15)
    std::uint32_t frame_count_max_per_turn = 64;        // of one session: nobody starves the others
    std::uint32_t barrier_count_max = 1024;  // that one subscription may let wait for room in its ring (B2)
    std::uint32_t subscription_count_max = 1024;  // of one session
    std::size_t filter_size_max = 64u << 10;      // bytes of a subscription's or a verb's filter
    std::uint32_t again_count_max = 65'536;       // bodies asked for again that wait for room in a ring
    std::uint32_t step_record_count =
        4096;                       // a command that makes more of independent ones is parted (rule 7)
    std::uint32_t ring_low = 1024;  // the client's cursor is looked at when fewer entries are known free
};

template <SessionPort Port, LogPort Log, Outside Out>
class Pump final : private Effects {
 public:
    using SessionId = std::uint32_t;

    Pump(Log& log, Out& out, const CoreOptions& options, const PumpLimits& limits)
        : log_(log), out_(out), limits_(limits), core_(static_cast<Effects&>(*this), options) {}

    Core& core() { return core_; }
    const Core& core() const { return core_; }

    // --- Sessions. The port must outlive the session, that is until Outside::ended.
    SessionId open_session(Port& port, std::uint32_t uid);
    // Both rings are read to their frontiers first; then leases are broken and Outside::ended is called.
    // `cursor_believed`: the process is dead or has frozen its cursor, so what was untaken counts as such
    // (rule 17).
    void end_session(SessionId session, bool cursor_believed);
    // Makes the session the owner of its publisher's name; a newer session fences the older one (rule 24).
    // Answers the highest number seen, after everything in the older session's ring was read; nothing: not
    // read yet, ask again.
    std::optional<std::uint64_t> bind_publisher(SessionId session, PublisherId publisher);

    std::expected<Subscribed, RequestError> subscribe(SessionId session, SubscribeRequest request);
    // False: no such subscription of this session. The client has frozen its cursor before it asked.
    bool unsubscribe(SessionId session, SubscriptionId subscription);
    std::expected<Subscribed, RequestError> replace(SessionId session, const ReplaceRequest& request);
    // The request's client is the session's (PL1, L4).
    std::expected<Pulled, RequestError> pull(SessionId session, PullRequest request);
    std::expected<std::uint64_t, RequestError> verbs_where(SessionId session, VerbWhereRequest request,
                                                           Slice& slice);

    // --- One turn at engine time `now`. True: there was something to do.
    bool turn(Time now);
    // Nothing is waiting in the pump itself for journal or disk.
    bool quiet() const {
        return told_durable_ >= log_.appended() && waiting_marks_ == 0 && pending_.empty() && ending_ == 0 &&
               !blocked_;
    }
    bool blocked() const { return blocked_; }
    bool has_input() const;

    // --- Orderly stop, in three steps: read everything that clients have written by now; turn no more,
    // but tell what becomes durable; end all sessions, frozen ones with their cursors believed, and append
    // the core's last records.
    void drain();
    void tell_durable();
    void stop();

 private:
    struct Session {
        Port* port = nullptr;
        ClientId client = kNone;
        bool open = false;
        bool violated = false;
        bool ending = false;
        bool cursor_believed = false;
        bool touched_ring = false;  // read something this turn
        bool frame_loaded = false;
        std::uint32_t ring_free = UINT32_MAX;  // as the core counts it; known from the first subscription on
        std::uint32_t places = 0;              // of the ring: of deliveries that are not written yet
        SubmitFrame frame;
        Assembly assembly;
        std::vector<VerbRequest> list;
        DurableMarks marks;
    };
    struct Subscription {
        SessionId session = kNone;
        bool listed = false;            // in pending_
        std::uint32_t again_count = 0;  // of pending: asked for again and without a place
        PendingDeliveries pending;
    };
    // unread: the client does not read its answers; that holds up nobody else.
    enum class Step : std::uint8_t { idle, progress, blocked, unread };

    // Effects
    RecordIndex record(const RecordHeader& header, std::span<const std::byte> head,
                       const BodyRef& body) override {
        if (late_.take(header, head, body)) return log_.appended() + 1;
        append_late();
        return log_.append(header, head, body);
    }
    bool deliver(const Delivery& delivery) override;
    void expired(const Expired& event) override { out_.expired(event); }
    void part_ends() override { end_step(); }
    void part_may_end() override {
        if (log_.appended() - step_begin_ >= limits_.step_record_count) end_step();
    }
    const std::byte* body(Position position, const BodyRef& body) override {
        return log_.resident(body.log, body.size) ? log_.body(body.log) : log_.read_now(position, body.size);
    }
    void subscription_ended(SubscriptionId subscription, std::string_view why) override;

    void append_late() {
        if (late_.waits()) log_.append(late_.header(), late_.head(), late_.leave());
    }
    void end_step() {
        append_late();
        log_.end_step(core_.now());
        step_begin_ = log_.appended();
    }
    void violation(SessionId id, std::string_view why);
    bool read_acks(SessionId id);
    void apply_list(SessionId id);
    void reread(SessionId id, const VerbRequest& request);
    Step read_frame(SessionId id, std::uint32_t& copy_left);
    Step apply_publish(SessionId id);
    Step publish_plain(SessionId id, std::uint32_t& copy_left);
    bool read_submissions(SessionId id);
    Step read_submissions_to(SessionId id, std::uint64_t position);
    void advance(Time now);
    void report(SessionId id);
    void tell_durable(SessionId id);
    void refresh_ring(Session& session);
    bool answers_fit(const Session& session, std::size_t count) const;
    void answer(SessionId id, const AnswerEntry& entry);
    void serve_reads();
    void flush(SubscriptionId id);
    void ask_for_bodies(SubscriptionId id);
    void wait_for_body(SubscriptionId id, const PendingDeliveries::Entry& entry);
    bool take_place(Subscription& subscription);
    void leave_pending(Subscription& subscription);
    void give_back_place(Session& session);
    void refuse_again(SessionId id, std::uint64_t asked, QueueId queue, Position position);
    bool flush_one(SubscriptionId id);
    void drop_pending(SubscriptionId id, std::vector<Untaken>& untaken);
    Subscription& subscription(SubscriptionId id, SessionId session);
    std::optional<RequestError> beyond_limits(SessionId id, bool is_new, std::string_view filter) const;
    bool owns(SessionId session, SubscriptionId subscription) const {
        return subscription < subscriptions_.size() && subscriptions_[subscription].session == session;
    }
    bool owns_publisher(SessionId session, PublisherId publisher) const {
        return publisher == kNone ||
               (publisher < owner_of_publisher_.size() && owner_of_publisher_[publisher] == session);
    }
    static bool is_plain(const SubmitFrame& frame) {
        return frame.first && frame.last && !frame.more && frame.options.empty() &&
               frame.body.size() == frame.message_size;
    }
    bool try_end(SessionId id);
    void release(SessionId id);
    void gather_messages(const Assembly& assembly, PublishRequest& request);
    Session& session(SessionId id) { return *sessions_[id]; }

    Log& log_;
    Out& out_;
    PumpLimits limits_;
    std::vector<std::unique_ptr<Session>> sessions_;
    std::vector<SessionId> session_of_client_;
    std::vector<SessionId> owner_of_publisher_;
    std::deque<Subscription>
        subscriptions_;                    // a deque: references stay good while the core hands out new ids
    std::vector<SubscriptionId> pending_;  // subscriptions with pending deliveries
    std::vector<SubscriptionId> pending_before_;
    std::vector<PublishMessage> messages_;
    std::vector<PublishResult> results_;
    std::vector<Answer> answers_;
    std::size_t first_session_ = 0;  // whose submissions are read first this turn
    std::size_t ending_ = 0;
    std::size_t waiting_marks_ = 0;
    RecordIndex told_durable_ = 0;
    RecordIndex step_begin_ = 0;  // the last record before the step
    LateRecord late_;
    bool progress_ = false;
    bool blocked_ = false;
    Core core_;  // last: it calls back into what stands above
};

}  // namespace pinnace

#include "core/pump_sessions.inl"
#include "core/pump_turn.inl"
