// SPDX-License-Identifier: Apache-2.0
// Reads a segment from the front, batch by batch, each with a verdict, in bounded memory: one piece of the
// file, or one batch if that is larger. Used by recovery and by verify and dump.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <span>

#include "journal/batch.h"
#include "journal/error.h"
#include "journal/files.h"
#include "journal/recovery_table.h"

namespace pinnace::journal {

// What the next batch has to name; carried from segment to segment.
struct ChainPosition {
    std::uint64_t batch_sequence = 1;
    std::uint64_t record_sequence = 0;
    std::uint32_t chain = 0;
};

// What lies from an offset to the end of a segment.
struct Remainder {
    Evidence evidence = Evidence::clean;
    std::uint64_t batch_count = 0;   // whole headers of this segment's epoch, each in its place
    std::uint64_t end = 0;           // of the last block that is not zero
    Place proof;                     // the highest durable_up_to found
    std::uint64_t proof_offset = 0;  // of the batch that says so
};

class SegmentReader {
 public:
    SegmentReader(Files& files, std::string name, Files::Handle file, const SegmentHeader& header)
        : files_(files), name_(std::move(name)), file_(file), header_(header) {}

    // The batch at `offset`; with verdict good it is in view(), valid until the next call. An error is one of
    // reading.
    std::expected<BatchVerdict, Error> read(std::uint64_t offset, const ChainPosition& chain);
    const BatchView& view() const { return *view_; }
    // The header as far as its own checksum matched.
    const BatchHeader& batch_header() const { return batch_header_; }
    // Judges all that lies behind `offset`, at which no good batch begins.
    std::expected<Remainder, Error> remainder(std::uint64_t offset);

    const SegmentHeader& header() const { return header_; }
    const std::string& name() const { return name_; }
    std::uint64_t byte_count() const { return byte_count_; }

 private:
    // Also of a checkpoint, which has no number and may be longer than 32 bits tell.
    Place place_of(std::uint64_t offset) const { return {(header_.segment_number << 32) + offset}; }
    // `size` bytes at `offset`, both within the file.
    std::expected<std::span<const std::byte>, Error> bytes(std::uint64_t offset, std::size_t size);

    Files& files_;
    std::string name_;
    Files::Handle file_;
    SegmentHeader header_;
    BlockBuffer buffer_;
    std::uint64_t buffer_offset_ = 0;
    std::size_t buffer_used_ = 0;
    BatchHeader batch_header_;
    std::optional<BatchView> view_;
    std::uint64_t byte_count_ = 0;
};

}  // namespace pinnace::journal
