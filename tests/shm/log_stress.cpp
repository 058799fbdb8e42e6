// SPDX-License-Identifier: Apache-2.0
// Readers that copy and pin while the writer goes round and round in a log that is far too small.
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "shm/log_reader.h"
#include "shm/log_writer.h"
#include "tests/shm/test_engine.h"

namespace pinnace::shm::test {
namespace {

constexpr std::uint64_t kBodies = PINNACE_TSAN ? 3'000 : 60'000;

LogGeometry tiny_log() {
    LogGeometry log;
    log.small = {64 * 1024, 2};
    log.large = {16 * 1024, 16};
    log.reread = {64 * 1024, 4};
    log.message_size_max = 64 * 1024;
    return log;
}

// A body is its number in every word. (Large ones are longer than the small limit.)
std::uint32_t size_of(std::uint64_t number) {
    return static_cast<std::uint32_t>(number % 3 == 0 ? kSmallBodyMax + 8 + number % 29 * 1024
                                                      : number % 31 * 256 + 8);
}

struct SharedLog {
    SharedLog()
        : geometry(tiny_log()),
          small(geometry.small.region_size() / 8),
          large(geometry.large.region_size() / 8),
          reread(geometry.reread.region_size() / 8),
          writer(geometry, at(small), at(large), at(reread)) {}
    static std::byte* at(std::vector<std::uint64_t>& memory) {
        return reinterpret_cast<std::byte*>(memory.data());
    }
    LogReader reader(std::uint64_t* pins) { return {geometry, {at(small), at(large), at(reread)}, pins}; }

    LogGeometry geometry;
    std::vector<std::uint64_t> small;
    std::vector<std::uint64_t> large;
    std::vector<std::uint64_t> reread;
    LogWriter writer;
    // The newest body: its place and number, told by a sequence counter.
    std::uint64_t sequence = 0;
    std::uint64_t newest_position = 0;
    std::uint64_t newest_number = 0;
    std::uint32_t is_done = 0;

    void tell(LogPosition position, std::uint64_t number) {
        shared(sequence).fetch_add(1, std::memory_order_acq_rel);  // pair: newest
        store_relaxed(newest_position, position.bits);
        store_relaxed(newest_number, number);
        shared(sequence).fetch_add(1, std::memory_order_acq_rel);  // pair: newest
    }
    bool newest(LogPosition& position, std::uint64_t& number) {
        const std::uint64_t before = shared(sequence).load(std::memory_order_acquire);  // pair: newest
        position.bits = load_relaxed(newest_position);
        number = load_relaxed(newest_number);
        const std::uint64_t after = shared(sequence).fetch_add(0, std::memory_order_acq_rel);  // pair: newest
        return before != 0 && before % 2 == 0 && before == after;
    }

    void write_all() {
        std::vector<std::uint64_t> body;
        for (std::uint64_t number = 1; number <= kBodies; ++number) {
            LogHeader header;
            header.size = size_of(number);
            header.published = static_cast<std::int64_t>(number);
            const auto place = writer.try_place(header);
            ASSERT_TRUE(place.has_value());
            body.assign(header.size / 8, number);
            copy_shared(place->body, reinterpret_cast<const std::byte*>(body.data()), header.size);
            writer.settle(place->position, header.size, 0);
            tell(place->position, number);
        }
        store_relaxed(is_done, 1u);
    }
};

bool is_body_of(std::span<const std::uint64_t> words, std::uint64_t number) {
    for (const std::uint64_t word : words) {
        if (word != number) return false;
    }
    return true;
}

TEST(LogStress, ACopyIsTheBodyOrGone) {
    SharedLog log;
    std::thread writing([&] { log.write_all(); });
    std::uint64_t pins[kPinCount] = {};
    const LogReader reader = log.reader(pins);
    std::vector<std::uint64_t> words;
    std::uint64_t wrong = 0;
    std::uint64_t good = 0;
    while (load_relaxed(log.is_done) == 0 || good == 0) {
        LogPosition position;
        std::uint64_t number = 0;
        if (!log.newest(position, number)) continue;
        words.assign(size_of(number) / 8, 0);
        std::int64_t published = 0;
        const BodyStatus status = reader.copy(position, std::as_writable_bytes(std::span(words)), published);
        if (status == BodyStatus::gone) continue;
        ++good;
        if (status != BodyStatus::ok || published != static_cast<std::int64_t>(number) ||
            !is_body_of(words, number)) {
            ++wrong;
        }
    }
    writing.join();
    EXPECT_EQ(wrong, 0u);
}

// As long as a view says that it is valid, what is read in place is the body; under a pin that the engine
// heeds (one reader, one pin: always) it stays valid.
TEST(LogStress, APinnedViewStaysTheBody) {
    SharedLog log;
    alignas(kLineSize) std::uint64_t pins[kPinCount] = {};
    log.writer.pins().add(pins);
    std::thread writing([&] { log.write_all(); });
    const LogReader reader = log.reader(pins);
    std::uint64_t wrong = 0;
    std::uint64_t invalid = 0;
    std::uint64_t good = 0;
    while (load_relaxed(log.is_done) == 0) {
        LogPosition position;
        std::uint64_t number = 0;
        if (!log.newest(position, number)) continue;
        auto view = reader.pin(position, size_of(number));
        if (!view) {
            EXPECT_EQ(view.error(), BodyStatus::gone);
            continue;
        }
        for (int look = 0; look < 20; ++look) {
            const auto* words = reinterpret_cast<const std::uint64_t*>(view->body().data());
            if (!is_body_of({words, view->body().size() / 8}, number)) ++wrong;
            if (!view->is_valid()) ++invalid;
        }
        ++good;
    }
    writing.join();
    EXPECT_EQ(wrong, 0u);
    EXPECT_EQ(log.writer.area(Area::large).counters().pins_ignored, 0u);
    // A generation may be taken back for an instant when pin and reuse meet; what was read is the body all
    // the same.
    EXPECT_LE(invalid, good / 10 + 5);
    EXPECT_GT(good, 0u);
}

}  // namespace
}  // namespace pinnace::shm::test
