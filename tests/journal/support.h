// SPDX-License-Identifier: Apache-2.0
// What the journal's tests share: directories that go away, a sink that remembers, records from short words.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "journal/batch.h"
#include "journal/journal.h"

namespace pinnace::journal::test {

class TemporaryDirectory {
 public:
    explicit TemporaryDirectory(const std::string& below = ::testing::TempDir()) {
        std::string name = below + "/pinnace-journal-XXXXXX";
        path_ = ::mkdtemp(name.data()) == nullptr ? "" : name;
        EXPECT_FALSE(path_.empty()) << name;
    }
    ~TemporaryDirectory() {
        std::error_code ignored;
        if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
    }
    TemporaryDirectory(const TemporaryDirectory&) = delete;
    TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
    const std::string& path() const { return path_; }

 private:
    std::string path_;
};

inline std::span<const std::byte> as_bytes(std::string_view text) { return std::as_bytes(std::span(text)); }
inline std::string as_text(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline RecordHeader record(RecordKind kind, std::uint32_t subject, Position position, Time time = 1) {
    RecordHeader header;
    header.kind = static_cast<std::uint16_t>(kind);
    header.subject = subject;
    header.position = position;
    header.time = time;
    return header;
}

struct Seen {
    RecordHeader header;
    std::string head;
    std::string body;
    Place place;
};

class RememberingSink final : public RecordSink {
 public:
    std::expected<void, std::string> record(const RecordView& record, Place place) override {
        if (static_cast<std::int64_t>(seen.size()) == refuse_at)
            return std::unexpected("the test refuses it");
        seen.push_back({record.header, as_text(record.head),
                        std::string(reinterpret_cast<const char*>(record.body.data), record.body.size),
                        place});
        return {};
    }
    void begin_again() override { seen.clear(); }
    std::vector<Seen> seen;
    std::int64_t refuse_at = -1;
};

// Small enough that rolls happen after a few records.
inline Options small_options(const std::string& directory) {
    Options options;
    options.directory = directory;
    options.segment_size = 256u << 10;
    options.message_size_max = 32u << 10;
    options.feed_byte_count = 16u << 10;
    options.batch_size_max = 16u << 10;
    options.lock_wait_ns = 0;
    options.spare_count = 1;
    options.mark_after_ns = 1'000'000'000'000;
    options.checkpoints = false;
    return options;
}

// Yields until it is so; the test's own time limit ends it if it never is.
template <typename Condition>
void await(Condition&& condition) {
    while (!condition()) std::this_thread::yield();
}

inline RecordIndex put(Journal& journal, const RecordHeader& header, std::string_view head,
                       std::string_view body) {
    await([&] { return journal.room() >= Feed::entry_size(head.size()); });
    const auto bytes = as_bytes(body);
    return journal.feed().append(header, as_bytes(head), bytes.data(),
                                 static_cast<std::uint32_t>(bytes.size()));
}

inline void publish(Journal& journal, Time now = 1) {
    journal.feed().publish(now);
    journal.wake();
}

inline std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_file(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace pinnace::journal::test
