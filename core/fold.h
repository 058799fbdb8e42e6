// SPDX-License-Identifier: Apache-2.0
// Fold: what is left of records. Of all records of a journal it makes the fewest that give the same durable
// state when they are applied, for a checkpoint (architecture rule 21).
//
// Everything is shown to it twice, in order: first note(), of all; then begin(), keep() of all, end(). What
// was folded before can be folded again with what came after. Invariants:
// 1. Applying what comes out gives the durable digest of applying what went in, and so do both with whatever
//    records follow.
// 2. It knows nothing of a configuration but the deduplication windows: a queue that is not configured now
//    keeps its messages.
// 3. Its memory grows with what was removed (in ranges), with counts, moves and publishers; not with what is
//    queued.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/position_set.h"
#include "core/record.h"
#include "core/record_codec.h"
#include "core/types.h"

namespace pinnace {

class FoldOutput {
 public:
    // Both are valid during the call.
    virtual void record(const RecordHeader& header, std::span<const std::byte> head) = 0;

 protected:
    ~FoldOutput() = default;
};

class Fold {
 public:
    using DedupWindow = std::function<Duration(std::string_view queue)>;  // 0: none
    explicit Fold(DedupWindow dedup_window) : dedup_window_(std::move(dedup_window)) {}

    // The error is a whole sentence.
    std::expected<void, std::string> note(const RecordView& record);
    void begin(FoldOutput& out);
    // True: the record's body is still needed, for its own message or for one that was moved.
    bool keep(const RecordView& record, FoldOutput& out);
    void end(FoldOutput& out) const;

    // Positions below it were given out.
    Position next_position() const { return next_position_; }
    Time now() const { return now_; }

 private:
    struct Owned {
        RecordHeader header;
        HeadBytes head;
    };
    struct Queue {
        Owned definition;
        Duration dedup_window = 0;
        std::uint64_t entered = 0;  // M1
        PositionSet removed;
        std::unordered_map<Position, std::uint64_t> counts;
        std::map<Position, Time> deferred;
        std::vector<Owned> hand_over;       // the newest reservation, and what adds to it
        std::map<Position, bool> handings;  // single hand-overs; false: taken back since the reservation
    };
    struct Moved {
        Position origin;
        Position position;
        std::uint32_t queue;
    };
    struct Publisher {
        Owned definition;
        std::uint64_t highest = 0;
    };
    static constexpr std::uint32_t kIdMax = 1u << 24;  // as for the core: more definitions are damage

    static Owned own(const RecordView& record);
    static void put(const Owned& owned, FoldOutput& out) { out.record(owned.header, owned.head); }
    bool note_number(PublisherId id, std::uint64_t number);
    std::expected<void, std::string> note_entries(const RecordHeader& header, HeadReader& in,
                                                  Position origin);
    std::expected<void, std::string> note_in_queue(Queue& queue, const RecordView& record);
    void note_hand_over(Queue& queue, const RecordView& record);
    void remove(std::uint32_t queue, Position first, std::uint64_t count);
    bool keep_entries(const RecordHeader& header, HeadReader& in, HeadBytes& out, std::uint64_t& count);
    void put_counts(const RecordHeader& header, FoldOutput& out) const;

    DedupWindow dedup_window_;
    std::map<std::uint32_t, Owned> topics_;
    std::map<std::uint32_t, Queue> queues_;
    std::map<std::uint32_t, Publisher> publishers_;
    std::map<std::uint64_t, Owned> sessions_;
    std::vector<Moved> moved_;       // an entry each
    std::vector<Position> origins_;  // whose bodies moved messages need; sorted
    Position next_position_ = 1;
    Position reserved_ = 0;
    Time now_ = 0;
    std::vector<std::uint32_t> live_queues_;  // of the message that is being kept
    HeadBytes head_;
    HeadBytes entries_;
};

}  // namespace pinnace
