// SPDX-License-Identifier: Apache-2.0
// Reads bodies back from segments (rule 16): finds the batch by the place index, checks headers, index and
// payload, and copies the body out. The batch read last is kept, so that a backlog drained in order is read
// once.
#pragma once

#include <cstdint>
#include <expected>
#include <span>
#include <unordered_map>
#include <vector>

#include "journal/batch.h"
#include "journal/files.h"
#include "journal/place_index.h"
#include "journal/segment.h"

namespace pinnace::journal {

struct BodyFailure {
    int os_error = 0;  // 0: not there, or damaged
    Place place;       // where it was looked for
};

class BodyReader {
 public:
    BodyReader(Files& files, const PlaceIndex& index) : files_(files), index_(index) {}
    ~BodyReader();
    BodyReader(const BodyReader&) = delete;
    BodyReader& operator=(const BodyReader&) = delete;

    // The body of the message at `position` must have exactly the size of `to`.
    std::expected<Place, BodyFailure> read(Position position, std::span<std::byte> to);

 private:
    struct Segment {
        Files::Handle file = -1;
        SegmentHeader header;
        std::uint64_t used = 0;  // of the last use, to choose which one to close
    };
    static constexpr std::size_t kOpenMax = 8;

    std::expected<Segment*, BodyFailure> segment(Place place);
    // Makes the batch at `place` the one in memory.
    std::expected<void, BodyFailure> load(Place place);

    Files& files_;
    const PlaceIndex& index_;
    std::unordered_map<std::uint64_t, Segment> segments_;
    std::uint64_t use_count_ = 0;
    BlockBuffer buffer_;
    Place loaded_;  // {}: none
    // The messages of the loaded batch by position; their records lie in buffer_.
    struct Message {
        Position position;
        BatchRecord record;
    };
    std::vector<Message> messages_;
};

}  // namespace pinnace::journal
