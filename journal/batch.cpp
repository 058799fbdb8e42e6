// SPDX-License-Identifier: Apache-2.0
#include "journal/batch.h"

#include <algorithm>
#include <cstring>

#include "core/check.h"
#include "journal/crc32c.h"

namespace pinnace::journal {

void BatchBuilder::begin(std::span<std::byte> buffer) {
    PINNACE_CHECK(buffer.size() % block_size_ == 0 && buffer.size() >= block_size_);
    buffer_ = buffer;
    rollback(Mark{});
    total_size_ = 0;
}

std::size_t BatchBuilder::room() const {
    const std::size_t taken = used_ + index_.size() * sizeof(RecordHeader) + merger_.byte_count_max();
    return taken < buffer_.size() ? buffer_.size() - taken : 0;
}

std::size_t BatchBuilder::size_max() const {
    return align_up(used_ + index_.size() * sizeof(RecordHeader) + merger_.byte_count_max(), block_size_);
}

bool BatchBuilder::add(const RecordHeader& header, std::span<const std::byte> head,
                       std::span<const std::byte> body) {
    const std::size_t payload_size = head.size() + body.size();
    // An acknowledgment that is merged needs no more than one that is not.
    if (room() < align_up(payload_size, 8) + sizeof(RecordHeader) + 32) return false;
    ++record_count_;
    if (RemoveMerger::accepts(header) && payload_size == 0) {
        merger_.add(header);
        return true;
    }
    // Nothing follows a stop, so what was merged goes before it.
    if (is_kind(header, RecordKind::stop)) {
        merger_.emit(
            [this](const RecordHeader& merged, std::span<const std::byte> runs) { put(merged, runs, {}); });
    }
    put(header, head, body);
    return true;
}

void BatchBuilder::put(const RecordHeader& header, std::span<const std::byte> head,
                       std::span<const std::byte> body) {
    const std::size_t payload_size = head.size() + body.size();
    std::byte* to = buffer_.data() + used_;
    std::uint32_t crc = crc32c_copy(0, to, head.data(), head.size());
    crc = crc32c_copy(crc, to + head.size(), body.data(), body.size());
    const std::size_t filled = align_up(payload_size, 8);
    std::memset(to + payload_size, 0, filled - payload_size);
    used_ += filled;
    RecordHeader& entry = index_.emplace_back(header);
    entry.head_size = static_cast<std::uint16_t>(head.size());
    entry.payload_size = static_cast<std::uint32_t>(payload_size);
    entry.payload_crc = mask_crc(crc);
    if (is_kind(header, RecordKind::message)) {
        if (first_position_ == 0) first_position_ = header.position;
        last_position_ = std::max(last_position_, header.position);
    }
}

BatchBuilder::Mark BatchBuilder::mark() const {
    return {used_, index_.size(), merger_.count(), record_count_, first_position_, last_position_};
}

void BatchBuilder::rollback(const Mark& mark) {
    used_ = mark.used;
    index_.resize(mark.index_count);
    merger_.cut(mark.removed_count);
    record_count_ = mark.record_count;
    first_position_ = mark.first_position;
    last_position_ = mark.last_position;
}

std::uint32_t BatchBuilder::close() {
    PINNACE_CHECK(total_size_ == 0);
    merger_.emit(
        [this](const RecordHeader& merged, std::span<const std::byte> runs) { put(merged, runs, {}); });
    const std::size_t index_size = index_.size() * sizeof(RecordHeader);
    const std::size_t end = used_ + index_size;
    const std::size_t total = align_up(end, block_size_);
    PINNACE_CHECK(total <= buffer_.size());
    const std::uint32_t crc = crc32c_copy(0, buffer_.data() + used_, index_.data(), index_size);
    std::memset(buffer_.data() + end, 0, total - end);
    index_crc_ = mask_crc(crc);
    total_size_ = static_cast<std::uint32_t>(total);
    return total_size_;
}

std::span<const std::byte> BatchBuilder::stamp(const BatchStamp& stamp, std::uint32_t& chain) {
    PINNACE_CHECK(total_size_ != 0);
    BatchHeader header;
    header.type = stamp.type;
    header.epoch = stamp.epoch;
    header.place = stamp.place;
    header.batch_sequence = stamp.batch_sequence;
    header.durable_up_to = stamp.durable_up_to;
    header.engine_time = stamp.engine_time;
    header.boot_time = stamp.boot_time;
    header.boot_id_hash = stamp.boot_id_hash;
    header.wall_time = stamp.wall_time;
    header.incarnation = stamp.incarnation;
    header.total_size = total_size_;
    header.body_size = static_cast<std::uint32_t>(used_ - sizeof(BatchHeader));
    header.index_offset = static_cast<std::uint32_t>(used_);
    header.index_count = index_count();
    header.previous_chain = stamp.previous_chain;
    header.index_crc = index_crc_;
    header.flags = stamp.flags;
    header.first_record_sequence = stamp.first_record_sequence;
    seal_header(header);
    std::memcpy(buffer_.data(), &header, sizeof header);
    chain = next_chain(header.previous_chain, header.header_crc, header.index_crc);
    return buffer_.first(total_size_);
}

const char* to_text(BatchVerdict verdict) {
    switch (verdict) {
        case BatchVerdict::good:
            return "good";
        case BatchVerdict::zero:
            return "zeros where a batch should begin";
        case BatchVerdict::no_magic:
            return "no batch where one should begin";
        case BatchVerdict::bad_header:
            return "a batch header whose checksum does not match";
        case BatchVerdict::newer:
            return "a batch of a newer format";
        case BatchVerdict::other_epoch:
            return "a batch of a former use of the file";
        case BatchVerdict::wrong_place:
            return "a batch that belongs elsewhere";
        case BatchVerdict::wrong_sequence:
            return "a batch that is not the next one";
        case BatchVerdict::wrong_chain:
            return "a batch that follows other bytes than these";
        case BatchVerdict::bad_size:
            return "a batch with impossible lengths";
        case BatchVerdict::bad_index:
            return "a batch whose index does not match its checksum";
        case BatchVerdict::bad_payload:
            return "a record whose payload does not match its checksum";
    }
    return "?";
}

namespace {

bool is_zero(std::span<const std::byte> bytes) {
    return std::all_of(bytes.begin(), bytes.end(), [](std::byte byte) { return byte == std::byte{0}; });
}

bool type_is_known(BatchType type) {
    return type == BatchType::data || type == BatchType::seal || type == BatchType::mark ||
           type == BatchType::places;
}

bool sizes_are_possible(const BatchHeader& header, const BatchExpected& expected) {
    if (header.header_size != sizeof(BatchHeader)) return false;
    if (header.total_size == 0 || header.total_size % expected.block_size != 0) return false;
    if (header.total_size > expected.size_max) return false;
    if (header.body_size % 8 != 0) return false;
    const std::uint64_t index_offset = std::uint64_t{sizeof(BatchHeader)} + header.body_size;
    if (header.index_offset != index_offset) return false;
    const std::uint64_t end = index_offset + std::uint64_t{header.index_count} * sizeof(RecordHeader);
    // Padding is what fills the last block, no more.
    return align_up(end, expected.block_size) == header.total_size;
}

}  // namespace

BatchVerdict read_batch_header(std::span<const std::byte> bytes, const BatchExpected& expected,
                               BatchHeader& header) {
    header = BatchHeader{};
    if (bytes.size() < sizeof(BatchHeader)) return BatchVerdict::bad_size;
    BatchHeader found;
    std::memcpy(&found, bytes.data(), sizeof found);
    if (found.magic != kBatchMagic) {
        return is_zero(bytes.first(sizeof found)) ? BatchVerdict::zero : BatchVerdict::no_magic;
    }
    if (!header_crc_matches(found)) return BatchVerdict::bad_header;
    header = found;
    if (found.epoch != expected.epoch) return BatchVerdict::other_epoch;
    if (found.version > kFormatVersion || !type_is_known(found.type)) return BatchVerdict::newer;
    if (found.place != expected.place) return BatchVerdict::wrong_place;
    if (!sizes_are_possible(found, expected)) return BatchVerdict::bad_size;
    if (found.batch_sequence != expected.batch_sequence) return BatchVerdict::wrong_sequence;
    if (found.previous_chain != expected.previous_chain) return BatchVerdict::wrong_chain;
    return BatchVerdict::good;
}

std::expected<BatchView, BatchVerdict> BatchView::parse(std::span<const std::byte> bytes,
                                                        const BatchHeader& header) {
    if (bytes.size() < header.total_size) return std::unexpected(BatchVerdict::bad_size);
    const std::size_t index_size = std::size_t{header.index_count} * sizeof(RecordHeader);
    if (header.index_offset > header.total_size || index_size > header.total_size - header.index_offset) {
        return std::unexpected(BatchVerdict::bad_size);
    }
    const BatchView view(bytes.first(header.total_size), header);
    if (mask_crc(crc32c(0, bytes.data() + header.index_offset, index_size)) != header.index_crc) {
        return std::unexpected(BatchVerdict::bad_index);
    }
    std::uint64_t body_size = 0;
    for (std::uint32_t i = 0; i < header.index_count; ++i) {
        const RecordHeader record = view.record_header(i);
        if (record.head_size > record.payload_size) return std::unexpected(BatchVerdict::bad_index);
        body_size += align_up(record.payload_size, 8);
    }
    if (body_size != header.body_size) return std::unexpected(BatchVerdict::bad_index);
    return view;
}

RecordHeader BatchView::record_header(std::uint32_t i) const {
    RecordHeader record;
    std::memcpy(&record, bytes_.data() + header_.index_offset + std::size_t{i} * sizeof record,
                sizeof record);
    return record;
}

bool payload_matches(const BatchRecord& record) {
    return mask_crc(crc32c(0, record.payload.data(), record.payload.size())) == record.header.payload_crc;
}

bool BatchView::payloads_match() const {
    bool match = true;
    each([&](const BatchRecord& record) { return match = payload_matches(record); });
    return match;
}

bool BatchView::padding_is_zero() const {
    std::size_t offset = sizeof(BatchHeader);
    bool zero = true;
    each([&](const BatchRecord& record) {
        const std::size_t end = offset + record.payload.size();
        offset += align_up(record.payload.size(), 8);
        return zero = is_zero(bytes_.subspan(end, offset - end));
    });
    const std::size_t end = header_.index_offset + std::size_t{header_.index_count} * sizeof(RecordHeader);
    return zero && is_zero(bytes_.subspan(end));
}

std::uint32_t BatchView::next_chain() const {
    return journal::next_chain(header_.previous_chain, header_.header_crc, header_.index_crc);
}

}  // namespace pinnace::journal
