// SPDX-License-Identifier: Apache-2.0
#include "journal/recovery.h"

#include <algorithm>
#include <utility>

#include "journal/checkpoint.h"
#include "journal/lock.h"
#include "journal/open_file.h"

namespace pinnace::journal {
namespace {

Error foreign(const Files& files, std::string_view name, std::string_view why) {
    return {ErrorKind::foreign, files.path(name) + " " + std::string(why) + "; nothing was changed.",
            files.path(name), 0, 0};
}

std::expected<void, Error> sort_by_state(Files& files, const std::string& name, Survey& survey) {
    const auto opened = files.open(name, Access::read);
    if (!opened) return std::unexpected(file_error(files, name, "cannot be opened", opened.error()));
    const OpenFile file(files, *opened);
    const auto header = read_segment(files, name, file.get());
    if (!header) return std::unexpected(header.error());
    if (header->state == SegmentState::prepared) {
        // Batches are only written after the header became active: it must have been lost.
        SegmentReader reader(files, name, file.get(), *header);
        const std::uint64_t first = header_blocks_size(header->block_size);
        const auto verdict = reader.read(first, {});
        if (!verdict) return std::unexpected(verdict.error());
        if (reader.batch_header().epoch == header->epoch) {
            return std::unexpected(damage(files, name, first, "a prepared segment holds a batch"));
        }
    }
    auto& list = header->state == SegmentState::active ? survey.active : survey.prepared;
    list.push_back({name, *header});
    return {};
}

// Each segment names the one before it (P5); the first one of a journal names none.
std::expected<void, Error> check_links(const Files& files, const Survey& survey) {
    const FoundSegment* previous = nullptr;
    for (const FoundSegment& segment : survey.active) {
        const SegmentHeader& header = segment.header;
        if (previous == nullptr && header.segment_number > 1 && !survey.checkpoints.empty()) {
            previous = &segment;  // find_checkpoints() looks at what it continues
            continue;
        }
        const std::uint64_t previous_number = previous == nullptr ? 0 : previous->header.segment_number;
        if (header.segment_number != previous_number + 1) {
            return std::unexpected(
                damage(files, segment_name(previous_number + 1), 0, "the segment is missing"));
        }
        if (header.previous_segment_number != previous_number) {
            return std::unexpected(
                damage(files, segment.name, 0, "the header names another segment before it"));
        }
        if (previous != nullptr && header.previous_epoch != previous->header.epoch) {
            return std::unexpected(
                damage(files, segment.name, 0, "the segment before it is not the one it follows"));
        }
        previous = &segment;
    }
    const std::uint64_t last = previous == nullptr ? 0 : previous->header.segment_number;
    for (const FoundSegment& segment : survey.prepared) {
        const std::uint64_t number = segment.header.segment_number;
        // A spare is made when all before it exist; only the later ones can be missing.
        if (number < last || (previous == nullptr && survey.prepared.front().header.segment_number != 1)) {
            return std::unexpected(damage(files, segment_name(last + 1), 0, "the segment is missing"));
        }
    }
    return {};
}

std::expected<void, Error> check_uuids(const Files& files, const Survey& survey) {
    const FoundSegment* first = !survey.active.empty()     ? &survey.active.front()
                                : !survey.prepared.empty() ? &survey.prepared.front()
                                                           : nullptr;
    for (const auto* list : {&survey.active, &survey.prepared}) {
        for (const FoundSegment& segment : *list) {
            if (segment.header.uuid == first->header.uuid) continue;
            return std::unexpected(
                foreign(files, segment.name, "belongs to another journal than " + files.path(first->name)));
        }
    }
    return {};
}

}  // namespace

std::expected<Survey, Error> survey(Files& files, const std::vector<std::string>& names_allowed) {
    const auto names = files.list();
    if (!names) return std::unexpected(file_error(files, "", "cannot be listed", names.error()));
    Survey result;
    // Names sort as the numbers do.
    for (const std::string& name : *names) {
        if (name == kLockName || std::ranges::find(names_allowed, name) != names_allowed.end()) continue;
        if (is_preparing_name(name)) {
            result.leftovers.push_back(name);
        } else if (const auto generation = parse_checkpoint_name(name)) {
            result.checkpoints.push_back(*generation);
        } else if (name == kCheckpointReserveName) {
            continue;
        } else if (parse_segment_name(name)) {
            if (const auto sorted = sort_by_state(files, name, result); !sorted)
                return std::unexpected(sorted.error());
        } else {
            return std::unexpected(foreign(files, name, "is not a file of the journal"));
        }
    }
    if (const auto same = check_uuids(files, result); !same) return std::unexpected(same.error());
    if (const auto linked = check_links(files, result); !linked) return std::unexpected(linked.error());
    return result;
}

namespace {

class Replay {
 public:
    Replay(Files& files, const Survey& survey, Extent extent, BatchSink& sink)
        : files_(files), survey_(survey), extent_(extent), sink_(sink) {}

