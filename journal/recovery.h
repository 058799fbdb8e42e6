// SPDX-License-Identifier: Apache-2.0
// Recovery: reads the journal back in order, gives every record to a sink, decides by recovery_table.h where
// it ends, and then begins a new segment. Up to that point nothing on the disk is changed, so that it can be
// done again.
#pragma once

#include <deque>
#include <expected>
#include <string>
#include <vector>

#include "journal/checkpoint_format.h"
#include "journal/environment.h"
#include "journal/files.h"
#include "journal/journal.h"
#include "journal/place_index.h"
#include "journal/segment_reader.h"
#include "journal/spares.h"
#include "journal/writer.h"

namespace pinnace::journal {

// A segment's file as it was found, in order of the numbers.
struct FoundSegment {
    std::string name;
    SegmentHeader header;
};

struct Survey {
    std::vector<FoundSegment> active;
    std::vector<FoundSegment> prepared;
    std::vector<std::string> leftovers;      // of a preparation that a crash ended
    std::vector<std::uint64_t> checkpoints;  // generations, the newest last
};

// Lists the directory and reads all headers; checks names, links and that no segment is missing.
std::expected<Survey, Error> survey(Files& files, const std::vector<std::string>& names_allowed);

// Where the journal was found to end.
struct JournalEnd {
    Recovered recovered;
    ChainPosition chain;
    Place end;  // {}: there is no active segment
};

// The newest one comes last.
struct FoundCheckpoints {
    std::vector<CheckpointHeader> whole;  // as far as was looked at: the headers, or all of the newest
    std::vector<std::uint64_t> broken;    // generations
    std::vector<std::string> remarks;     // what is wrong with them
    std::uint64_t next_generation = 1;
};

// Looks at their headers only.
std::expected<FoundCheckpoints, Error> find_checkpoints(Files& files, const Survey& survey);

// Called for what a checkpoint holds, then for each good batch behind it, in order.
class BatchSink {
 public:
    virtual void places(std::span<const PlaceEntry> places) = 0;
    virtual std::expected<void, Error> kept(const SegmentReader& reader, const BatchView& batch) = 0;
    virtual std::expected<void, Error> batch(const SegmentReader& reader, const BatchView& batch,
                                             Place place) = 0;
    // The checkpoint was not whole: what came is void, all of it comes anew.
    virtual void begin_again() = 0;

 protected:
    ~BatchSink() = default;
};

enum class Extent : std::uint8_t {
    all,
    ended,  // but for the last segment, which is in use
};

// Gives what the checkpoint holds.
std::expected<void, Error> load_checkpoint(Files& files, const CheckpointHeader& checkpoint, BatchSink& sink);
// Gives the segments behind it, or all where there is none.
std::expected<JournalEnd, Error> replay(Files& files, const Survey& survey,
                                        const CheckpointHeader* checkpoint, Extent extent, BatchSink& sink);

// The newest checkpoint that is whole and all behind it, or the whole journal: what a start does. Those that
// turn out not to be whole go from `found.whole` to `found.broken`.
std::expected<JournalEnd, Error> read_back(Files& files, const Survey& survey, FoundCheckpoints& found,
                                           BatchSink& sink);

struct BeginOptions {
    std::uint64_t segment_size = 0;
    std::uint64_t first_segment_size =
        0;  // of one that must be made before the start; smaller: a quicker start
};

struct Begun {
    WriterStart start;
    Recovered recovered;
    std::deque<Spare> spares;
    std::uint64_t next_segment_number = 0;
};

// Syncs the old end, then puts a new segment to use; the journal's old end is named in it.
std::expected<Begun, Error> begin_segment(Files& files, Environment& environment, const Survey& survey,
                                          JournalEnd end, const BeginOptions& options);

// Gives each record to a RecordSink and enters messages into the index.
class RecordReplay final : public BatchSink {
 public:
    RecordReplay(RecordSink& sink, PlaceIndex& index) : sink_(sink), index_(index) {}
    std::expected<void, Error> batch(const SegmentReader& reader, const BatchView& batch,
                                     Place place) override;
    void places(std::span<const PlaceEntry> places) override;
    std::expected<void, Error> kept(const SegmentReader& reader, const BatchView& batch) override;
    void begin_again() override {
        sink_.begin_again();
        index_ = PlaceIndex();
    }

 private:
    template <typename Given>
    std::expected<void, Error> give(const SegmentReader& reader, const BatchView& batch, Place place,
                                    Given&& given);

    RecordSink& sink_;
    PlaceIndex& index_;
};

}  // namespace pinnace::journal
