// SPDX-License-Identifier: Apache-2.0
// What a record costs the journal thread, without a disk: the writer step by step over an I/O of no cost.
// Run under callgrind for instructions a record; prints times as well. Not a test.
//   journal_cost [records] [body size] [acknowledgments 0|1]
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "journal/writer.h"

namespace pinnace::journal {
namespace {

class NoIo final : public JournalIo {
 public:
    std::expected<void, int> start() override { return {}; }
    bool submit(const IoRequest& request) override {
        result_ = {request.token, static_cast<std::int32_t>(request.bytes.size())};
        there_ = true;
        return true;
    }
    std::size_t poll(std::span<IoResult> results) override {
        if (!there_) return 0;
        there_ = false;
        results[0] = result_;
        return 1;
    }
    void wait(std::int64_t) override {}
    std::string_view name() const override { return "none"; }

 private:
    IoResult result_;
    bool there_ = false;
};

class NoSpares final : public SpareSource {
 public:
    std::optional<Spare> take() override {
        SegmentHeader header;
        header.segment_number = ++number;
        header.capacity = 512u << 20;
        header.block_size = kBlockSizeMin;
        return Spare{header, -1};
    }
    bool out_of_space() const override { return false; }
    std::uint64_t ready_count() const override { return 1; }
    std::uint64_t number = 1;
};

void run(std::uint64_t count, std::uint32_t body_size, bool acknowledge) {
    auto files = open_directory("/tmp");
    Feed feed(1u << 20);
    NoIo io;
    NoSpares spares;
    PlaceIndex index;
    WriterOptions options;
    options.in_flight_max = 1;
    options.step_size_max = 1u << 20;
    WriterStart start;
    start.segment.segment_number = 1;
    start.segment.capacity = 512u << 20;
    start.segment.block_size = kBlockSizeMin;
    start.offset = 2 * kBlockSizeMin;
    Writer writer(feed, io, **files, spares, index, real_environment(), options, start);
    std::vector<std::byte> body(body_size, std::byte{1});
    const std::byte head[12] = {};
    RecordHeader message;
    message.kind = static_cast<std::uint16_t>(RecordKind::message);
    RecordHeader removal;
    removal.kind = static_cast<std::uint16_t>(RecordKind::remove);
    const auto begin = std::chrono::steady_clock::now();
    for (std::uint64_t done = 0; done < count;) {
        for (int i = 0; i < 1000; ++i, ++done) {
            message.position = removal.position = done + 1;
            feed.append(message, head, body.data(), body_size);
            feed.end_step();
            if (!acknowledge) continue;
            removal.subject = static_cast<std::uint32_t>(done % 3);
            feed.append(removal, {}, nullptr, 0);
            feed.end_step();
        }
        feed.publish(static_cast<Time>(done));
        while (writer.durable() < feed.last_index()) writer.poll_once();
    }
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const double records = static_cast<double>(feed.last_index());
    std::printf("%.0f records, %.1f ns a record, %.2f million a second, %.2f GB/s written\n", records,
                seconds / records * 1e9, records / seconds / 1e6,
                static_cast<double>(writer.byte_count()) / seconds / 1e9);
}

}  // namespace
}  // namespace pinnace::journal

int main(int argc, char** argv) {
    const auto number = [&](int i, std::uint64_t other) {
        return argc > i ? std::strtoull(argv[i], nullptr, 10) : other;
    };
    pinnace::journal::run(number(1, 1'000'000), static_cast<std::uint32_t>(number(2, 64)), number(3, 1) != 0);
}
