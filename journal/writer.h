// SPDX-License-Identifier: Apache-2.0
// The writer: takes steps from the feed, makes batches of them, writes these, and says how far all is
// durable. The body of the journal thread; also runs step by step, under a simulator.
//
// 1. A batch ends where a step ends. A step larger than a buffer is a batch of its own, in a buffer of its
// own.
// 2. Group commit by natural batching: while a write is under way, what comes gathers in the next buffer. A
// further
//    write is begun beside it only when it is worth it (batch_eager_size) and in_flight_max allows it.
// 3. Batches become durable in any order and are reported in their own: durable() is the end of the prefix
// that is
//    done. Each write is durable by itself (RWF_DSYNC); there is no separate sync.
// 4. Roll: the seal is durable, with all before it, before the next segment's header is written active; and
// that is
//    durable before a batch is written there. The next segment is ready by then, as a rule (spares.h).
// 5. The first error of a write is latched: nothing more is submitted, the mark stands still (P6).
//
// Ordering: `journal durable` (retire -> durable), `journal state` (set_state -> state), `journal close`
// (close -> poll).
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "journal/batch.h"
#include "journal/body_reader.h"
#include "journal/environment.h"
#include "journal/feed.h"
#include "journal/io_queue.h"
#include "journal/place_index.h"
#include "journal/spares.h"
#include "journal/spsc_ring.h"

namespace pinnace::journal {

struct WriterOptions {
    std::uint32_t batch_size_max = 1u << 20;
    std::uint32_t batch_eager_size = 64u << 10;
    std::uint32_t in_flight_max = 2;
    std::uint32_t step_size_max = 0;  // bytes that one step can take as a batch
    std::uint32_t body_request_max = 1024;
    std::int64_t mark_after_ns = 100'000'000;
    std::int64_t slow_after_ns = 1'000'000'000;
    std::int64_t stalled_after_ns = 5'000'000'000;
    std::function<void(std::uint64_t segment_number)>
        on_roll;  // another segment is in use; empty: nobody asks
};

// Where the journal goes on: the active segment and what its next batch has to name.
struct WriterStart {
    SegmentHeader segment;
    Files::Handle file = -1;
    std::uint64_t offset = 0;
    std::uint64_t batch_sequence = 1;
    std::uint64_t record_sequence = 0;
    std::uint32_t chain = 0;
    Time engine_time = 0;
};

class Writer {
 public:
    Writer(Feed& feed, JournalIo& io, Files& files, SpareSource& spares, PlaceIndex& index,
           Environment& environment, const WriterOptions& options, const WriterStart& start);
    ~Writer();
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;

    // --- Journal thread
    // Does what can be done now, without waiting; false: there was nothing to do.
    bool poll_once();
    // Something was published or asked for that was not looked at yet.
    bool has_work() const;
    // Writes are under way.
    bool busy() const { return queue_.busy(); }
    // Something was taken and is not durable yet, or a roll waits for its segment.
    bool pending() const;
    void wait_for_io(std::int64_t timeout_ns) { queue_.wait(timeout_ns); }
    // All that was published is durable and a last mark is written, or the journal has failed.
    bool closed() const { return closed_; }
    // Nothing is under way any more, whatever became of it; the buffers can go.
    void drain();
    // When an idle writer wants to be called again for its mark; -1: not at all.
    std::int64_t next_mark_ns() const;

    // --- Dispatcher
    RecordIndex durable() const { return durable_.load(std::memory_order_acquire); }  // pair: journal durable
    State state() const {
        return static_cast<State>(state_.load(std::memory_order_acquire));  // pair: journal state
    }
    int os_error() const { return os_error_.load(std::memory_order_relaxed); }  // relaxed: read after state()
    bool request_body(const BodyRequest& request) { return body_requests_.push(request); }
    bool next_body(BodyReply& reply) { return body_replies_.pop(reply); }
    // Asks for closed().
    void close() { closing_.store(true, std::memory_order_release); }  // pair: journal close

