// SPDX-License-Identifier: Apache-2.0
// RecordReplay: batches as records, and where messages lie.
#include <algorithm>
#include <utility>

#include "journal/recovery.h"

namespace pinnace::journal {

template <typename Given>
std::expected<void, Error> RecordReplay::give(const SegmentReader& reader, const BatchView& batch,
                                              Place place, Given&& given) {
    std::string refusal;
    batch.each([&](const BatchRecord& record) {
        RecordView view{record.header, record.head(), {}};
        view.body.size = static_cast<std::uint32_t>(record.body().size());
        view.body.data = record.body().data();
        if (auto taken = sink_.record(view, place); !taken) {
            refusal = std::move(taken.error());
            return false;
        }
        given(record.header);
        return true;
    });
    if (refusal.empty()) return {};
    return std::unexpected(Error{ErrorKind::refused,
                                 "A record of " + reader.name() + " in the batch at offset " +
                                     std::to_string(place.offset()) + " cannot be used: " + refusal,
                                 reader.name(), place.offset(), 0});
}

std::expected<void, Error> RecordReplay::batch(const SegmentReader& reader, const BatchView& batch,
                                               Place place) {
    if (batch.header().type != BatchType::data) return {};
    Position first = 0;
    Position last = 0;
    const auto given = give(reader, batch, place, [&](const RecordHeader& header) {
        if (!is_kind(header, RecordKind::message)) return;
        if (first == 0) first = header.position;
        last = std::max(last, header.position);
    });
    if (given) index_.add(first, last, place);
    return given;
}

void RecordReplay::places(std::span<const PlaceEntry> places) {
    for (const PlaceEntry& entry : places) index_.add(entry.position, entry.position, entry.place);
}

std::expected<void, Error> RecordReplay::kept(const SegmentReader& reader, const BatchView& batch) {
    return give(reader, batch, batch.header().place, [this](const RecordHeader& header) {
        if (is_kind(header, RecordKind::kept)) index_.reach(header.position);
    });
}

}  // namespace pinnace::journal
