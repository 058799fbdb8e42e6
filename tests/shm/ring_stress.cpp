// SPDX-License-Identifier: Apache-2.0
// Each ring with its two ends in two threads over one mapping, small so that it wraps and fills all the time;
// also what the thread sanitizer looks at.
#include <gtest/gtest.h>

#include <thread>

#include "shm/entry_ring.h"
#include "shm/submit_reader.h"
#include "shm/submit_writer.h"
#include "shm/wait.h"
#include "tests/shm/test_engine.h"

namespace pinnace::shm::test {
namespace {

constexpr std::uint64_t kKey = 0xabcdef0123456789;
constexpr std::uint64_t kMessages = PINNACE_TSAN ? 10'000 : 60'000;

std::byte byte_of(std::uint64_t number, std::size_t at) { return static_cast<std::byte>(number * 31 + at); }

// Sizes from empty to fragments, by number alone, so that both sides know them.
std::uint32_t size_of(std::uint64_t number) {
    const std::uint64_t mixed = (number + 1) * 0x9e3779b97f4a7c15 >> 40;
    return static_cast<std::uint32_t>(mixed % 16 == 0 ? mixed % 30'000 : mixed % 300);
}

TEST(RingStress, TheSubmitRingLosesAndTearsNothing) {
    constexpr std::uint64_t kCapacity = 64 * 1024;
    std::vector<std::uint64_t> memory(kCapacity / 8);
    auto* data = reinterpret_cast<std::byte*>(memory.data());
    std::uint64_t mark = 0;
    std::thread publisher([&] {
        SubmitWriter writer(data, kCapacity, kKey, kCapacity / 2, &mark);
        std::vector<std::byte> body;
        for (std::uint64_t number = 0; number < kMessages; ++number) {
            body.resize(size_of(number));
            for (std::size_t i = 0; i < body.size(); ++i) body[i] = byte_of(number, i);
            PublishFields fields;
            fields.number = number;
            fields.topic = static_cast<std::uint32_t>(number * 7);
            while (!writer.try_publish(fields, body)) std::this_thread::yield();
        }
        EXPECT_FALSE(writer.violation());
    });
    SubmitReader reader(data, kCapacity, kKey, kCapacity / 2);
    std::uint64_t expected = 0;
    std::uint64_t wrong = 0;
    SubmitFrame frame;
    while (expected < kMessages) {
        const ReadStatus status = reader.peek(frame);
        ASSERT_NE(status, ReadStatus::violation) << reader.violation().text();
        if (status == ReadStatus::nothing) {
            std::this_thread::yield();
            continue;
        }
        if (frame.header.number != expected || frame.header.total_size != size_of(expected) ||
            frame.header.topic != static_cast<std::uint32_t>(expected * 7)) {
            ++wrong;
        }
        for (std::uint32_t i = 0; i < frame.header.size; ++i) {
            if (frame.body[i] != byte_of(expected, frame.body_offset + i)) ++wrong;
        }
        reader.take(frame);
        if (!frame.is_last) continue;
        ++expected;
        // Lags behind now and then, as a journal does; always in time for the next maximal message.
        if (expected % 3 == 0 || used(reader.position(), mark) > 20'000) {
            reader.set_persisted(reader.position());
            shared(mark).store(reader.position(), std::memory_order_release);  // pair: persisted
        }
    }
    publisher.join();
    EXPECT_EQ(wrong, 0u);
}

template <class Entry>
void run_entry_ring() {
    constexpr std::uint64_t kCount = 64;
    std::vector<Entry> memory(kCount);
    std::uint64_t cursor = 0;
    std::thread writing([&] {
        EntryWriter<Entry> writer(memory.data(), kCount, &cursor);
        for (std::uint64_t i = 0; i < kMessages; ++i) {
            Entry entry;
            std::memset(static_cast<void*>(&entry), static_cast<int>(i & 0x7f), sizeof(entry));
            entry.position = i;
            while (!writer.try_write(entry)) std::this_thread::yield();
        }
        EXPECT_FALSE(writer.violation());
    });
    EntryReader<Entry> reader(memory.data(), kCount);
    std::uint64_t wrong = 0;
    for (std::uint64_t i = 0; i < kMessages;) {
        Entry entry;
        const ReadStatus status = reader.peek(entry);
        ASSERT_NE(status, ReadStatus::violation) << reader.violation().text();
        if (status == ReadStatus::nothing) {
            std::this_thread::yield();
            continue;
        }
        Entry expected;
        std::memset(static_cast<void*>(&expected), static_cast<int>(i & 0x7f), sizeof(expected));
        expected.commit = i + 1;
        expected.position = i;
        if (std::memcmp(&entry, &expected, sizeof(entry)) != 0) ++wrong;
        reader.take();
        reader.publish_taken(cursor);
        ++i;
    }
    writing.join();
    EXPECT_EQ(wrong, 0u);
}

TEST(RingStress, TheAckRingLosesAndTearsNothing) { run_entry_ring<AckEntry>(); }
TEST(RingStress, TheDeliveryRingLosesAndTearsNothing) { run_entry_ring<DeliveryEntry>(); }
TEST(RingStress, TheAnswerRingLosesAndTearsNothing) { run_entry_ring<AnswerEntry>(); }

TEST(RingStress, TheClockIsNeverReadTorn) {
    alignas(kPageSize) static ControlPage control{};
    std::uint32_t is_done = 0;
    std::thread writing([&] {
        for (std::uint64_t i = 1; i <= kMessages; ++i) {
            write_clock(control, {i, static_cast<std::int64_t>(i * 2), i * 3, i % 64, i * 5});
        }
        store_relaxed(is_done, 1u);
    });
    std::uint64_t wrong = 0;
    while (load_relaxed(is_done) == 0) {
        const auto clock = read_clock(control);
        if (!clock) continue;
        const std::uint64_t i = clock->base_ticks;
        if (*clock != ClockCalibration{i, static_cast<std::int64_t>(i * 2), i * 3, i % 64, i * 5}) ++wrong;
    }
    writing.join();
    EXPECT_EQ(wrong, 0u);
}

}  // namespace
}  // namespace pinnace::shm::test
