// SPDX-License-Identifier: Apache-2.0
// MemoryJournal: a journal in memory, for scenarios. Records become bytes by the real batch builder and
// come back by the real batch reader; only the disk is missing.
//
// 1. What was flushed is durable; what was not is lost with the engine's life.
// 2. A batch is one flush, so it holds whole steps (rule 7).
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/record.h"
#include "journal/batch.h"

namespace pinnace::scenario {

class MemoryJournal {
 public:
    void append(const RecordHeader& header, std::span<const std::byte> head, std::span<const std::byte> body);
    // Writes what was appended as one batch that carries the engine's time (rule 22).
    void flush(Time now);
    // A new life of the engine: what was not flushed is gone.
    void begin_life();

    // Every flushed record in order. The error is a whole sentence.
    using Apply = std::function<std::expected<void, std::string>(const RecordView&)>;
    std::expected<void, std::string> replay(const Apply& apply) const;

    // The body of a message's record, read back from its batch; nothing if it is not there.
    std::optional<std::vector<std::byte>> read_body(Position position) const;

 private:
    struct Pending {
        RecordHeader header;
        std::vector<std::byte> head;
        std::vector<std::byte> body;
    };
    struct Batch {
        std::uint64_t offset = 0;
        std::uint32_t previous_chain = 0;
    };

    bool build(journal::BatchBuilder& builder, std::span<std::byte> buffer) const;
    std::expected<journal::BatchView, std::string> read(std::size_t batch) const;

    std::vector<Pending> pending_;
    std::vector<std::byte> bytes_;  // of the one segment
    std::vector<Batch> batches_;
    std::map<Position, std::size_t> batch_of_;  // of message records
    std::uint32_t chain_ = 0;
    std::uint64_t record_count_ = 0;
    std::uint32_t incarnation_ = 1;
};

}  // namespace pinnace::scenario
