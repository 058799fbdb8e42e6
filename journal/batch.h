// SPDX-License-Identifier: Apache-2.0
// Batches as bytes: the builder turns records into them, the reader judges bytes and turns them into records.
// Neither does any I/O; the writer, recovery, cold reads and in-memory journals use them alike.
//
// 1. The builder copies each payload once, summing it in the same pass.
// 2. A step that does not fit is taken back by mark() and rollback(); the batch before it stays whole.
// 3. The reader trusts no length: each is compared with the bytes at hand before it is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <vector>

#include "core/record.h"
#include "journal/format.h"
#include "journal/remove_merger.h"

namespace pinnace::journal {

// What only the writer knows, at the moment of writing.
struct BatchStamp {
    BatchType type = BatchType::data;
    std::uint64_t epoch = 0;
    Place place;
    std::uint64_t batch_sequence = 0;
    std::uint64_t first_record_sequence = 0;
    Place durable_up_to;
    std::int64_t engine_time = 0;
    std::int64_t boot_time = 0;
    std::uint64_t boot_id_hash = 0;
    std::int64_t wall_time = 0;
    std::uint32_t incarnation = 0;
    std::uint32_t previous_chain = 0;
    std::uint32_t flags = 0;
};

class BatchBuilder {
 public:
    explicit BatchBuilder(std::uint32_t block_size) : block_size_(block_size) {}

    // Empties the builder; bytes go to `buffer`, whose size must be a multiple of the block size.
    void begin(std::span<std::byte> buffer);
    // False: no room; nothing has changed. Sizes and checksum of the header are filled in here.
    bool add(const RecordHeader& header, std::span<const std::byte> head, std::span<const std::byte> body);

    struct Mark {
        std::size_t used = sizeof(BatchHeader);
        std::size_t index_count = 0;
        std::size_t removed_count = 0;
        std::uint64_t record_count = 0;
        Position first_position = 0;
        Position last_position = 0;
    };
    Mark mark() const;
    void rollback(const Mark& mark);

    bool empty() const { return record_count_ == 0; }
    // Bytes that the batch takes at most if it is closed now, padding included.
    std::size_t size_max() const;
    // Records taken in; the index may have fewer entries, since acknowledgments are merged.
    std::uint64_t record_count() const { return record_count_; }
    // Of its messages; 0: none.
    Position first_position() const { return first_position_; }
    Position last_position() const { return last_position_; }

    // Writes merged acknowledgments, index and padding; returns the batch's size. Only stamp() may follow.
    std::uint32_t close();
    std::uint32_t index_count() const { return static_cast<std::uint32_t>(index_.size()); }
    // Writes the header; returns the bytes. `chain` becomes the value for the next batch.
    std::span<const std::byte> stamp(const BatchStamp& stamp, std::uint32_t& chain);

 private:
    void put(const RecordHeader& header, std::span<const std::byte> head, std::span<const std::byte> body);
    std::size_t room() const;

    std::uint32_t block_size_;
    std::span<std::byte> buffer_;
    std::size_t used_ = sizeof(BatchHeader);
    std::vector<RecordHeader> index_;
    RemoveMerger merger_;
    std::uint64_t record_count_ = 0;
    Position first_position_ = 0;
    Position last_position_ = 0;
    std::uint32_t total_size_ = 0;  // 0: not closed
    std::uint32_t index_crc_ = 0;
};

// What the reader finds; each leads to one row of recovery_table.h.
enum class BatchVerdict : std::uint8_t {
    good,
    zero,            // nothing was written here
    no_magic,        // not a batch
    bad_header,      // its checksum does not match
    newer,           // a version that this reader does not know
    other_epoch,     // whole, but of a former life of the file
    wrong_place,     // whole, but belongs elsewhere
    wrong_sequence,  // whole, but not the next one
    wrong_chain,     // whole, but follows other bytes
    bad_size,        // lengths that cannot be
    bad_index,       // the index's checksum does not match, or its lengths contradict the header
    bad_payload,     // a payload's checksum does not match
};
inline constexpr std::size_t kBatchVerdictCount = 12;
const char* to_text(BatchVerdict verdict);

// The batch that is expected at a place.
struct BatchExpected {
    std::uint32_t block_size = kBlockSizeMin;
    std::uint64_t epoch = 0;
    Place place;
    std::uint64_t batch_sequence = 0;
    std::uint32_t previous_chain = 0;
    std::uint64_t size_max = 0;  // bytes to the end of the segment
};

// Judges a header alone: everything up to its lengths. `bytes` holds at least sizeof(BatchHeader). A header
// that is not good is filled in as far as its checksum matched.
BatchVerdict read_batch_header(std::span<const std::byte> bytes, const BatchExpected& expected,
                               BatchHeader& header);

// A record of a batch; head and body lie in the batch's bytes.
struct BatchRecord {
    RecordHeader header;
    std::span<const std::byte> payload;

    std::span<const std::byte> head() const { return payload.first(header.head_size); }
    std::span<const std::byte> body() const { return payload.subspan(header.head_size); }
};

// A batch whose header was good and whose bytes, header.total_size of them, are at hand.
class BatchView {
 public:
    // Judges the index; payloads are judged by payloads_match() or one by one.
    static std::expected<BatchView, BatchVerdict> parse(std::span<const std::byte> bytes,
                                                        const BatchHeader& header);

    const BatchHeader& header() const { return header_; }
    std::uint32_t record_count() const { return header_.index_count; }
    RecordHeader record_header(std::uint32_t i) const;
    bool payloads_match() const;
    // All that is not covered by a checksum is zero, as it was written.
    bool padding_is_zero() const;
    std::uint32_t next_chain() const;

    // visit(BatchRecord) -> bool, in order, until it says false.
    template <typename Visit>
    void each(Visit&& visit) const {
        std::size_t offset = sizeof(BatchHeader);
        for (std::uint32_t i = 0; i < header_.index_count; ++i) {
            const RecordHeader record = record_header(i);
            if (!visit(BatchRecord{record, bytes_.subspan(offset, record.payload_size)})) return;
            offset += align_up(record.payload_size, 8);
        }
    }

 private:
    BatchView(std::span<const std::byte> bytes, const BatchHeader& header) : bytes_(bytes), header_(header) {}

    std::span<const std::byte> bytes_;
    BatchHeader header_;
};

bool payload_matches(const BatchRecord& record);

}  // namespace pinnace::journal
