// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "journal/checkpoint.h"
#include "journal/crc32c.h"
#include "journal/open_file.h"
#include "journal/segment.h"

namespace pinnace::journal {
namespace {

std::expected<CheckpointHeader, Error> read_header(Files& files, const std::string& name,
                                                   std::uint64_t generation, Files::Handle file) {
    const BlockBuffer block(kBlockSizeMin);
    const auto read = files.read(file, 0, block.bytes());
    if (!read) return std::unexpected(file_error(files, name, "cannot be read", read.error()));
    CheckpointHeader header;
    if (*read < kBlockSizeMin) return std::unexpected(damage(files, name, 0, "the checkpoint ends here"));
    std::memcpy(&header, block.bytes().data(), sizeof header);
    if (header.magic != kCheckpointMagic || header.header_size < sizeof header ||
        header.header_size > kBlockSizeMin)
        return std::unexpected(damage(files, name, 0, "it is not a checkpoint"));
    std::uint32_t crc = 0;
    const std::size_t summed = header.header_size - sizeof crc;
    std::memcpy(&crc, block.bytes().data() + summed, sizeof crc);
    if (crc != mask_crc(crc32c(0, block.bytes().data(), summed)))
        return std::unexpected(damage(files, name, 0, "the checkpoint's header does not match its checksum"));
    if (header.reader_version_min > kCheckpointVersion)
        return std::unexpected(Error{ErrorKind::newer,
                                     files.path(name) + " was written by a newer version of pinnace.",
                                     files.path(name), 0, 0});
    const std::uint32_t block_size = header.block_size;
    const bool possible =
        block_size >= kBlockSizeMin && block_size <= kBlockSizeMax && (block_size & (block_size - 1)) == 0 &&
        header.size % block_size == 0 && header.size >= block_size && header.segment_number != 0 &&
        header.end.segment_number() == header.segment_number && header.generation == generation;
    if (!possible) return std::unexpected(damage(files, name, 0, "the checkpoint's header cannot be true"));
    return header;
}

}  // namespace

std::expected<CheckpointHeader, Error> read_checkpoint_header(Files& files, std::uint64_t generation) {
    const std::string name = checkpoint_name(generation);
    const auto opened = files.open(name, Access::read);
    if (!opened) return std::unexpected(file_error(files, name, "cannot be opened", opened.error()));
    const OpenFile file(files, *opened);
    return read_header(files, name, generation, file.get());
}

std::expected<CheckpointHeader, Error> read_checkpoint(Files& files, std::uint64_t generation,
                                                       CheckpointSink* sink) {
    const std::string name = checkpoint_name(generation);
    const auto opened = files.open(name, Access::read);
    if (!opened) return std::unexpected(file_error(files, name, "cannot be opened", opened.error()));
    const OpenFile file(files, *opened);
    const auto header = read_header(files, name, generation, file.get());
    if (!header) return header;
    SegmentHeader form;  // what a reader of batches has to know of a file
    form.epoch = header->epoch;
    form.capacity = header->size;
    form.block_size = header->block_size;
    SegmentReader reader(files, name, file.get(), form);
    ChainPosition chain;
    std::uint64_t offset = header->block_size;
    while (offset < header->size) {
        const auto verdict = reader.read(offset, chain);
        if (!verdict) return std::unexpected(verdict.error());
        if (*verdict == BatchVerdict::newer)
            return std::unexpected(Error{ErrorKind::newer,
                                         files.path(name) + " was written by a newer version of pinnace.",
                                         files.path(name), offset, 0});
        if (*verdict != BatchVerdict::good)
            return std::unexpected(damage(files, name, offset, std::string("found ") + to_text(*verdict)));
        const BatchView& batch = reader.view();
        if (sink != nullptr && batch.header().type == BatchType::data) {
            if (const auto taken = sink->records(reader, batch); !taken)
                return std::unexpected(taken.error());
        } else if (sink != nullptr && batch.header().type == BatchType::places) {
            batch.each([&](const BatchRecord& record) {
                std::vector<PlaceEntry> places(record.payload.size() / sizeof(PlaceEntry));
                std::memcpy(places.data(), record.payload.data(), places.size() * sizeof(PlaceEntry));
                sink->places(places);
                return true;
            });
        }
        offset += batch.header().total_size;
        chain.chain = batch.next_chain();
        ++chain.batch_sequence;
    }
    if (chain.batch_sequence != header->batch_count + 1 || chain.chain != header->last_chain)
        return std::unexpected(damage(files, name, offset, "the checkpoint's header names another end"));
    return header;
}

}  // namespace pinnace::journal
