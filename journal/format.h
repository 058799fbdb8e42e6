// SPDX-License-Identifier: Apache-2.0
// The bytes of the journal as structs; FORMAT.md is the same as a page. Nothing here may change without a new
// version and a line in its history table.
//
// 1. A segment is a file: its header in block 0, the same again in block 1, then batches, then zeros or
// rubbish.
// 2. A batch begins at a multiple of the block size and its size is one. It is valid as a whole or not there.
// 3. Every byte is covered: the header by its own checksum, the index by index_crc, each payload by the
// payload_crc in
//    its index entry; bytes between them are zero, which verify looks at.
// 4. Little-endian. Checksums are CRC32C, masked (crc32c.h).
#pragma once

#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/record.h"

namespace pinnace::journal {

static_assert(std::endian::native == std::endian::little,
              "the journal's bytes are written as they lie in memory");

inline constexpr std::uint32_t kBlockSizeMin = 4096;
inline constexpr std::uint32_t kBlockSizeMax = 65536;
inline constexpr std::uint64_t kSegmentSizeMax = std::uint64_t{0xffff'0000};  // offsets are 32 bits
inline constexpr std::uint32_t kFormatVersion = 1;
inline constexpr std::uint32_t kReaderVersionMin = 1;

// Where something lies on disk: segment number and byte offset, in the order of writing. Not a position (rule
// 12).
struct Place {
    std::uint64_t bits = 0;

    static constexpr Place make(std::uint64_t segment_number, std::uint64_t offset) {
        return {(segment_number << 32) | (offset & 0xffff'ffffu)};
    }
    constexpr std::uint64_t segment_number() const { return bits >> 32; }
    constexpr std::uint64_t offset() const { return bits & 0xffff'ffffu; }
    constexpr auto operator<=>(const Place&) const = default;
};
static_assert(std::has_unique_object_representations_v<Place>);

struct Uuid {
    std::uint8_t bytes[16] = {};
    constexpr bool operator==(const Uuid&) const = default;
};

inline constexpr std::uint64_t kSegmentMagic = 0x314745534e4e4950;  // "PINNSEG1"
inline constexpr std::uint32_t kBatchMagic = 0x31544142;            // "BAT1"

enum class SegmentState : std::uint32_t { prepared = 1, active = 2 };

// Why a segment was begun.
enum class SegmentReason : std::uint32_t { none = 0, create = 1, roll = 2, recovery = 3 };

// Blocks 0 and 1 of a segment; the rest of each block is zero. It fits a sector, so it is whole or the one
// before. All that begins with previous_ is zero in a prepared segment and in the first one of a journal.
struct SegmentHeader {
    std::uint64_t magic = kSegmentMagic;
    std::uint32_t version = kFormatVersion;
    std::uint32_t reader_version_min = kReaderVersionMin;  // the oldest reader that copes
    std::uint32_t header_size = 256;
    SegmentState state = SegmentState::prepared;
    Uuid uuid;                         // of the journal, the same in all its segments
    std::uint64_t segment_number = 0;  // the first one is 1
    std::uint64_t epoch = 0;     // random each time the file is prepared: bytes of a former life do not match
    std::uint64_t capacity = 0;  // size of the file
    std::uint32_t block_size = 0;
    std::uint32_t incarnation = 0;  // the engine's life, counted from 1
    std::uint64_t previous_segment_number = 0;
    std::uint64_t previous_epoch = 0;
    Place previous_end;                // where the segment before this one ends; all before it is durable
    std::uint32_t previous_chain = 0;  // the chain's value there
    SegmentReason reason = SegmentReason::none;
    std::uint64_t first_batch_sequence = 0;
    std::uint64_t first_record_sequence = 0;  // records in the journal before this segment
    std::int64_t time_floor = 0;              // engine time: nothing in this segment is older
    std::int64_t created_wall_time = 0;       // for showing only
    std::uint8_t reserved[116] = {};
    std::uint32_t header_crc = 0;  // of all before it
};
static_assert(sizeof(SegmentHeader) == 256 && std::has_unique_object_representations_v<SegmentHeader>);
static_assert(offsetof(SegmentHeader, uuid) == 24 && offsetof(SegmentHeader, segment_number) == 40);
static_assert(offsetof(SegmentHeader, epoch) == 48 && offsetof(SegmentHeader, capacity) == 56);
static_assert(offsetof(SegmentHeader, block_size) == 64 &&
              offsetof(SegmentHeader, previous_segment_number) == 72);
static_assert(offsetof(SegmentHeader, previous_end) == 88 && offsetof(SegmentHeader, previous_chain) == 96);
static_assert(offsetof(SegmentHeader, first_batch_sequence) == 104 &&
              offsetof(SegmentHeader, time_floor) == 120);
static_assert(offsetof(SegmentHeader, reserved) == 136 && offsetof(SegmentHeader, header_crc) == 252);

enum class BatchType : std::uint16_t {
    data = 1,
    seal = 2,     // the last batch of a segment: one index entry of kind none whose payload is a SealBody
    mark = 3,     // no records: says how far the journal was durable
    barrier = 4,  // reserved for a repair that accepts a loss
    places = 5,  // of a checkpoint: one index entry of kind none whose payload is PlaceEntry after PlaceEntry
};

inline constexpr std::uint32_t kBatchClean =
    1;  // flag of a mark: an orderly close, nothing follows in this life

// The first bytes of a batch; then the payloads, each at the next multiple of 8; then the index: index_count
// RecordHeaders; then zeros.
struct BatchHeader {
    std::uint32_t magic = kBatchMagic;
    std::uint16_t version = kFormatVersion;
    BatchType type = BatchType::data;
    std::uint64_t epoch = 0;  // the segment's
    Place place;              // of this batch: in the wrong place it is not valid
    std::uint64_t batch_sequence = 0;
    Place
        durable_up_to;  // all before this was durable when this header was built: damage there is no torn end
    std::int64_t engine_time = 0;  // rule 22: the four times belong together
    std::int64_t boot_time = 0;    // CLOCK_BOOTTIME
    std::uint64_t boot_id_hash = 0;
    std::int64_t wall_time = 0;
    std::uint32_t incarnation = 0;
    std::uint32_t total_size = 0;  // a multiple of the block size
    std::uint32_t body_size = 0;   // bytes between header and index
    std::uint32_t index_offset = 0;
    std::uint32_t index_count = 0;
    std::uint32_t previous_chain = 0;
    std::uint32_t index_crc = 0;
    std::uint32_t flags = 0;
    std::uint64_t first_record_sequence = 0;  // records in the journal before this batch
    std::uint16_t header_size = 128;
    std::uint8_t reserved[10] = {};
    std::uint32_t header_crc = 0;  // of all before it
};
static_assert(sizeof(BatchHeader) == 128 && std::has_unique_object_representations_v<BatchHeader>);
static_assert(offsetof(BatchHeader, epoch) == 8 && offsetof(BatchHeader, place) == 16);
static_assert(offsetof(BatchHeader, batch_sequence) == 24 && offsetof(BatchHeader, durable_up_to) == 32);
static_assert(offsetof(BatchHeader, engine_time) == 40 && offsetof(BatchHeader, wall_time) == 64);
static_assert(offsetof(BatchHeader, incarnation) == 72 && offsetof(BatchHeader, index_offset) == 84);
static_assert(offsetof(BatchHeader, index_crc) == 96 && offsetof(BatchHeader, first_record_sequence) == 104);
static_assert(offsetof(BatchHeader, header_size) == 112 && offsetof(BatchHeader, header_crc) == 124);

// Payload of a seal: totals, then batch_count directory entries. The last two are of messages only; 0: none.
struct SealBody {
    std::uint64_t batch_count = 0;
    std::uint64_t record_count = 0;
    std::int64_t first_time = 0;  // engine times of the first and the last batch
    std::int64_t last_time = 0;
    std::uint64_t first_position = 0;
    std::uint64_t last_position = 0;
};
static_assert(sizeof(SealBody) == 48 && std::has_unique_object_representations_v<SealBody>);

// One batch of a sealed segment.
struct DirectoryEntry {
    std::uint32_t offset = 0;
    std::uint32_t record_count = 0;
    std::int64_t engine_time = 0;
    std::uint64_t first_position = 0;  // of its messages; 0: none
    std::uint64_t last_position = 0;
};
static_assert(sizeof(DirectoryEntry) == 32 && std::has_unique_object_representations_v<DirectoryEntry>);

constexpr bool is_kind(const RecordHeader& header, RecordKind kind) {
    return header.kind == static_cast<std::uint16_t>(kind);
}

inline constexpr std::uint32_t kHeaderBlockCount = 2;
// A header of any version fits a sector, so that it is torn by no crash.
inline constexpr std::size_t kSegmentHeaderSizeMax = 512;

constexpr std::uint64_t align_up(std::uint64_t size, std::uint64_t alignment) {
    return (size + alignment - 1) / alignment * alignment;
}

// The value that the next batch names as previous_chain.
std::uint32_t next_chain(std::uint32_t previous_chain, std::uint32_t header_crc, std::uint32_t index_crc);

// Fill in, and compare, the checksum of a header.
void seal_header(SegmentHeader& header);
void seal_header(BatchHeader& header);
bool header_crc_matches(const SegmentHeader& header);
bool header_crc_matches(const BatchHeader& header);

}  // namespace pinnace::journal
