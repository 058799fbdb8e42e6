// SPDX-License-Identifier: Apache-2.0
#include "journal/segment_reader.h"

#include <algorithm>
#include <cstring>

namespace pinnace::journal {
namespace {

constexpr std::size_t kPieceSize = 1u << 20;

}  // namespace

std::expected<std::span<const std::byte>, Error> SegmentReader::bytes(std::uint64_t offset,
                                                                      std::size_t size) {
    if (offset < buffer_offset_ || offset + size > buffer_offset_ + buffer_used_) {
        const std::uint64_t rest = header_.capacity - offset;
        const auto wanted =
            static_cast<std::size_t>(std::min<std::uint64_t>(std::max(size, kPieceSize), rest));
        if (buffer_.bytes().size() < wanted) buffer_ = BlockBuffer(std::max(wanted, kPieceSize));
        buffer_used_ = 0;
        buffer_offset_ = offset;
        const auto read = files_.read(file_, offset, buffer_.bytes().first(wanted));
        if (!read) return std::unexpected(file_error(files_, name_, "cannot be read", read.error(), offset));
        if (*read < wanted)
            return std::unexpected(damage(files_, name_, offset + *read, "the file ends here"));
        buffer_used_ = wanted;
        byte_count_ += wanted;
    }
    return buffer_.bytes().subspan(static_cast<std::size_t>(offset - buffer_offset_), size);
}

std::expected<BatchVerdict, Error> SegmentReader::read(std::uint64_t offset, const ChainPosition& chain) {
    view_.reset();
    batch_header_ = BatchHeader{};
    if (offset >= header_.capacity) return BatchVerdict::zero;
    const BatchExpected expected{header_.block_size,   header_.epoch, place_of(offset),
                                 chain.batch_sequence, chain.chain,   header_.capacity - offset};
    const auto block = bytes(offset, header_.block_size);
    if (!block) return std::unexpected(block.error());
    BatchVerdict verdict = read_batch_header(*block, expected, batch_header_);
    if (verdict == BatchVerdict::zero) {
        const auto filled =
            std::any_of(block->begin(), block->end(), [](std::byte byte) { return byte != std::byte{0}; });
        return filled ? BatchVerdict::no_magic : BatchVerdict::zero;
    }
    if (verdict != BatchVerdict::good) return verdict;
    const auto whole = bytes(offset, batch_header_.total_size);
    if (!whole) return std::unexpected(whole.error());
    const auto view = BatchView::parse(*whole, batch_header_);
    if (!view) return view.error();
    if (!view->payloads_match()) return BatchVerdict::bad_payload;
    view_ = *view;
    return BatchVerdict::good;
}

std::expected<Remainder, Error> SegmentReader::remainder(std::uint64_t offset) {
    Remainder found;
    for (std::uint64_t at = offset; at < header_.capacity; at += header_.block_size) {
        const auto block = bytes(at, header_.block_size);
        if (!block) return std::unexpected(block.error());
        std::uint64_t any = 0;
        for (std::size_t i = 0; i < block->size(); i += sizeof any) {
            std::uint64_t word;
            std::memcpy(&word, block->data() + i, sizeof word);
            any |= word;
        }
        if (any == 0) continue;
        found.end = at + header_.block_size;
        // Sequence, chain and sizes are whatever the header says: only that it is of this place and life
        // counts.
        BatchHeader batch;
        const BatchExpected expected{header_.block_size,   header_.epoch, place_of(at), 0, 0,
                                     header_.capacity - at};
        const BatchVerdict verdict = read_batch_header(*block, expected, batch);
        const bool whole = verdict == BatchVerdict::wrong_sequence || verdict == BatchVerdict::wrong_chain ||
                           verdict == BatchVerdict::good || verdict == BatchVerdict::bad_size;
        if (!whole) continue;
        ++found.batch_count;
        if (batch.durable_up_to > found.proof) {
            found.proof = batch.durable_up_to;
            found.proof_offset = at;
        }
    }
    if (found.end > offset) found.evidence = Evidence::residue;
    if (found.proof > place_of(offset)) found.evidence = Evidence::proof;
    return found;
}

}  // namespace pinnace::journal
