// SPDX-License-Identifier: Apache-2.0
// How long a start takes that finds many messages in its queue: against a plain read of the same files,
// once from the whole journal and once from a checkpoint. The page cache is emptied of the files before each.
#pragma once

#include <cstdint>
#include <expected>
#include <string>

namespace pinnace::bench {

struct RecoveryReport {
    std::uint64_t messages = 0;
    std::uint64_t payload_bytes = 0;
    std::uint64_t journal_bytes = 0;  // of batches, padding included
    double seconds = 0;               // from the whole journal
    double raw_read_seconds = 0;      // of its segments, in order
    std::uint64_t checkpoint_bytes = 0;
    double checkpoint_seconds = 0;       // from a checkpoint that holds all of them
    double checkpoint_read_seconds = 0;  // of it

    std::string to_json() const;
    std::string to_text() const;
};

struct RecoveryChoice {
    std::uint64_t message_count = 0;
    std::uint32_t size = 64;
    std::string data_directory;  // empty: a fresh one in $TMPDIR, which goes away
    std::uint64_t segment_size = 256u << 20;
};

std::expected<RecoveryReport, std::string> recovery(const RecoveryChoice& choice);

}  // namespace pinnace::bench
