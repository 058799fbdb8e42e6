// SPDX-License-Identifier: Apache-2.0
// The second half of recovery: a new segment is put to use, and only then is the journal changed.
#include <algorithm>
#include <utility>

#include "journal/recovery.h"

namespace pinnace::journal {
namespace {

class Beginning {
 public:
    Beginning(Files& files, Environment& environment, const Survey& survey, const BeginOptions& options)
        : files_(files), environment_(environment), survey_(survey), options_(options) {}

    std::expected<Begun, Error> run(const JournalEnd& end) {
        if (const auto synced = sync_old_end(); !synced) return std::unexpected(synced.error());
        if (const auto removed = remove_leftovers(); !removed) return std::unexpected(removed.error());
        begun_.recovered = end.recovered;
        begun_.recovered.created = survey_.active.empty();
        ++begun_.recovered.incarnation;
        if (survey_.active.empty()) begun_.recovered.uuid = known_uuid();
        const std::uint64_t number = end.end.segment_number() + 1;
        auto header = next_segment(number);
        if (!header) return std::unexpected(header.error());
        if (const auto active = activate(*header, end); !active) return std::unexpected(active.error());
        if (const auto opened = open_spares(); !opened) return std::unexpected(opened.error());
        return std::move(begun_);
    }

 private:
    // What was read may be in a cache only, after a kill; the new header will claim that it is durable.
    std::expected<void, Error> sync_old_end() {
        if (survey_.active.empty()) return {};
        const std::string& name = survey_.active.back().name;
        const auto file = files_.open(name, Access::read);
        if (!file) return std::unexpected(file_error(files_, name, "cannot be opened", file.error()));
        const auto synced = files_.sync(*file);
        files_.close(*file);
        if (!synced) return std::unexpected(file_error(files_, name, "cannot be synced", synced.error()));
        // Names, too, may not be durable yet.
        const auto directory = files_.sync_directory();
        if (!directory) return std::unexpected(file_error(files_, "", "cannot be synced", directory.error()));
        return {};
    }

    // Gone for good before a file of that name is made again: else a crash could leave the old one renamed.
    std::expected<void, Error> remove_leftovers() {
        for (const std::string& name : survey_.leftovers) {
            if (const auto removed = files_.remove(name); !removed) {
                return std::unexpected(file_error(files_, name, "cannot be removed", removed.error()));
            }
        }
        if (survey_.leftovers.empty()) return {};
        if (const auto synced = files_.sync_directory(); !synced) {
            return std::unexpected(file_error(files_, "", "cannot be synced", synced.error()));
        }
        return {};
    }

    Uuid known_uuid() {
        if (!survey_.prepared.empty()) return survey_.prepared.front().header.uuid;
        Uuid uuid;
        for (std::size_t half = 0; half < 2; ++half) {
            const std::uint64_t value = environment_.random();
            for (std::size_t i = 0; i < 8; ++i)
                uuid.bytes[half * 8 + i] = static_cast<std::uint8_t>(value >> (8 * i));
        }
        return uuid;
    }

    // The spare with that number if it has the size asked for, else a new one.
    std::expected<SegmentHeader, Error> next_segment(std::uint64_t number) {
        usable_ = survey_.prepared;
        const bool fits = std::ranges::all_of(usable_, [&](const FoundSegment& found) {
            const SegmentHeader& header = found.header;
            return header.block_size == files_.block_size() &&
                   (header.capacity == options_.segment_size ||
                    header.capacity == options_.first_segment_size);
        });
        const bool in_order = !usable_.empty() && usable_.front().header.segment_number == number;
        if (!fits || !in_order) {
            for (auto found = usable_.rbegin(); found != usable_.rend(); ++found) {
                if (const auto removed = files_.remove(found->name); !removed) {
                    return std::unexpected(
                        file_error(files_, found->name, "cannot be removed", removed.error()));
                }
            }
            usable_.clear();
        }
        if (!usable_.empty()) {
            const SegmentHeader header = usable_.front().header;
            usable_.erase(usable_.begin());
            return header;
        }
        return prepare_segment(files_, {.uuid = begun_.recovered.uuid,
                                        .segment_number = number,
                                        .capacity = options_.first_segment_size,
                                        .block_size = files_.block_size(),
                                        .incarnation = begun_.recovered.incarnation,
                                        .epoch = environment_.random(),
                                        .wall_time = environment_.clocks().wall_time,
                                        .pace = {}});
    }

    std::expected<void, Error> activate(SegmentHeader header, const JournalEnd& end) {
        const std::string name = segment_name(header.segment_number);
        const auto file = files_.open(name, Access::direct);
        if (!file) return std::unexpected(file_error(files_, name, "cannot be opened", file.error()));
        begun_.start.file = *file;
        header.state = SegmentState::active;
        header.reason = survey_.active.empty() ? SegmentReason::create : SegmentReason::recovery;
        header.incarnation = begun_.recovered.incarnation;
        header.previous_end = end.end;
        header.previous_chain = end.chain.chain;
        header.first_batch_sequence = end.chain.batch_sequence;
        header.first_record_sequence = end.chain.record_sequence;
        header.time_floor = end.recovered.time.engine_time;
        if (!survey_.active.empty()) {
            header.previous_segment_number = survey_.active.back().header.segment_number;
            header.previous_epoch = survey_.active.back().header.epoch;
        }
        if (const auto active = activate_segment(files_, *file, header); !active) {
            files_.close(*file);
            return active;
        }
        seal_header(header);
        begun_.start.segment = header;
        begun_.start.offset = header_blocks_size(header.block_size);
        begun_.start.batch_sequence = end.chain.batch_sequence;
        begun_.start.record_sequence = end.chain.record_sequence;
        begun_.start.chain = end.chain.chain;
        begun_.start.engine_time = header.time_floor;
        begun_.next_segment_number = header.segment_number + 1;
        return {};
    }

    // Spares in order, without a gap; the rest, if there can be any, is made anew.
    std::expected<void, Error> open_spares() {
        for (const FoundSegment& found : usable_) {
            if (found.header.segment_number != begun_.next_segment_number) break;
            const auto file = files_.open(found.name, Access::direct);
            if (!file) {
                close_all();
                return std::unexpected(file_error(files_, found.name, "cannot be opened", file.error()));
            }
            begun_.spares.push_back({found.header, *file});
            ++begun_.next_segment_number;
        }
        return {};
    }

    void close_all() {
        files_.close(begun_.start.file);
        for (const Spare& spare : begun_.spares) files_.close(spare.file);
    }

    Files& files_;
    Environment& environment_;
    const Survey& survey_;
    const BeginOptions& options_;
    std::vector<FoundSegment> usable_;
    Begun begun_;
};

}  // namespace

std::expected<Begun, Error> begin_segment(Files& files, Environment& environment, const Survey& survey,
                                          JournalEnd end, const BeginOptions& options) {
    return Beginning(files, environment, survey, options).run(end);
}

}  // namespace pinnace::journal
