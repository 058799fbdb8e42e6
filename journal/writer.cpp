// SPDX-License-Identifier: Apache-2.0
#include "journal/writer.h"

#include <algorithm>

#include "core/check.h"

namespace pinnace::journal {

Writer::Writer(Feed& feed, JournalIo& io, Files& files, SpareSource& spares, PlaceIndex& index,
               Environment& environment, const WriterOptions& options, const WriterStart& start)
    : feed_(feed),
      files_(files),
      spares_(spares),
      index_(index),
      environment_(environment),
      options_(options),
      queue_(io, options.in_flight_max + 3, start.segment.block_size),
      bodies_(files, index),
      body_requests_(options.body_request_max),
      body_replies_(options.body_request_max),
      seal_slot_(options.in_flight_max + 1),
      header_request_(options.in_flight_max + 2),
      segment_(start.segment),
      file_(start.file),
      offset_(start.offset),
      batch_sequence_(start.batch_sequence),
      record_sequence_(start.record_sequence),
      chain_(start.chain),
      engine_time_(start.engine_time),
      durable_place_(Place::make(start.segment.segment_number, start.offset)),
      header_blocks_(header_blocks_size(start.segment.block_size)) {
    const std::uint64_t size = align_up(options.batch_size_max, segment_.block_size);
    for (std::uint32_t i = 0; i <= seal_slot_; ++i) {
        Slot& slot = slots_.emplace_back(segment_.block_size);
        if (i == seal_slot_) continue;
        slot.buffer = BlockBuffer(size);
        free_.push_back(i);
    }
    // Relaxed: no other thread yet.
    segment_number_.store(segment_.segment_number, std::memory_order_relaxed);
    segment_count_.store(1, std::memory_order_relaxed);  // relaxed: no other thread yet
}

Writer::~Writer() {
    files_.close(file_);
    if (next_file_ >= 0) files_.close(next_file_);
}

bool Writer::poll_once() {
    bool progress = complete();
    progress |= serve_bodies();
    if (!failed_) {
        progress |= fill();
        progress |= submit();
        progress |= write_mark();
    } else if (!queue_.busy() && closing_.load(std::memory_order_acquire)) {  // pair: journal close
        closed_ = true;
    }
    if (!progress) watch();
    return progress;
}

bool Writer::has_work() const {
    if (!body_requests_.empty() && !body_replies_.full()) return true;
    if (closing_.load(std::memory_order_acquire) && !closed_) return true;  // pair: journal close
    return !failed_ && cursor_.position != feed_.visible_end();
}

bool Writer::pending() const {
    if (failed_) return queue_.busy();
    return !in_flight_.empty() || roll_ != Roll::none || (open_ && !slots_[*open_].builder.empty());
}

// --- What is written becomes durable

bool Writer::complete() {
    const std::span<const IoDone> done = queue_.poll();
    for (const IoDone& one : done) {
        if (one.os_error != 0) {
            fail(one.os_error);
        } else if (one.slot == header_request_) {
            activated();
        } else {
            const auto batch = std::find_if(
                in_flight_.begin(), in_flight_.end(),
                [&](const InFlight& candidate) { return candidate.slot == one.slot && !candidate.done; });
            PINNACE_CHECK(batch != in_flight_.end());
            batch->done = true;
        }
    }
    if (!done.empty() && !failed_) retire();
    return !done.empty();
}

void Writer::retire() {
    const std::size_t before = in_flight_.size();
    std::uint64_t bytes = 0;
    while (!in_flight_.empty() && in_flight_.front().done) {
        const InFlight& batch = in_flight_.front();
        durable_place_ = Place::make(batch.place.segment_number(), batch.place.offset() + batch.size);
        durable_index_ = std::max(durable_index_, batch.last_index);
        index_.add(batch.first_position, batch.last_position, batch.place);
        bytes += batch.size;
        Slot& slot = slots_[batch.slot];
        if (slot.large) large_busy_ = slot.large = false;
        if (batch.slot != seal_slot_) free_.push_back(batch.slot);
        in_flight_.pop_front();
    }
    if (bytes == 0) return;
    idle_since_ns_ = environment_.monotonic_ns();
    durable_.store(durable_index_, std::memory_order_release);  // pair: journal durable
    // Relaxed in all: figures to show.
    batch_count_.fetch_add(before - in_flight_.size(), std::memory_order_relaxed);
    byte_count_.fetch_add(bytes, std::memory_order_relaxed);
    oldest_submit_ns_.store(in_flight_.empty() ? 0 : in_flight_.front().submit_ns, std::memory_order_relaxed);
}

// --- What was published gets into a batch

bool Writer::open_batch() {
    if (open_) return true;
    if (free_.empty()) return false;
    open_ = free_.back();
    free_.pop_back();
    slots_[*open_].builder.begin(slots_[*open_].buffer.bytes());
    open_full_ = false;
    open_size_ = 0;
    return true;
}

bool Writer::fill() {
    const std::uint64_t end = feed_.visible_end();
    if (cursor_.position == end || open_size_ != 0 || !open_batch() || open_full_) return false;
    bool taken = false;
    const Time time = feed_.time();
    while (cursor_.position != end && !open_full_) {
        if (take_step()) {
            taken = true;
        } else if (!slots_[*open_].builder.empty()) {
            open_full_ = true;
        } else if (take_large_step()) {
            taken = open_full_ = true;
        } else {
            break;  // the large buffer is under way
        }
    }
    if (taken) {
        open_time_ = time;
        open_last_index_ = cursor_.index;
        feed_.release(cursor_.position);
    }
    return taken;
}

bool Writer::take_step() {
    BatchBuilder& builder = slots_[*open_].builder;
    const BatchBuilder::Mark mark = builder.mark();
    FeedCursor cursor = cursor_;
    bool ended = false;
    while (!ended) {
        const FeedEntry& entry = feed_.take(cursor);
        ended = entry.ends_step();
        if (!builder.add(entry.header, {entry.head(), entry.header.head_size},
                         {entry.body, entry.body_size()})) {
            builder.rollback(mark);
            return false;
        }
    }
    cursor_ = cursor;
    return true;
}

bool Writer::take_large_step() {
    if (large_busy_) return false;
    if (large_buffer_.bytes().empty())
        large_buffer_ = BlockBuffer(align_up(options_.step_size_max, segment_.block_size));
    Slot& slot = slots_[*open_];
    slot.builder.begin(large_buffer_.bytes());
    // A step beyond what the options promise is our own fault.
    PINNACE_CHECK(take_step());
    slot.large = large_busy_ = true;
    return true;
}

// --- Batches get written

bool Writer::submit() {
    if (roll_ != Roll::none) return go_on_rolling();
    if (!open_ || slots_[*open_].builder.empty() || in_flight_.size() >= options_.in_flight_max) return false;
    BatchBuilder& builder = slots_[*open_].builder;
    if (open_size_ == 0) {
        const bool worth_it = open_full_ || builder.size_max() >= options_.batch_eager_size;
        if (!in_flight_.empty() && !worth_it) return false;
        open_size_ = builder.close();
    }
    if (!fits(open_size_)) {
        begin_roll();
        return true;
    }
    const std::uint32_t slot = *open_;
    open_.reset();
    submit_batch(slot, BatchType::data, open_size_, 0);
    open_size_ = 0;
    marked_ = false;
    return true;
}

void Writer::submit_batch(std::uint32_t slot, BatchType type, std::uint32_t size, std::uint32_t flags) {
    BatchBuilder& builder = slots_[slot].builder;
    const TimeStamp now = environment_.clocks();
    engine_time_ = std::max(engine_time_, open_time_);
    const Place place = Place::make(segment_.segment_number, offset_);
    const BatchStamp stamp{.type = type,
                           .epoch = segment_.epoch,
                           .place = place,
                           .batch_sequence = batch_sequence_,
                           .first_record_sequence = record_sequence_,
                           .durable_up_to = durable_place_,
                           .engine_time = engine_time_,
                           .boot_time = now.boot_time,
                           .boot_id_hash = now.boot_id_hash,
                           .wall_time = now.wall_time,
                           .incarnation = segment_.incarnation,
                           .previous_chain = chain_,
                           .flags = flags};
    const std::span<const std::byte> bytes = builder.stamp(stamp, chain_);
    const std::uint32_t record_count = type == BatchType::seal ? 0 : builder.index_count();
    if (type != BatchType::seal) {
        directory_.push_back({static_cast<std::uint32_t>(offset_), record_count, engine_time_,
                              builder.first_position(), builder.last_position()});
    }
    const std::int64_t submit_ns = environment_.monotonic_ns();
    in_flight_.push_back({slot, false, place, size, type == BatchType::data ? open_last_index_ : 0,
                          builder.first_position(), builder.last_position(), submit_ns});
    // Relaxed: for the watch of other threads.
    if (in_flight_.size() == 1) oldest_submit_ns_.store(submit_ns, std::memory_order_relaxed);
    const std::uint64_t offset = offset_;
    offset_ += size;
    // Relaxed: a figure.
    segment_fill_.store(static_cast<double>(offset_) / static_cast<double>(segment_.capacity),
                        std::memory_order_relaxed);
    ++batch_sequence_;
    record_sequence_ += record_count;
    queue_.write(slot, file_, offset, bytes, true);
}

// A mark closes the window in which the last batches are durable and no later one says so.
bool Writer::write_mark() {
    const bool closing = closing_.load(std::memory_order_acquire);  // pair: journal close
    if (marked_ && !closing) return false;
    if (!in_flight_.empty() || roll_ != Roll::none || cursor_.position != feed_.visible_end()) return false;
    if (open_ && !slots_[*open_].builder.empty()) return false;
    if (closing && close_marked_) {
        closed_ = true;
        return false;
    }
    if (!closing && environment_.monotonic_ns() - idle_since_ns_ < options_.mark_after_ns) return false;
    if (!fits(segment_.block_size)) {
        begin_roll();
        return true;
    }
    if (!open_batch()) return false;
    const std::uint32_t slot = *open_;
    open_.reset();
    const std::uint32_t size = slots_[slot].builder.close();
    submit_batch(slot, BatchType::mark, size, closing ? kBatchClean : 0);
    marked_ = true;
    close_marked_ = closing;
    return true;
}

std::int64_t Writer::next_mark_ns() const {
    if (marked_ || failed_) return -1;
    return std::max<std::int64_t>(0, idle_since_ns_ + options_.mark_after_ns - environment_.monotonic_ns());
}

// --- Trouble

void Writer::fail(int os_error) {
    if (failed_) return;
    failed_ = true;
    os_error_.store(os_error, std::memory_order_relaxed);  // relaxed: set_state releases it
    set_state(State::failed);
}

void Writer::watch() {
    if (failed_) return;
    State state = State::running;
    if (!in_flight_.empty()) {
        const std::int64_t age = environment_.monotonic_ns() - in_flight_.front().submit_ns;
        if (age > options_.stalled_after_ns) {
            state = State::stalled;
        } else if (age > options_.slow_after_ns) {
            state = State::slow;
        }
    }
    if (spares_.out_of_space()) state = State::no_space;
    set_state(state);
}

void Writer::set_state(State state) {
    const auto value = static_cast<std::uint32_t>(state);
    // Relaxed: only this thread writes it.
    if (state_.load(std::memory_order_relaxed) == value) return;
    state_.store(value, std::memory_order_release);  // pair: journal state
}

void Writer::drain() {
    while (queue_.busy()) {
        queue_.poll();
        if (queue_.busy()) queue_.wait(1'000'000);
    }
}

}  // namespace pinnace::journal
