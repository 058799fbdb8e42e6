// SPDX-License-Identifier: Apache-2.0
#include "journal/inspect.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstring>

#include "journal/checkpoint.h"
#include "journal/lock.h"
#include "journal/segment_reader.h"

namespace pinnace::journal {
namespace {

// Beside its journal an engine keeps its socket, unless it was told another place, and the socket's lock.
bool is_socket_of_engine(std::string_view name) {
    return name.ends_with(".sock") || name.ends_with(".sock.lock");
}

// Called for each batch that is whole.
using VisitBatch = std::function<void(const std::string& path, const BatchView& batch)>;

class Inspection {
 public:
    Inspection(Files& files, const PrintLine& print, VisitBatch visit)
        : files_(files), print_(print), visit_(std::move(visit)) {}

    std::expected<VerifyResult, Error> run() {
        const auto names = files_.list();
        if (!names) return std::unexpected(file_error(files_, "", "cannot be listed", names.error()));
        std::vector<Found> active;
        for (const std::string& name : *names) look_at(name, active);
        const bool begins_later = !active.empty() && active.front().header.segment_number > 1;
        if (begins_later && !reaches(active.front().header.segment_number))
            find(FindingKind::damage, segment_name(1), 0,
                 "the segment is missing, and no checkpoint is whole that makes up for it");
        for (std::size_t i = 0; i < active.size(); ++i) {
            check_link(i > 0 ? &active[i - 1] : nullptr, active[i]);
            segment(active[i], i + 1 < active.size() ? &active[i + 1].header : nullptr);
        }
        return result_;
    }

 private:
    struct Found {
        std::string name;
        SegmentHeader header;
    };

    void find(FindingKind kind, std::string_view name, std::uint64_t offset, std::string what) {
        const char* word = kind == FindingKind::damage ? "damage"
                           : kind == FindingKind::torn ? "torn"
                                                       : "warning";
        Finding finding{kind, files_.path(name), offset, std::move(what)};
        print_(std::string(word) + ": " + finding.file + " at offset " + std::to_string(offset) + ": " +
               finding.what);
        result_.findings.push_back(std::move(finding));
    }

    void look_at(const std::string& name, std::vector<Found>& active) {
        if (name == kLockName || name == kCheckpointReserveName || is_socket_of_engine(name)) return;
        if (const auto generation = parse_checkpoint_name(name)) return checkpoint(name, *generation);
        if (is_preparing_name(name))
            return find(FindingKind::warning, name, 0, "left by a preparation that was ended");
        if (!parse_segment_name(name))
            return find(FindingKind::warning, name, 0, "is not a file of the journal");
        const auto file = files_.open(name, Access::read);
        if (!file) return find(FindingKind::damage, name, 0, std::strerror(file.error()));
        const auto header = read_segment(files_, name, *file);
        if (!header) {
            find(FindingKind::damage, name, header.error().offset, header.error().text);
        } else if (header->state == SegmentState::active) {
            active.push_back({name, *header});
            check_header_blocks(name, *file, *header);
        } else {
            ++result_.spare_count;
            check_header_blocks(name, *file, *header);
            check_spare(name, *file, *header);
        }
        files_.close(*file);
    }

    // A start falls back to the one before it, or to the whole journal.
    void checkpoint(const std::string& name, std::uint64_t generation) {
        const auto header = read_checkpoint(files_, generation, nullptr);
        if (!header) return find(FindingKind::warning, name, header.error().offset, header.error().text);
        ++result_.checkpoint_count;
        reached_.push_back(header->segment_number);
    }
    bool reaches(std::uint64_t first) const {
        return std::ranges::any_of(reached_, [&](std::uint64_t reached) { return reached + 1 >= first; });
    }

    void check_header_blocks(const std::string& name, Files::Handle file, SegmentHeader header) {
        const std::size_t size = header_blocks_size(header.block_size);
        const BlockBuffer written(size);
        const BlockBuffer found(size);
        encode_header_blocks(header, written.bytes());
        const auto read = files_.read(file, 0, found.bytes());
        if (!read || *read < size) return find(FindingKind::damage, name, 0, "the header cannot be read");
        const auto differs = std::ranges::mismatch(written.bytes(), found.bytes());
        if (differs.in1 == written.bytes().end()) return;
        find(FindingKind::warning, name, static_cast<std::uint64_t>(differs.in1 - written.bytes().begin()),
             "one copy of the header is not as it was written");
    }

    void check_spare(const std::string& name, Files::Handle file, const SegmentHeader& header) {
        SegmentReader reader(files_, name, file, header);
        const auto rest = reader.remainder(header_blocks_size(header.block_size));
        if (!rest) return find(FindingKind::damage, name, 0, rest.error().text);
        if (rest->batch_count > 0)
            return find(FindingKind::damage, name, 0, "a prepared segment holds batches");
        if (rest->end > 0)
            find(FindingKind::warning, name, rest->end - header.block_size, "a prepared segment is not zero");
    }

