// SPDX-License-Identifier: Apache-2.0
#include "bindings/cli/scenario/memory_journal.h"

#include <fmt/format.h>

#include "core/check.h"

namespace pinnace::scenario {
namespace {

constexpr std::uint32_t kBlockSize = journal::kBlockSizeMin;
constexpr std::uint64_t kEpoch = 1;  // one segment that is never prepared again

bool is_message(const RecordHeader& header) {
    return header.kind == static_cast<std::uint16_t>(RecordKind::message);
}

}  // namespace

void MemoryJournal::append(const RecordHeader& header, std::span<const std::byte> head,
                           std::span<const std::byte> body) {
    pending_.push_back({header, {head.begin(), head.end()}, {body.begin(), body.end()}});
}

bool MemoryJournal::build(journal::BatchBuilder& builder, std::span<std::byte> buffer) const {
    builder.begin(buffer);
    for (const Pending& record : pending_) {
        if (!builder.add(record.header, record.head, record.body)) return false;
    }
    return true;
}

void MemoryJournal::flush(Time now) {
    if (pending_.empty()) return;
    journal::BatchBuilder builder(kBlockSize);
    std::vector<std::byte> buffer(std::size_t{16} * kBlockSize);
    while (!build(builder, buffer)) buffer.resize(buffer.size() * 2);
    const journal::BatchStamp stamp{
        .epoch = kEpoch,
        .place = journal::Place::make(1, bytes_.size()),
        .batch_sequence = batches_.size() + 1,
        .first_record_sequence = record_count_,
        .durable_up_to = journal::Place::make(1, bytes_.size()),
        .engine_time = now,
        .wall_time = now,
        .incarnation = incarnation_,
        .previous_chain = chain_,
    };
    batches_.push_back({bytes_.size(), chain_});
    builder.close();
    const auto batch = builder.stamp(stamp, chain_);
    bytes_.insert(bytes_.end(), batch.begin(), batch.end());
    record_count_ += builder.record_count();
    for (const Pending& record : pending_) {
        if (is_message(record.header)) batch_of_[record.header.position] = batches_.size() - 1;
    }
    pending_.clear();
}

void MemoryJournal::begin_life() {
    pending_.clear();
    ++incarnation_;
}

std::expected<journal::BatchView, std::string> MemoryJournal::read(std::size_t batch) const {
    const auto bytes = std::span(bytes_).subspan(batches_[batch].offset);
    const journal::BatchExpected expected{
        .block_size = kBlockSize,
        .epoch = kEpoch,
        .place = journal::Place::make(1, batches_[batch].offset),
        .batch_sequence = batch + 1,
        .previous_chain = batches_[batch].previous_chain,
        .size_max = bytes.size(),
    };
    journal::BatchHeader header;
    journal::BatchVerdict verdict = journal::read_batch_header(bytes, expected, header);
    if (verdict == journal::BatchVerdict::good) {
        auto view = journal::BatchView::parse(bytes.first(header.total_size), header);
        if (view && view->payloads_match()) return *view;
        verdict = view ? journal::BatchVerdict::bad_payload : view.error();
    }
    return std::unexpected(fmt::format("batch {} of the journal in memory cannot be read back: {}", batch + 1,
                                       journal::to_text(verdict)));
}

std::expected<void, std::string> MemoryJournal::replay(const Apply& apply) const {
    for (std::size_t batch = 0; batch < batches_.size(); ++batch) {
        const auto view = read(batch);
        if (!view) return std::unexpected(view.error());
        std::expected<void, std::string> applied;
        view->each([&](const journal::BatchRecord& record) {
            const auto body = record.body();
            const BodyRef cold{kCold, static_cast<std::uint32_t>(body.size()), body.data()};
            applied = apply(RecordView{record.header, record.head(), cold});
            return applied.has_value();
        });
        if (!applied) return applied;
    }
    return {};
}

std::optional<std::vector<std::byte>> MemoryJournal::read_body(Position position) const {
    const auto found = batch_of_.find(position);
    if (found == batch_of_.end()) return {};
    const auto view = read(found->second);
    if (!view) return {};
    std::optional<std::vector<std::byte>> body;
    view->each([&](const journal::BatchRecord& record) {
        if (!is_message(record.header) || record.header.position != position) return true;
        body.emplace(record.body().begin(), record.body().end());
        return false;
    });
    return body;
}

}  // namespace pinnace::scenario
