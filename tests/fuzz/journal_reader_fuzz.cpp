// SPDX-License-Identifier: Apache-2.0
// Any bytes as a segment: recovery's replay must come to a decision without reading beyond them. Checksums
// are mended first, so that lengths and links are reached; an odd first byte leaves them as they are.
#include <cstring>
#include <map>

#include "journal/crc32c.h"
#include "journal/recovery.h"

namespace pinnace::journal {
namespace {

// One file in memory, which nobody writes.
class MemoryFiles final : public Files {
 public:
    explicit MemoryFiles(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}
    std::expected<std::vector<std::string>, int> list() override { return std::vector{segment_name(1)}; }
    std::expected<Handle, int> open(const std::string&, Access) override { return 1; }
    std::expected<Handle, int> create(const std::string&) override { return std::unexpected(1); }
    void close(Handle) override {}
    std::expected<std::uint64_t, int> size(Handle) override { return bytes_.size(); }
    std::expected<std::size_t, int> read(Handle, std::uint64_t offset, std::span<std::byte> to) override {
        if (offset >= bytes_.size()) return std::size_t{0};
        const std::size_t size =
            std::min<std::size_t>(to.size(), bytes_.size() - static_cast<std::size_t>(offset));
        std::memcpy(to.data(), bytes_.data() + offset, size);
        return size;
    }
    std::expected<void, int> write(Handle, std::uint64_t, std::span<const std::byte>) override {
        return std::unexpected(1);
    }
    std::expected<void, int> fill_with_zeros(Handle, std::uint64_t, const Pace&) override {
        return std::unexpected(1);
    }
    std::expected<void, int> reserve(Handle, std::uint64_t) override { return std::unexpected(1); }
    std::expected<void, int> sync(Handle) override { return {}; }
    std::expected<void, int> rename(const std::string&, const std::string&) override {
        return std::unexpected(1);
    }
    std::expected<void, int> remove(const std::string&) override { return std::unexpected(1); }
    std::expected<void, int> sync_directory() override { return {}; }
    std::uint32_t block_size() const override { return kBlockSizeMin; }
    std::string path(std::string_view name) const override { return std::string(name); }

 private:
    std::vector<std::byte> bytes_;
};

class TouchingSink final : public RecordSink {
 public:
    std::expected<void, std::string> record(const RecordView& record, Place) override {
        for (const std::byte byte : record.head) sum += static_cast<unsigned>(byte);
        for (std::uint32_t i = 0; i < record.body.size; ++i)
            sum += static_cast<unsigned>(record.body.data[i]);
        return {};
    }
    void begin_again() override {}
    unsigned sum = 0;
};

// Makes what looks like a header pass its checksums, so that what it says is believed.
void mend(std::vector<std::byte>& bytes) {
    SegmentHeader segment;
    std::memcpy(&segment, bytes.data(), sizeof segment);
    segment.magic = kSegmentMagic;
    segment.capacity = bytes.size();
    segment.block_size = kBlockSizeMin;
    segment.header_size = sizeof segment;
    segment.segment_number = 1;
    segment.reader_version_min = kReaderVersionMin;
    segment.state = SegmentState::active;
    segment.previous_segment_number = 0;
    segment.previous_chain = 0;
    segment.first_batch_sequence = 1;
    segment.first_record_sequence = 0;
    seal_header(segment);
    std::memcpy(bytes.data(), &segment, sizeof segment);
    for (std::size_t at = 2 * kBlockSizeMin; at + kBlockSizeMin <= bytes.size(); at += kBlockSizeMin) {
        BatchHeader batch;
        std::memcpy(&batch, bytes.data() + at, sizeof batch);
        if (batch.magic != kBatchMagic) continue;
        batch.epoch = segment.epoch;
        batch.place = Place::make(1, at);
        if (batch.index_offset < bytes.size() - at) {
            const std::size_t room = bytes.size() - at - batch.index_offset;
            const std::size_t size = std::min(room, std::size_t{batch.index_count} * sizeof(RecordHeader));
            batch.index_crc = mask_crc(crc32c(0, bytes.data() + at + batch.index_offset, size));
        }
        seal_header(batch);
        std::memcpy(bytes.data() + at, &batch, sizeof batch);
    }
}

}  // namespace
}  // namespace pinnace::journal

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace pinnace::journal;
    if (size < 1 || size > (256u << 10)) return 0;
    std::vector<std::byte> bytes(align_up(std::max<std::size_t>(size - 1, 3 * kBlockSizeMin), kBlockSizeMin));
    std::memcpy(bytes.data(), data + 1, size - 1);
    if ((data[0] & 1) == 0) mend(bytes);
    MemoryFiles files(std::move(bytes));
    const auto found = survey(files, {});
    if (!found) return 0;
    TouchingSink sink;
    PlaceIndex index;
    RecordReplay replaying(sink, index);
    const auto end = replay(files, *found, nullptr, Extent::all, replaying);
    return end.has_value() && sink.sum == 1 ? -1 : 0;
}
