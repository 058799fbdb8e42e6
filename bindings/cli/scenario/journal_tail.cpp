// SPDX-License-Identifier: Apache-2.0
#include "bindings/cli/scenario/journal_tail.h"

#include <fmt/format.h>

#include <cstring>

#include "bindings/cli/scenario/reasons.h"
#include "core/record_codec.h"
#include "journal/segment.h"

namespace pinnace::scenario {
namespace {

std::unexpected<Fault> broken(std::string text) {
    return std::unexpected(Fault{Fault::Kind::broken, std::move(text), 0});
}

// A file of the journal, closed at the end.
class OpenFile {
 public:
    OpenFile(journal::Files& files, const std::string& name)
        : files_(files), handle_(files.open(name, journal::Access::read)) {}
    ~OpenFile() {
        if (handle_) files_.close(*handle_);
    }
    OpenFile(const OpenFile&) = delete;
    OpenFile& operator=(const OpenFile&) = delete;
    explicit operator bool() const { return handle_.has_value(); }
    journal::Files::Handle operator*() const { return *handle_; }

 private:
    journal::Files& files_;
    std::expected<journal::Files::Handle, int> handle_;
};

}  // namespace

Outcome<void> JournalTail::read() {
    if (files_ == nullptr) {
        auto opened = journal::open_existing_directory(directory_);
        if (!opened) return broken(fmt::format("{}: {}", directory_, std::strerror(opened.error())));
        files_ = std::move(*opened);
    }
    do {
        while (segment_number_ != 0) {
            const auto more = read_segment();
            if (!more) return std::unexpected(more.error());
            if (!*more) break;
        }
    } while (begin_next_segment());
    return {};
}

Outcome<bool> JournalTail::read_segment() {
    const std::string name = journal::segment_name(segment_number_);
    const OpenFile file(*files_, name);
    if (!file) return broken(name + " has gone");
    const auto header = journal::read_segment(*files_, name, *file);
    if (!header) return broken(header.error().text);
    journal::SegmentReader reader(*files_, name, *file, *header);
    while (offset_ < header->capacity) {
        const auto verdict = reader.read(offset_, chain_);
        if (!verdict) return broken(verdict.error().text);
        if (*verdict != journal::BatchVerdict::good) return false;
        const journal::BatchView& batch = reader.view();
        ++chain_.batch_sequence;
        chain_.chain = batch.next_chain();
        if (batch.header().type == journal::BatchType::data) {
            batch.each([this](const journal::BatchRecord& record) { return note(record), true; });
        }
        offset_ += batch.header().total_size;
    }
    return false;
}

bool JournalTail::begin_next_segment() {
    const std::string name = journal::segment_name(segment_number_ + 1);
    const OpenFile file(*files_, name);
    if (!file) return false;
    const auto header = journal::read_segment(*files_, name, *file);
    if (!header || header->state != journal::SegmentState::active) return false;
    ++segment_number_;
    offset_ = journal::header_blocks_size(header->block_size);
    chain_ = {header->first_batch_sequence, header->first_record_sequence, header->previous_chain};
    return true;
}

void JournalTail::note(const journal::BatchRecord& record) {
    const RecordHeader& header = record.header;
    const auto kind = static_cast<RecordKind>(header.kind);
    if (kind == RecordKind::define_queue) {
        const auto definition = read_queue_definition(record.head());
        if (definition) queue_names_[header.subject] = definition->name;
        return;
    }
    if (kind == RecordKind::remove) {
        if (header.number == 0) return;
        const auto reasons = static_cast<std::uint8_t>(header.number);
        expired_[queue_names_[header.subject]].push_back({id_of(header.position), reasons_in_words(reasons)});
        return;
    }
    if (kind != RecordKind::move) return;
    HeadReader in(record.head());
    MoveHead move;
    if (!read_move(in, move)) return;
    const MessageId id = id_of(move.origin);
    origin_of_[header.position] = id;
    if (header.number != 0) {
        const auto reasons = static_cast<std::uint8_t>(header.number);
        expired_[queue_names_[header.subject]].push_back({id, reasons_in_words(reasons)});
    }
    QueueEntry entry;
    while (!in.at_end() && read_entry(in, entry))
        moved_to_[{queue_names_[entry.queue], id}] = header.position;
}

MessageId JournalTail::id_of(Position position) const {
    const auto found = origin_of_.find(position);
    return found == origin_of_.end() ? position : found->second;
}

Position JournalTail::position_of(std::string_view queue, MessageId id) const {
    const auto found = moved_to_.find({std::string(queue), id});
    return found == moved_to_.end() ? id : found->second;
}

std::vector<ExpiredMessage> JournalTail::take_expired(std::string_view queue) {
    const auto found = expired_.find(queue);
    if (found == expired_.end()) return {};
    return std::exchange(found->second, {});
}

}  // namespace pinnace::scenario