    // --- Any thread; relaxed: figures to show
    std::uint64_t batch_count() const { return batch_count_.load(std::memory_order_relaxed); }
    std::uint64_t byte_count() const { return byte_count_.load(std::memory_order_relaxed); }
    std::uint64_t segment_count() const { return segment_count_.load(std::memory_order_relaxed); }
    double segment_fill() const { return segment_fill_.load(std::memory_order_relaxed); }
    std::uint64_t segment_number() const { return segment_number_.load(std::memory_order_relaxed); }
    // When the oldest write under way was submitted; 0: none is.
    std::int64_t oldest_submit_ns() const { return oldest_submit_ns_.load(std::memory_order_relaxed); }

 private:
    // A buffer and what becomes of it.
    struct Slot {
        explicit Slot(std::uint32_t block_size) : builder(block_size) {}
        BatchBuilder builder;
        BlockBuffer buffer;
        bool large = false;  // uses large_buffer_ instead
    };
    // A batch under way, in the order of the journal.
    struct InFlight {
        std::uint32_t slot = 0;
        bool done = false;
        Place place;
        std::uint32_t size = 0;
        RecordIndex last_index = 0;
        Position first_position = 0;
        Position last_position = 0;
        std::int64_t submit_ns = 0;
    };
    enum class Roll : std::uint8_t { none, sealing, waiting_for_spare, activating };

    // writer.cpp
    bool complete();
    void retire();
    bool fill();
    bool open_batch();
    bool take_step();
    bool take_large_step();
    bool submit();
    bool write_mark();
    void submit_batch(std::uint32_t slot, BatchType type, std::uint32_t size, std::uint32_t flags);
    bool failed() const { return failed_; }
    void fail(int os_error);
    void watch();
    void set_state(State state);
    // writer_roll.cpp
    bool fits(std::uint32_t size) const;
    void begin_roll();
    bool go_on_rolling();
    void activate(const Spare& spare);
    void activated();
    // writer_bodies.cpp
    bool serve_bodies();

    Feed& feed_;
    Files& files_;
    SpareSource& spares_;
    PlaceIndex& index_;
    Environment& environment_;
    WriterOptions options_;
    IoQueue queue_;
    BodyReader bodies_;
    SpscRing<BodyRequest> body_requests_;
    SpscRing<BodyReply> body_replies_;

    // Taking.
    FeedCursor cursor_;       // up to the last step that is in a batch
    std::deque<Slot> slots_;  // in_flight_max + 1, then one for seals
    std::uint32_t seal_slot_;
    std::uint32_t header_request_;  // the number of header writes among the queue's requests
    std::vector<std::uint32_t> free_;
    std::optional<std::uint32_t> open_;  // the slot that is being filled
    bool open_full_ = false;             // the next step did not fit
    std::uint32_t open_size_ = 0;        // not 0: it is closed, and only waits to be written
    Time open_time_ = 0;
    RecordIndex open_last_index_ = 0;
    BlockBuffer large_buffer_;
    bool large_busy_ = false;

    // The segment and the place of the next batch.
    SegmentHeader segment_;
    Files::Handle file_ = -1;
    std::uint64_t offset_ = 0;
    std::uint64_t batch_sequence_ = 1;
    std::uint64_t record_sequence_ = 0;
    std::uint32_t chain_ = 0;
    Time engine_time_ = 0;
    std::vector<DirectoryEntry> directory_;

    // Under way.
    std::deque<InFlight> in_flight_;
    Place durable_place_;
    RecordIndex durable_index_ = 0;
    Roll roll_ = Roll::none;
    SegmentHeader next_segment_;
    Files::Handle next_file_ = -1;
    BlockBuffer header_blocks_;

    // Idle, closing, failing.
    bool marked_ = true;  // the last batch is a mark that covers all before it, or there is nothing to mark
    std::int64_t idle_since_ns_ = 0;
    bool failed_ = false;
    bool closed_ = false;
    bool close_marked_ = false;

    // Shared with others.
    alignas(kLineSize) std::atomic<RecordIndex> durable_{0};
    std::atomic<std::uint32_t> state_{0};
    std::atomic<int> os_error_{0};
    alignas(kLineSize) std::atomic<bool> closing_{false};
    std::atomic<std::uint64_t> batch_count_{0};
    std::atomic<std::uint64_t> byte_count_{0};
    std::atomic<std::uint64_t> segment_count_{0};
    std::atomic<double> segment_fill_{0};
    std::atomic<std::uint64_t> segment_number_{0};
    std::atomic<std::int64_t> oldest_submit_ns_{0};
};

}  // namespace pinnace::journal
