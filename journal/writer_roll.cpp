// SPDX-License-Identifier: Apache-2.0
// The writer's way from one segment to the next: seal, wait until all is durable, put the next segment to
// use.
#include <cerrno>
#include <cstring>

#include "core/check.h"
#include "journal/writer.h"

namespace pinnace::journal {
namespace {

std::uint64_t seal_size(std::size_t batch_count, std::uint32_t block_size) {
    return align_up(
        sizeof(BatchHeader) + sizeof(SealBody) + batch_count * sizeof(DirectoryEntry) + sizeof(RecordHeader),
        block_size);
}

SealBody totals(const std::vector<DirectoryEntry>& directory) {
    SealBody body;
    body.batch_count = directory.size();
    for (const DirectoryEntry& entry : directory) {
        body.record_count += entry.record_count;
        if (body.first_position == 0) body.first_position = entry.first_position;
        if (entry.last_position != 0) body.last_position = entry.last_position;
    }
    if (!directory.empty()) {
        body.first_time = directory.front().engine_time;
        body.last_time = directory.back().engine_time;
    }
    return body;
}

}  // namespace

// There is always room for the seal that comes after.
bool Writer::fits(std::uint32_t size) const {
    const std::uint64_t end = size + seal_size(directory_.size() + 1, segment_.block_size);
    PINNACE_CHECK(header_blocks_size(segment_.block_size) + end <= segment_.capacity || !directory_.empty());
    return offset_ + end <= segment_.capacity;
}

void Writer::begin_roll() {
    PINNACE_CHECK(roll_ == Roll::none);
    const SealBody body = totals(directory_);
    const std::span<const std::byte> entries = std::as_bytes(std::span(directory_));
    std::vector<std::byte> payload(sizeof body + entries.size());
    std::memcpy(payload.data(), &body, sizeof body);
    if (!entries.empty()) std::memcpy(payload.data() + sizeof body, entries.data(), entries.size());
    Slot& slot = slots_[seal_slot_];
    const std::uint64_t size = seal_size(directory_.size(), segment_.block_size);
    slot.buffer = BlockBuffer(size + segment_.block_size);
    slot.builder.begin(slot.buffer.bytes());
    PINNACE_CHECK(slot.builder.add(RecordHeader{}, {}, payload));
    PINNACE_CHECK(slot.builder.close() == size);
    submit_batch(seal_slot_, BatchType::seal, static_cast<std::uint32_t>(size), 0);
    roll_ = Roll::sealing;
}

bool Writer::go_on_rolling() {
    if (roll_ == Roll::activating || !in_flight_.empty()) return false;
    roll_ = Roll::waiting_for_spare;
    const auto spare = spares_.take();
    if (!spare) {
        // Who closes must not wait for space that may never come; what was not durable was never reported so.
        if (spares_.out_of_space() && closing_.load(std::memory_order_acquire))
            fail(ENOSPC);  // pair: journal close
        return false;
    }
    activate(*spare);
    return true;
}

// The seal and all before it are durable: the next header may say so.
void Writer::activate(const Spare& spare) {
    PINNACE_CHECK(spare.header.segment_number == segment_.segment_number + 1);
    next_segment_ = spare.header;
    next_file_ = spare.file;
    next_segment_.state = SegmentState::active;
    next_segment_.reason = SegmentReason::roll;
    next_segment_.incarnation = segment_.incarnation;
    next_segment_.previous_segment_number = segment_.segment_number;
    next_segment_.previous_epoch = segment_.epoch;
    next_segment_.previous_end = durable_place_;
    next_segment_.previous_chain = chain_;
    next_segment_.first_batch_sequence = batch_sequence_;
    next_segment_.first_record_sequence = record_sequence_;
    next_segment_.time_floor = engine_time_;
    encode_header_blocks(next_segment_, header_blocks_.bytes());
    roll_ = Roll::activating;
    queue_.write(header_request_, next_file_, 0, header_blocks_.bytes(), true);
}

void Writer::activated() {
    files_.close(file_);
    file_ = next_file_;
    next_file_ = -1;
    segment_ = next_segment_;
    offset_ = header_blocks_size(segment_.block_size);
    segment_fill_.store(0, std::memory_order_relaxed);  // relaxed: a figure
    durable_place_ = Place::make(segment_.segment_number, offset_);
    directory_.clear();
    roll_ = Roll::none;
    // Relaxed: figures to show.
    segment_number_.store(segment_.segment_number, std::memory_order_relaxed);
    segment_count_.fetch_add(1, std::memory_order_relaxed);  // relaxed: a figure to show
    if (options_.on_roll) options_.on_roll(segment_.segment_number);
}

}  // namespace pinnace::journal
