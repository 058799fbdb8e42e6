// SPDX-License-Identifier: Apache-2.0
// Checkpoints as files: written into the reserve and named when durable, read back as a whole or not at all.
//
// 1. Nothing has a checkpoint's name that was not durable as a whole before it got it.
// 2. A checkpoint is looked at from its first byte to its last before anything in it is used.
#pragma once

#include <cstdint>
#include <expected>
#include <span>
#include <vector>

#include "core/fold.h"
#include "journal/batch.h"
#include "journal/checkpoint_format.h"
#include "journal/error.h"
#include "journal/files.h"
#include "journal/segment_reader.h"

namespace pinnace::journal {

// Takes what a fold makes. Errors are kept until finish().
class CheckpointWriter final : public FoldOutput {
 public:
    CheckpointWriter(Files& files, std::uint64_t epoch);
    ~CheckpointWriter();
    CheckpointWriter(const CheckpointWriter&) = delete;
    CheckpointWriter& operator=(const CheckpointWriter&) = delete;

    // Where the body of the message lies that is recorded next.
    void next_place(Place place) { next_place_ = place; }
    void record(const RecordHeader& header, std::span<const std::byte> head) override;
    // `header` says what it reaches; the rest is filled in. Durable under its name when it returns.
    std::expected<CheckpointHeader, Error> finish(CheckpointHeader header);
    bool failed() const { return error_.has_value(); }

 private:
    void open();
    void flush();
    void write(BatchBuilder& builder, BatchType type);
    void fail(std::string_view what, int os_error);

    Files& files_;
    Files::Handle file_ = -1;
    std::optional<Error> error_;
    BlockBuffer buffer_;
    BlockBuffer places_buffer_;
    BatchBuilder builder_;
    std::vector<PlaceEntry> places_;  // of the messages in the batch
    Place next_place_;
    Place last_place_;
    std::uint64_t epoch_;
    std::uint64_t offset_;
    std::uint64_t batch_count_ = 0;
    std::uint64_t record_count_ = 0;
    std::uint32_t chain_ = 0;
};

// What a checkpoint holds, in order.
class CheckpointSink {
 public:
    virtual void places(std::span<const PlaceEntry> places) = 0;
    virtual std::expected<void, Error> records(const SegmentReader& reader, const BatchView& batch) = 0;

 protected:
    ~CheckpointSink() = default;
};

// Looks at no more than the header.
std::expected<CheckpointHeader, Error> read_checkpoint_header(Files& files, std::uint64_t generation);

// Reads all of it; without a sink only to see that it is whole. What is wrong with it is an error of the
// kind damaged or newer.
std::expected<CheckpointHeader, Error> read_checkpoint(Files& files, std::uint64_t generation,
                                                       CheckpointSink* sink);

}  // namespace pinnace::journal
