// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <cstring>

#include "core/check.h"
#include "journal/checkpoint.h"
#include "journal/segment.h"

namespace pinnace::journal {
namespace {

constexpr std::size_t kBufferSize = 1u << 20;

}  // namespace

CheckpointWriter::CheckpointWriter(Files& files, std::uint64_t epoch)
    : files_(files),
      buffer_(kBufferSize),
      places_buffer_(kBufferSize),
      builder_(files.block_size()),
      epoch_(epoch),
      offset_(files.block_size()) {
    builder_.begin(buffer_.bytes());
    open();
}

CheckpointWriter::~CheckpointWriter() {
    if (file_ >= 0) files_.close(file_);
}

void CheckpointWriter::open() {
    auto file = files_.open(kCheckpointReserveName, Access::direct);
    if (!file && file.error() == ENOENT) file = files_.create(kCheckpointReserveName);
    if (!file) return fail("cannot be opened", file.error());
    file_ = *file;
}

void CheckpointWriter::fail(std::string_view what, int os_error) {
    if (!error_) error_ = file_error(files_, kCheckpointReserveName, what, os_error, offset_);
}

void CheckpointWriter::record(const RecordHeader& header, std::span<const std::byte> head) {
    if (error_) return;
    if (!builder_.add(header, head, {})) {
        flush();
        PINNACE_CHECK(builder_.add(header, head, {}));
    }
    ++record_count_;
    if (!is_kind(header, RecordKind::kept) || next_place_ == last_place_) return;
    places_.push_back({header.position, next_place_});
    last_place_ = next_place_;
}

void CheckpointWriter::flush() {
    if (error_ || builder_.empty()) return;
    if (!places_.empty()) {
        BatchBuilder places(files_.block_size());
        places.begin(places_buffer_.bytes());
        PINNACE_CHECK(places.add(RecordHeader{}, {}, std::as_bytes(std::span(places_))));
        write(places, BatchType::places);
        places_.clear();
    }
    write(builder_, BatchType::data);
    builder_.begin(buffer_.bytes());
}

void CheckpointWriter::write(BatchBuilder& builder, BatchType type) {
    builder.close();
    BatchStamp stamp;
    stamp.type = type;
    stamp.epoch = epoch_;
    stamp.place = Place{offset_};
    stamp.batch_sequence = ++batch_count_;
    stamp.previous_chain = chain_;
    const auto bytes = builder.stamp(stamp, chain_);
    if (const auto written = files_.write(file_, offset_, bytes); !written)
        return fail("cannot be written", written.error());
    offset_ += bytes.size();
}

std::expected<CheckpointHeader, Error> CheckpointWriter::finish(CheckpointHeader header) {
    flush();
    header.block_size = files_.block_size();
    header.epoch = epoch_;
    header.size = offset_;
    header.batch_count = batch_count_;
    header.record_count = record_count_;
    header.last_chain = chain_;
    seal_header(header);
    const std::span<std::byte> block = buffer_.bytes().first(header.block_size);
    std::memset(block.data(), 0, block.size());
    std::memcpy(block.data(), &header, sizeof header);
    const auto step = [&](const char* what, auto&& action) {
        if (error_) return;
        if (const std::expected<void, int> done = action(); !done) fail(what, done.error());
    };
    step("cannot be written", [&] { return files_.write(file_, 0, block); });
    step("cannot be synced", [&] { return files_.sync(file_); });
    step("cannot be renamed",
         [&] { return files_.rename(kCheckpointReserveName, checkpoint_name(header.generation)); });
    step("cannot be renamed", [&] { return files_.sync_directory(); });
    if (error_) return std::unexpected(*error_);
    return header;
}

}  // namespace pinnace::journal
