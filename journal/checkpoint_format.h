// SPDX-License-Identifier: Apache-2.0
// The bytes of a checkpoint as structs; FORMAT.md is the same as a page.
//
// A checkpoint is a file of batches like those of a segment, whose records are what core/fold.h leaves of all
// records up to the end of one segment. It is believed as a whole or not at all: the header names the last
// batch's chain. Before each batch of records comes one that says where the bodies of its messages lie.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "journal/format.h"

namespace pinnace::journal {

inline constexpr std::uint64_t kCheckpointMagic = 0x54504b434e4e4950;  // "PINNCKPT"
inline constexpr std::uint32_t kCheckpointVersion = 1;

// Block 0; the rest of the block is zero.
struct CheckpointHeader {
    std::uint64_t magic = kCheckpointMagic;
    std::uint32_t version = kCheckpointVersion;
    std::uint32_t reader_version_min = 1;
    std::uint32_t header_size = 256;
    std::uint32_t block_size = 0;
    Uuid uuid;
    std::uint64_t generation = 0;
    std::uint64_t epoch =
        0;                   // of its batches: random, so that bytes of a former use of the file do not match
    std::uint64_t size = 0;  // of header and batches; the file may be longer
    std::uint64_t batch_count = 0;
    std::uint64_t record_count = 0;
    // The segment whose end it reaches, and what the next one continues.
    std::uint64_t segment_number = 0;
    std::uint64_t segment_epoch = 0;
    Place end;
    std::uint64_t batch_sequence = 0;
    std::uint64_t record_sequence = 0;
    std::uint32_t chain = 0;
    std::uint32_t incarnation = 0;
    std::int64_t engine_time = 0;
    std::int64_t boot_time = 0;
    std::uint64_t boot_id_hash = 0;
    std::int64_t wall_time = 0;
    std::uint64_t last_position = 0;
    std::uint32_t last_kind = 0;   // of the records: a stop is an orderly end
    std::uint32_t last_chain = 0;  // of its own batches
    std::uint8_t reserved[76] = {};
    std::uint32_t header_crc = 0;
};
static_assert(sizeof(CheckpointHeader) == 256 && std::has_unique_object_representations_v<CheckpointHeader>);
static_assert(offsetof(CheckpointHeader, uuid) == 24 && offsetof(CheckpointHeader, generation) == 40);
static_assert(offsetof(CheckpointHeader, segment_number) == 80 && offsetof(CheckpointHeader, end) == 96);
static_assert(offsetof(CheckpointHeader, chain) == 120 && offsetof(CheckpointHeader, engine_time) == 128);
static_assert(offsetof(CheckpointHeader, last_position) == 160 &&
              offsetof(CheckpointHeader, reserved) == 176);

// Payload of a batch of type places: messages from `position` on lie in the batch at `place`, up to the
// next entry.
struct PlaceEntry {
    std::uint64_t position = 0;
    Place place;
};
static_assert(sizeof(PlaceEntry) == 16 && std::has_unique_object_representations_v<PlaceEntry>);

// A file gets such a name when all of it is durable.
std::string checkpoint_name(std::uint64_t generation);
std::optional<std::uint64_t> parse_checkpoint_name(std::string_view name);
// Room for the next one, which is written into it: a checkpoint must be possible on a full disk.
inline constexpr const char* kCheckpointReserveName = "checkpoint-reserve";

void seal_header(CheckpointHeader& header);

}  // namespace pinnace::journal