    void check_link(const Found* previous, const Found& found) {
        const std::uint64_t number = previous == nullptr ? 0 : previous->header.segment_number;
        const SegmentHeader& header = found.header;
        if (previous == nullptr && header.segment_number > 1) {
            // What was before it is in checkpoints.
        } else if (header.segment_number != number + 1) {
            find(FindingKind::damage, segment_name(number + 1), 0, "the segment is missing");
        } else if (previous != nullptr && header.previous_epoch != previous->header.epoch) {
            find(FindingKind::damage, found.name, 0, "the segment before it is not the one it follows");
        } else if (header.previous_chain != chain_.chain ||
                   header.first_batch_sequence != chain_.batch_sequence) {
            find(FindingKind::damage, found.name, 0, "the header does not continue the segment before it");
        }
        chain_ = {header.first_batch_sequence, header.first_record_sequence, header.previous_chain};
    }

    void segment(const Found& found, const SegmentHeader* next) {
        ++result_.segment_count;
        const auto file = files_.open(found.name, Access::read);
        if (!file) return find(FindingKind::damage, found.name, 0, std::strerror(file.error()));
        SegmentReader reader(files_, found.name, *file, found.header);
        batches(reader, next);
        files_.close(*file);
    }

    void batches(SegmentReader& reader, const SegmentHeader* next) {
        const SegmentHeader& header = reader.header();
        std::uint64_t offset = header_blocks_size(header.block_size);
        const std::uint64_t end =
            next == nullptr ? header.capacity : std::min(header.capacity, next->previous_end.offset());
        while (offset < end) {
            const auto verdict = reader.read(offset, chain_);
            if (!verdict) return find(FindingKind::damage, reader.name(), offset, verdict.error().text);
            if (*verdict == BatchVerdict::good) {
                batch(reader, offset);
                offset += reader.batch_header().total_size;
                continue;
            }
            const std::optional<std::uint64_t> again = judge_end(reader, offset, *verdict, next != nullptr);
            if (!again) return;
            offset = *again;
        }
        if (next != nullptr && offset != next->previous_end.offset()) {
            find(FindingKind::damage, reader.name(), offset,
                 "the batches do not end where the next segment says, at " +
                     std::to_string(next->previous_end.offset()));
        }
    }

    // Where to go on behind what is not a good batch; nullopt: nowhere.
    std::optional<std::uint64_t> judge_end(SegmentReader& reader, std::uint64_t offset, BatchVerdict verdict,
                                           bool inner) {
        const auto rest = reader.remainder(offset);
        if (!rest) {
            find(FindingKind::damage, reader.name(), offset, rest.error().text);
            return std::nullopt;
        }
        switch (decide_end(verdict, !inner, rest->evidence)) {
            case EndDecision::go_on:
            case EndDecision::end:
                return std::nullopt;
            case EndDecision::torn:
                find(FindingKind::torn, reader.name(), offset,
                     std::string(to_text(verdict)) + ", never reported durable; " +
                         std::to_string(rest->batch_count) + " whole batches, " +
                         std::to_string(rest->end - offset) + " bytes");
                return std::nullopt;
            case EndDecision::newer:
            case EndDecision::damaged:
                break;
        }
        find(FindingKind::damage, reader.name(), offset, to_text(verdict));
        return next_batch(reader, offset);
    }

    // The next place where a whole batch of this segment begins; the chain goes on as it says.
    std::optional<std::uint64_t> next_batch(SegmentReader& reader, std::uint64_t offset) {
        const SegmentHeader& header = reader.header();
        for (offset += header.block_size; offset < header.capacity; offset += header.block_size) {
            auto verdict = reader.read(offset, chain_);
            const BatchHeader& batch = reader.batch_header();
            if (!verdict) return std::nullopt;
            if (batch.epoch == header.epoch && batch.place == Place::make(header.segment_number, offset)) {
                chain_ = {batch.batch_sequence, batch.first_record_sequence, batch.previous_chain};
                return offset;
            }
        }
        return std::nullopt;
    }

    void batch(const SegmentReader& reader, std::uint64_t offset) {
        const BatchView& view = reader.view();
        const BatchHeader& header = view.header();
        ++result_.batch_count;
        result_.byte_count += header.total_size;
        ++chain_.batch_sequence;
        chain_.chain = view.next_chain();
        if (header.first_record_sequence != chain_.record_sequence) {
            find(FindingKind::damage, reader.name(), offset, "the count of records before it is not right");
            chain_.record_sequence = header.first_record_sequence;
        }
        if (header.type != BatchType::seal) {
            result_.record_count += header.index_count;
            chain_.record_sequence += header.index_count;
        }
        if (!view.padding_is_zero()) {
            find(FindingKind::warning, reader.name(), offset,
                 "bytes between the records of a batch are not zero");
        }
        if (visit_) visit_(reader.name(), view);
    }

