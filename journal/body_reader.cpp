// SPDX-License-Identifier: Apache-2.0
#include "journal/body_reader.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace pinnace::journal {
namespace {

constexpr std::size_t kFirstReadSize = 64u << 10;

}  // namespace

BodyReader::~BodyReader() {
    for (const auto& [number, segment] : segments_) files_.close(segment.file);
}

std::expected<BodyReader::Segment*, BodyFailure> BodyReader::segment(Place place) {
    const std::uint64_t number = place.segment_number();
    if (const auto found = segments_.find(number); found != segments_.end()) {
        found->second.used = ++use_count_;
        return &found->second;
    }
    if (segments_.size() >= kOpenMax) {
        const auto oldest =
            std::min_element(segments_.begin(), segments_.end(),
                             [](const auto& a, const auto& b) { return a.second.used < b.second.used; });
        files_.close(oldest->second.file);
        segments_.erase(oldest);
    }
    // Direct: reading ahead into a segment that is being written would put its blocks into the page cache.
    const auto file = files_.open(segment_name(number), Access::direct);
    if (!file) return std::unexpected(BodyFailure{file.error(), place});
    const BlockBuffer blocks(std::size_t{kHeaderBlockCount} * kBlockSizeMax);
    SegmentHeader header;
    const auto size = files_.read(*file, 0, blocks.bytes());
    CopyVerdict verdict = CopyVerdict::bad;
    if (size) {
        verdict = read_segment_header(blocks.bytes().first(*size), header);
        for (std::uint32_t block = kBlockSizeMin; block <= kBlockSizeMax && verdict != CopyVerdict::active;
             block *= 2) {
            if (block < *size)
                verdict = read_segment_header(blocks.bytes().first(*size).subspan(block), header);
        }
    }
    if (verdict != CopyVerdict::active) {
        files_.close(*file);
        return std::unexpected(BodyFailure{size ? 0 : size.error(), place});
    }
    return &segments_.emplace(number, Segment{*file, header, ++use_count_}).first->second;
}

std::expected<void, BodyFailure> BodyReader::load(Place place) {
    if (loaded_ == place) return {};
    loaded_ = Place{};
    const auto found = segment(place);
    if (!found) return std::unexpected(found.error());
    const Segment& segment = **found;
    const std::uint64_t rest = segment.header.capacity - std::min(segment.header.capacity, place.offset());
    const std::size_t first_size = static_cast<std::size_t>(std::min<std::uint64_t>(kFirstReadSize, rest));
    if (buffer_.bytes().size() < first_size) buffer_ = BlockBuffer(kFirstReadSize);
    const auto first = files_.read(segment.file, place.offset(), buffer_.bytes().first(first_size));
    if (!first) return std::unexpected(BodyFailure{first.error(), place});
    BatchHeader header;
    // Sequence and chain are not known here; place and epoch are, and the index knows only durable batches.
    BatchExpected expected{segment.header.block_size, segment.header.epoch, place, 0, 0, rest};
    BatchVerdict verdict = read_batch_header(buffer_.bytes().first(*first), expected, header);
    expected.batch_sequence = header.batch_sequence;
    expected.previous_chain = header.previous_chain;
    verdict = read_batch_header(buffer_.bytes().first(*first), expected, header);
    if (verdict != BatchVerdict::good) return std::unexpected(BodyFailure{0, place});
    if (header.total_size > *first) {
        if (buffer_.bytes().size() < header.total_size) buffer_ = BlockBuffer(header.total_size);
        const auto whole =
            files_.read(segment.file, place.offset(), buffer_.bytes().first(header.total_size));
        if (!whole || *whole < header.total_size)
            return std::unexpected(BodyFailure{whole ? 0 : whole.error(), place});
    }
    const auto view = BatchView::parse(buffer_.bytes(), header);
    if (!view) return std::unexpected(BodyFailure{0, place});
    messages_.clear();
    view->each([&](const BatchRecord& record) {
        if (is_kind(record.header, RecordKind::message))
            messages_.push_back({record.header.position, record});
        return true;
    });
    loaded_ = place;
    return {};
}

std::expected<Place, BodyFailure> BodyReader::read(Position position, std::span<std::byte> to) {
    const auto place = index_.find(position);
    if (!place) return std::unexpected(BodyFailure{});
    if (const auto loaded = load(*place); !loaded) return std::unexpected(loaded.error());
    const auto found =
        std::lower_bound(messages_.begin(), messages_.end(), position,
                         [](const Message& message, Position value) { return message.position < value; });
    if (found == messages_.end() || found->position != position)
        return std::unexpected(BodyFailure{0, *place});
    const std::span<const std::byte> body = found->record.body();
    if (body.size() != to.size() || !payload_matches(found->record))
        return std::unexpected(BodyFailure{0, *place});
    if (!to.empty()) std::memcpy(to.data(), body.data(), to.size());
    return *place;
}

}  // namespace pinnace::journal
