// SPDX-License-Identifier: Apache-2.0
// Which checkpoint a start begins with: the newest one that is whole and that the journal continues;
// without one, the whole journal, as long as it is there.
#include <algorithm>

#include "journal/checkpoint.h"
#include "journal/recovery.h"

namespace pinnace::journal {
namespace {

// The segment behind it, null if that is not there.
const SegmentHeader* next_segment(const Survey& survey, const CheckpointHeader& checkpoint) {
    for (const FoundSegment& found : survey.active)
        if (found.header.segment_number == checkpoint.segment_number + 1) return &found.header;
    return nullptr;
}

bool continues(const SegmentHeader& segment, const CheckpointHeader& checkpoint) {
    return segment.uuid == checkpoint.uuid && segment.previous_epoch == checkpoint.segment_epoch &&
           segment.previous_end == checkpoint.end && segment.previous_chain == checkpoint.chain &&
           segment.first_batch_sequence == checkpoint.batch_sequence &&
           segment.first_record_sequence == checkpoint.record_sequence;
}

// A whole one that the journal does not continue is no accident of its own: something durable is gone.
std::expected<void, Error> check_fit(const Files& files, const Survey& survey,
                                     const CheckpointHeader& checkpoint) {
    const std::string name = checkpoint_name(checkpoint.generation);
    const SegmentHeader* next = next_segment(survey, checkpoint);
    if (next == nullptr)
        return std::unexpected(damage(files, segment_name(checkpoint.segment_number + 1), 0,
                                      "the segment behind " + name + " is missing"));
    if (!continues(*next, checkpoint))
        return std::unexpected(damage(files, segment_name(next->segment_number), 0,
                                      "the segment does not continue what is in " + name));
    return {};
}

}  // namespace

std::expected<FoundCheckpoints, Error> find_checkpoints(Files& files, const Survey& survey) {
    FoundCheckpoints found;
    for (const std::uint64_t generation : survey.checkpoints) {
        found.next_generation = generation + 1;
        const auto header = read_checkpoint_header(files, generation);
        if (header) {
            found.whole.push_back(*header);
        } else if (header.error().kind == ErrorKind::newer) {
            return std::unexpected(header.error());
        } else {
            found.remarks.push_back(header.error().text);
            found.broken.push_back(generation);
        }
    }
    return found;
}

std::expected<void, Error> load_checkpoint(Files& files, const CheckpointHeader& checkpoint,
                                           BatchSink& sink) {
    struct Sink final : CheckpointSink {
        explicit Sink(BatchSink& batches) : to(batches) {}
        void places(std::span<const PlaceEntry> places) override { to.places(places); }
        std::expected<void, Error> records(const SegmentReader& reader, const BatchView& batch) override {
            return to.kept(reader, batch);
        }
        BatchSink& to;
    } to(sink);
    const auto read = read_checkpoint(files, checkpoint.generation, &to);
    if (!read) return std::unexpected(read.error());
    return {};
}

std::expected<JournalEnd, Error> read_back(Files& files, const Survey& survey, FoundCheckpoints& found,
                                           BatchSink& sink) {
    while (!found.whole.empty()) {
        const CheckpointHeader newest = found.whole.back();
        const auto loaded = load_checkpoint(files, newest, sink);
        if (loaded) {
            if (const auto fits = check_fit(files, survey, newest); !fits)
                return std::unexpected(fits.error());
            return replay(files, survey, &newest, Extent::all, sink);
        }
        if (loaded.error().kind == ErrorKind::newer) return std::unexpected(loaded.error());
        found.remarks.push_back(loaded.error().text);
        found.broken.push_back(newest.generation);
        found.whole.pop_back();
        sink.begin_again();
    }
    const bool begins_later = !survey.checkpoints.empty() &&
                              (survey.active.empty() || survey.active.front().header.segment_number != 1);
    if (!begins_later) return replay(files, survey, nullptr, Extent::all, sink);
    Error error = damage(files, segment_name(1), 0,
                         "the segment is missing, and no checkpoint is whole that makes up for it");
    for (const std::string& remark : found.remarks) error.text += " " + remark;
    return std::unexpected(error);
}

}  // namespace pinnace::journal
