// SPDX-License-Identifier: Apache-2.0
// Which checkpoint a start begins with: the newest one that is whole and that the journal continues;
// without one,
// the whole journal, as long as it is there.
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
    if (!survey.checkpoints.empty()) found.next_generation = survey.checkpoints.back() + 1;
    bool chosen = false;
    for (auto generation = survey.checkpoints.rbegin(); generation != survey.checkpoints.rend();
         ++generation) {
        // Those before the newest whole one are looked at only if they are needed.
        const auto header = chosen ? read_checkpoint_header(files, *generation)
                                   : read_checkpoint(files, *generation, nullptr);
        if (!header && header.error().kind == ErrorKind::newer) return std::unexpected(header.error());
        if (!header) {
            found.remarks.push_back(header.error().text);
            found.broken.push_back(*generation);
            continue;
        }
        if (!chosen) {
            if (const auto fits = check_fit(files, survey, *header); !fits)
                return std::unexpected(fits.error());
        }
        chosen = true;
        found.whole.insert(found.whole.begin(), *header);
    }
    if (chosen || survey.checkpoints.empty()) return found;
    if (!survey.active.empty() && survey.active.front().header.segment_number == 1) return found;
    Error error = damage(files, segment_name(1), 0,
                         "the segment is missing, and no checkpoint is whole that makes up for it");
    for (const std::string& remark : found.remarks) error.text += " " + remark;
    return std::unexpected(error);
}

}  // namespace pinnace::journal