    Files& files_;
    const PrintLine& print_;
    VisitBatch visit_;
    VerifyResult result_;
    ChainPosition chain_;
    std::vector<std::uint64_t> reached_;  // segments whose ends whole checkpoints reach
};

std::expected<VerifyResult, Error> inspect(const std::string& directory, const PrintLine& print,
                                           VisitBatch visit) {
    const auto lock = DirectoryLock::take_existing(directory, kLockWaitNs);
    if (!lock) return std::unexpected(lock.error());
    auto files = open_existing_directory(directory);
    if (!files) {
        return std::unexpected(Error{ErrorKind::io,
                                     directory + " cannot be opened: " + std::strerror(files.error()) + ".",
                                     directory, 0, files.error()});
    }
    return Inspection(**files, print, std::move(visit)).run();
}

std::string shown(std::span<const std::byte> bytes, std::size_t size_max) {
    std::string text;
    for (const std::byte byte : bytes.first(std::min(bytes.size(), size_max))) {
        const auto value = static_cast<unsigned char>(byte);
        if (std::isprint(value) != 0 && value != '\\') {
            text += static_cast<char>(value);
        } else {
            char escaped[8];
            std::snprintf(escaped, sizeof escaped, "\\x%02x", value);
            text += escaped;
        }
    }
    return bytes.size() > size_max ? text + "..." : text;
}

const char* to_text(BatchType type) {
    switch (type) {
        case BatchType::data:
            return "data";
        case BatchType::seal:
            return "seal";
        case BatchType::mark:
            return "mark";
        case BatchType::barrier:
            return "barrier";
        case BatchType::places:
            return "places";
    }
    return "?";
}

std::string batch_line(const std::string& name, const BatchHeader& header) {
    std::string line = name + " " + std::to_string(header.place.offset()) + " batch " +
                       std::to_string(header.batch_sequence) + " " + to_text(header.type) + " size " +
                       std::to_string(header.total_size) + " records " + std::to_string(header.index_count) +
                       " durable_up_to " + std::to_string(header.durable_up_to.segment_number()) + ":" +
                       std::to_string(header.durable_up_to.offset()) + " engine_time " +
                       std::to_string(header.engine_time);
    if ((header.flags & kBatchClean) != 0) line += " clean";
    return line;
}

std::string record_line(const BatchRecord& record, std::size_t body_size_max) {
    const RecordHeader& header = record.header;
    std::string line = "  " + kind_name(header.kind) + " position " + std::to_string(header.position);
    const auto id = [&](const char* name, std::uint32_t value) {
        if (value != kNone) line += std::string(" ") + name + " " + std::to_string(value);
    };
    id("subject", header.subject);
    id("publisher", header.publisher);
    line += " number " + std::to_string(header.number) + " time " + std::to_string(header.time);
    if (header.flags != 0) line += " flags " + std::to_string(header.flags);
    if (header.head_size != 0) line += " head " + shown(record.head(), body_size_max);
    if (!record.body().empty()) {
        line += " body " + std::to_string(record.body().size()) + " " + shown(record.body(), body_size_max);
    }
    return line;
}

}  // namespace

bool VerifyResult::damaged() const {
    return std::ranges::any_of(findings,
                               [](const Finding& finding) { return finding.kind == FindingKind::damage; });
}

std::string kind_name(std::uint16_t kind) {
    constexpr const char* kNames[] = {
        "none",    "message",   "remove",   "remove_runs", "define_topic", "define_queue", "define_publisher",
        "reserve", "hand_over", "counts",   "move",        "defer",        "purge",        "depth",
        "session", "stop",      "accepted", "kept",        "resume"};
    return kind < std::size(kNames) ? kNames[kind] : "kind_" + std::to_string(kind);
}

std::expected<VerifyResult, Error> verify(const std::string& directory, const PrintLine& print) {
    auto result = inspect(directory, print, {});
    if (!result) return result;
    print(std::to_string(result->segment_count) + " segments, " + std::to_string(result->spare_count) +
          " spares, " + std::to_string(result->batch_count) + " batches, " +
          std::to_string(result->record_count) + " records, " + std::to_string(result->byte_count) +
          " bytes, " + std::to_string(result->checkpoint_count) + " checkpoints: " +
          (result->damaged()          ? "damaged"
           : result->findings.empty() ? "whole"
                                      : "whole, with remarks"));
    return result;
}

std::expected<VerifyResult, Error> dump(const std::string& directory, const DumpOptions& options,
                                        const PrintLine& print) {
    return inspect(directory, print, [&](const std::string& name, const BatchView& batch) {
        if (options.batches) print(batch_line(name, batch.header()));
        if (batch.header().type != BatchType::data) return;
        batch.each([&](const BatchRecord& record) {
            const Position position = record.header.position;
            if (position >= options.first && position <= options.last)
                print(record_line(record, options.body_size_max));
            return true;
        });
    });
}

}  // namespace pinnace::journal