    std::expected<JournalEnd, Error> run(const CheckpointHeader* checkpoint) {
        if (checkpoint != nullptr) begin_behind(*checkpoint);
        for (std::size_t i = 0; i < survey_.active.size(); ++i) {
            const FoundSegment& found = survey_.active[i];
            if (checkpoint != nullptr && found.header.segment_number <= checkpoint->segment_number) continue;
            if (const auto begun = check_begin(found); !begun) return std::unexpected(begun.error());
            if (extent_ == Extent::ended && i + 1 == survey_.active.size()) break;
            if (const auto done = segment(i); !done) return std::unexpected(done.error());
        }
        end_.recovered.segment_count = survey_.active.size();
        return end_;
    }

 private:
    void begin_behind(const CheckpointHeader& checkpoint) {
        Recovered& recovered = end_.recovered;
        recovered.uuid = checkpoint.uuid;
        recovered.incarnation = checkpoint.incarnation;
        recovered.checkpoint_generation = checkpoint.generation;
        recovered.checkpoint_record_count = checkpoint.record_count;
        recovered.byte_count = checkpoint.size;
        recovered.last_kind = static_cast<RecordKind>(checkpoint.last_kind);
        recovered.last_position = checkpoint.last_position;
        recovered.time = {checkpoint.engine_time, checkpoint.boot_time, checkpoint.boot_id_hash,
                          checkpoint.wall_time};
        end_.chain = {checkpoint.batch_sequence, checkpoint.record_sequence, checkpoint.chain};
        end_.end = checkpoint.end;
    }

    std::expected<void, Error> segment(std::size_t number) {
        const FoundSegment& found = survey_.active[number];
        const SegmentHeader* next =
            number + 1 < survey_.active.size() ? &survey_.active[number + 1].header : nullptr;
        const auto opened = files_.open(found.name, Access::read);
        if (!opened)
            return std::unexpected(file_error(files_, found.name, "cannot be opened", opened.error()));
        const OpenFile file(files_, *opened);
        SegmentReader reader(files_, found.name, file.get(), found.header);
        std::uint64_t offset = header_blocks_size(found.header.block_size);
        const std::uint64_t proven_end =
            next == nullptr ? found.header.capacity : next->previous_end.offset();
        BatchVerdict verdict = BatchVerdict::good;
        bool clean = false;
        while (next == nullptr || offset < proven_end) {
            const auto read = reader.read(offset, end_.chain);
            if (!read) return std::unexpected(read.error());
            verdict = *read;
            if (verdict != BatchVerdict::good) break;
            if (const auto taken = batch(reader, offset); !taken) return taken;
            clean = reader.batch_header().type == BatchType::mark &&
                    (reader.batch_header().flags & kBatchClean) != 0;
            offset += reader.batch_header().total_size;
        }
        end_.end = Place::make(found.header.segment_number, offset);
        const auto ended = next == nullptr ? last_end(reader, offset, verdict, clean)
                                           : inner_end(reader, offset, verdict, *next);
        end_.recovered.byte_count += reader.byte_count();
        return ended;
    }

    std::expected<void, Error> check_begin(const FoundSegment& found) {
        const SegmentHeader& header = found.header;
        if (header.first_batch_sequence != end_.chain.batch_sequence ||
            header.first_record_sequence != end_.chain.record_sequence ||
            header.previous_chain != end_.chain.chain) {
            return std::unexpected(
                damage(files_, found.name, 0, "the header does not continue the segment before it"));
        }
        end_.recovered.uuid = header.uuid;
        end_.recovered.incarnation = header.incarnation;
        end_.recovered.time.engine_time = std::max(end_.recovered.time.engine_time, header.time_floor);
        return {};
    }

