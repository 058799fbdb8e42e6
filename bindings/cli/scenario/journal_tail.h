// SPDX-License-Identifier: Apache-2.0
// JournalTail: reads the journal of a running engine from its files, as far as it is written: what has left a
// queue for a reason (X5), and what was moved (A2). A scenario learns of these as nobody else would: from the
// disk.
//
// 1. Nothing is locked or changed. Call it when the engine has settled: what it has not written yet is not
// seen. 2. It goes on over the engine's lives; each begins a segment that names the end of the one before.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bindings/cli/scenario/world.h"
#include "journal/segment_reader.h"

namespace pinnace::scenario {

class JournalTail {
 public:
    explicit JournalTail(std::string directory) : directory_(std::move(directory)) {}

    // Reads what is new.
    Outcome<void> read();

    // Of the first message that this one came of.
    MessageId id_of(Position position) const;
    // Where the message is now in this queue; its id, if it was not moved there.
    Position position_of(std::string_view queue, MessageId id) const;
    // Since the last call for it.
    std::vector<ExpiredMessage> take_expired(std::string_view queue);

 private:
    // False: there is nothing more in this segment.
    Outcome<bool> read_segment();
    bool begin_next_segment();
    void note(const journal::BatchRecord& record);

    std::string directory_;
    std::unique_ptr<journal::Files> files_;
    std::uint64_t segment_number_ = 0;
    std::uint64_t offset_ = 0;
    journal::ChainPosition chain_;
    std::map<std::uint32_t, std::string> queue_names_;  // by the ids of records
    std::map<Position, Position> origin_of_;
    std::map<std::pair<std::string, MessageId>, Position> moved_to_;
    std::map<std::string, std::vector<ExpiredMessage>, std::less<>> expired_;
};

}  // namespace pinnace::scenario