    std::expected<void, Error> batch(const SegmentReader& reader, std::uint64_t offset) {
        const BatchHeader& header = reader.batch_header();
        const Place place = Place::make(reader.header().segment_number, offset);
        if (header.first_record_sequence != end_.chain.record_sequence) {
            return std::unexpected(
                damage(files_, reader.name(), offset, "the batch does not continue the one before it"));
        }
        if (const auto taken = sink_.batch(reader, reader.view(), place); !taken) return taken;
        Recovered& recovered = end_.recovered;
        recovered.time = {std::max(recovered.time.engine_time, header.engine_time), header.boot_time,
                          header.boot_id_hash, header.wall_time};
        ++recovered.batch_count;
        ++end_.chain.batch_sequence;
        end_.chain.chain = reader.view().next_chain();
        if (header.type != BatchType::data) return {};
        reader.view().each([&](const BatchRecord& record) {
            recovered.last_kind = static_cast<RecordKind>(record.header.kind);
            if (is_kind(record.header, RecordKind::message)) {
                recovered.last_position = std::max(recovered.last_position, record.header.position);
            }
            return true;
        });
        recovered.record_count += header.index_count;
        end_.chain.record_sequence += header.index_count;
        return {};
    }

    // The next segment's header proves where this one ends.
    std::expected<void, Error> inner_end(const SegmentReader& reader, std::uint64_t offset,
                                         BatchVerdict verdict, const SegmentHeader& next) {
        if (verdict != BatchVerdict::good) {
            if (decide_end(verdict, false, Evidence::clean) == EndDecision::newer)
                return newer(reader, offset);
            return std::unexpected(damage(
                files_, reader.name(), offset,
                std::string("found ") + to_text(verdict) + ", but " + segment_name(next.segment_number) +
                    " says that all was durable up to " + std::to_string(next.previous_end.offset())));
        }
        if (next.previous_end != Place::make(reader.header().segment_number, offset)) {
            return std::unexpected(damage(files_, reader.name(), offset,
                                          "the batches do not end where " +
                                              segment_name(next.segment_number) + " says, at " +
                                              std::to_string(next.previous_end.offset())));
        }
        return {};
    }

    std::expected<void, Error> last_end(SegmentReader& reader, std::uint64_t offset, BatchVerdict verdict,
                                        bool clean) {
        // A clean mark is the last thing of a life: nothing was written after it.
        if (clean && verdict == BatchVerdict::zero) return {};
        const auto rest = reader.remainder(offset);
        if (!rest) return std::unexpected(rest.error());
        switch (decide_end(verdict, true, rest->evidence)) {
            case EndDecision::go_on:
            case EndDecision::end:
                return {};
            case EndDecision::newer:
                return newer(reader, offset);
            case EndDecision::torn:
                end_.recovered.torn_tail =
                    TornTail{files_.path(reader.name()), offset, rest->batch_count, rest->end - offset};
                return {};
            case EndDecision::damaged:
                break;
        }
        std::string what = std::string("found ") + to_text(verdict);
        if (rest->evidence == Evidence::proof) {
            what += ", but the batch at offset " + std::to_string(rest->proof_offset) +
                    " says that all was durable up to " + std::to_string(rest->proof.offset());
        }
        return std::unexpected(damage(files_, reader.name(), offset, what));
    }

    std::expected<void, Error> newer(const SegmentReader& reader, std::uint64_t offset) const {
        const std::string path = files_.path(reader.name());
        return std::unexpected(Error{
            ErrorKind::newer,
            path + " at offset " + std::to_string(offset) + " was written by a newer version of pinnace.",
            path, offset, 0});
    }

    Files& files_;
    const Survey& survey_;
    Extent extent_;
    BatchSink& sink_;
    JournalEnd end_;
};

}  // namespace

std::expected<JournalEnd, Error> replay(Files& files, const Survey& survey,
                                        const CheckpointHeader* checkpoint, Extent extent, BatchSink& sink) {
    return Replay(files, survey, extent, sink).run(checkpoint);
}

}  // namespace pinnace::journal
