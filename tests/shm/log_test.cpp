// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>

#include "shm/log_reader.h"
#include "shm/log_writer.h"
#include "tests/shm/test_engine.h"

namespace pinnace::shm::test {
namespace {

// A log in plain memory, with one session's pins and a reader.
struct Log {
    explicit Log(const LogGeometry& sizes = small_log())
        : geometry(sizes),
          small(sizes.small.region_size() / 8),
          large(sizes.large.region_size() / 8),
          reread(sizes.reread.region_size() / 8),
          writer(sizes, at(small), at(large), at(reread)),
          reader(sizes, {at(small), at(large), at(reread)}, pins) {
        writer.pins().add(pins);
    }
    static std::byte* at(std::vector<std::uint64_t>& memory) {
        return reinterpret_cast<std::byte*>(memory.data());
    }

    // A body whose bytes all tell its number.
    std::optional<LogPosition> put(std::uint32_t size, std::uint64_t number, RecordIndex record = 0) {
        LogHeader header;
        header.size = size;
        header.published = static_cast<std::int64_t>(number);
        const auto place = writer.try_place(header);
        if (!place) return std::nullopt;
        std::memset(place->body, static_cast<int>(number & 0xff), size);
        writer.settle(place->position, size, record);
        return place->position;
    }

    BodyStatus get(LogPosition position, std::uint32_t size, std::uint64_t number) {
        std::vector<std::byte> out(size);
        std::int64_t published = 0;
        const BodyStatus status = reader.copy(position, out, published);
        if (status != BodyStatus::ok) return status;
        EXPECT_EQ(published, static_cast<std::int64_t>(number));
        const auto expected = static_cast<std::byte>(number & 0xff);
        EXPECT_TRUE(std::all_of(out.begin(), out.end(), [&](std::byte byte) { return byte == expected; }));
        return status;
    }

    LogGeometry geometry;
    std::vector<std::uint64_t> small;
    std::vector<std::uint64_t> large;
    std::vector<std::uint64_t> reread;
    std::uint64_t pins[kPinCount] = {};
    LogWriter writer;
    LogReader reader;
};

TEST(Log, BodiesUpToTheSmallLimitLieInTheSmallArea) {
    Log log;
    EXPECT_EQ(log.put(0, 1)->area(), Area::small);
    EXPECT_EQ(log.put(kSmallBodyMax, 1)->area(), Area::small);
    EXPECT_EQ(log.put(kSmallBodyMax + 1, 1)->area(), Area::large);
}

TEST(Log, TheDefaultsHoldFourMaximalMessagesAndTwoReadAgain) {
    for (const std::uint64_t limit :
         {std::uint64_t{1} << 10, std::uint64_t{16} << 20, std::uint64_t{100} << 20}) {
        const LogGeometry geometry = default_log_geometry(limit);
        EXPECT_TRUE(is_valid(geometry)) << limit;
        EXPECT_GE(geometry.large.data_size(), 4 * (limit + kLogHeaderSize));
        EXPECT_GE(geometry.reread.data_size(), 2 * (limit + kLogHeaderSize));
    }
}

// Sizes at random for many laps, all areas: each body is what was put or gone; the newest ones are there.
TEST(Log, ABodyIsReadWholeOrGone) {
    Log log;
    Random random(seed());
    struct Put {
        LogPosition position;
        std::uint32_t size;
        std::uint64_t number;
    };
    std::deque<Put> puts;
    std::size_t gone_count = 0;
    for (std::uint64_t number = 0; number < 3000; ++number) {
        const auto size = static_cast<std::uint32_t>(random.below(4) == 0 ? random.below(200 * 1024 + 1)
                                                                          : random.below(kSmallBodyMax));
        const auto position = log.put(size, number);
        ASSERT_TRUE(position.has_value());
        ASSERT_EQ(log.get(*position, size, number), BodyStatus::ok);
        puts.push_back({*position, size, number});
        if (puts.size() > 200) puts.pop_front();
        const Put& old = puts[random.below(puts.size())];
        const BodyStatus status = log.get(old.position, old.size, old.number);
        ASSERT_TRUE(status == BodyStatus::ok || status == BodyStatus::gone);
        ASSERT_EQ(log.writer.is_current(old.position, old.size), status == BodyStatus::ok);
        if (status == BodyStatus::gone) ++gone_count;
    }
    EXPECT_GT(gone_count, 100u);
}

TEST(Log, ASlotIsNotReusedBeforeAllInItIsDurable) {
    Log log;
    std::uint64_t number = 0;
    while (log.put(10'000, number, number + 1)) ++number;
    EXPECT_EQ(number, 24u);  // four slots of six
    // Smaller ones still fit into what is left of the last slot.
    EXPECT_TRUE(log.put(1000, 99, number + 1).has_value());
    log.writer.set_durable(5);
    EXPECT_FALSE(log.put(10'000, number, number + 1).has_value());
    log.writer.set_durable(6);
    EXPECT_TRUE(log.put(10'000, number, number + 1).has_value());
    // Large ones have room of their own.
    EXPECT_TRUE(log.put(100'000, number, number + 1).has_value());
}

TEST(Log, AnUnsettledBodyKeepsItsSlot) {
    Log log;
    LogHeader header;
    header.size = 100;
    const auto place = log.writer.try_place(header);
    ASSERT_TRUE(place.has_value());
    std::uint64_t number = 0;
    while (log.put(30'000, number)) ASSERT_LT(++number, 100u);
    EXPECT_TRUE(log.writer.is_current(place->position, 100));
    log.writer.settle(place->position, 100, 0);
    EXPECT_TRUE(log.put(30'000, number).has_value());
    EXPECT_FALSE(log.writer.is_current(place->position, 100));
}

TEST(Log, APinnedBodyStaysAndTheOthersGoRoundIt) {
    Log log;
    const auto pinned = log.put(20'000, 7);
    auto view = log.reader.pin(*pinned, 20'000);
    ASSERT_TRUE(view.has_value());
    EXPECT_EQ(view->published(), 7);
    for (std::uint64_t number = 0; number < 50; ++number) {
        const auto position = log.put(20'000, number);
        ASSERT_TRUE(position.has_value());
        ASSERT_EQ(log.get(*position, 20'000, number), BodyStatus::ok);
        ASSERT_TRUE(view->is_valid());
        ASSERT_EQ(view->body()[19'999], std::byte{7});
    }
    EXPECT_GT(log.writer.area(Area::small).counters().slots_skipped, 4u);
    view->release();
    EXPECT_EQ(log.pins[0], 0u);
    for (std::uint64_t number = 0; number < 20; ++number) log.put(20'000, number);
    EXPECT_EQ(log.get(*pinned, 20'000, 7), BodyStatus::gone);
}

TEST(Log, APinThatComesTooLateSaysGone) {
    Log log;
    const auto position = log.put(20'000, 7);
    for (std::uint64_t number = 0; number < 20; ++number) log.put(20'000, number);
    const auto view = log.reader.pin(*position, 20'000);
    ASSERT_FALSE(view.has_value());
    EXPECT_EQ(view.error(), BodyStatus::gone);
    for (const std::uint64_t pin : log.pins) EXPECT_EQ(pin, 0u);
}

TEST(Log, PinsAreBounded) {
    Log log;
    const auto position = log.put(20'000, 7);
    std::vector<LogView> views;
    for (std::size_t i = 0; i < kPinCount; ++i)
        views.push_back(std::move(*log.reader.pin(*position, 20'000)));
    EXPECT_EQ(log.reader.pin(*position, 20'000).error(), BodyStatus::no_pin);
    views.pop_back();
    EXPECT_TRUE(log.reader.pin(*position, 20'000).has_value());
}

TEST(Log, ALargeBodyOverSeveralSlotsIsKeptByOnePin) {
    Log log;
    const auto pinned = log.put(200 * 1024, 3);
    auto view = log.reader.pin(*pinned, 200 * 1024);
    ASSERT_TRUE(view.has_value());
    for (std::uint64_t number = 0; number < 40; ++number) {
        const auto size = static_cast<std::uint32_t>(40'000 + number * 1000);
        const auto position = log.put(size, number);
        ASSERT_TRUE(position.has_value());
        ASSERT_EQ(log.get(*position, size, number), BodyStatus::ok);
        ASSERT_TRUE(view->is_valid());
    }
    for (const std::byte byte : view->body()) ASSERT_EQ(byte, std::byte{3});
}

// Whatever a client writes into its pin words, the log goes on.
TEST(Log, PinsOfALiarDoNotStopTheLog) {
    Log log;
    Random random(seed());
    for (std::uint64_t number = 0; number < 2000; ++number) {
        for (std::size_t i = 0; i < kPinCount; ++i) {
            const Area area = random.below(2) == 0 ? Area::small : Area::large;
            // Slots around the ones that come next, in all widths.
            const std::uint64_t first = random.below(number / 2 + 1);
            log.pins[i] =
                random.below(4) == 0 ? random.next() : PinnedSlots{area, first, random.below(40)}.word();
        }
        const auto size = static_cast<std::uint32_t>(random.below(200 * 1024));
        const auto position = log.put(size, number);
        ASSERT_TRUE(position.has_value());
        ASSERT_EQ(log.get(*position, size, number), BodyStatus::ok);
    }
}

TEST(Log, ScatteredPinsOfManySessionsDoNotStopLargeBodies) {
    Log log;
    std::uint64_t newest = 0;
    for (std::uint64_t number = 0; number < 40; ++number) {
        newest = log.put(100'000, number)->byte_position() / log.geometry.large.slot_size;
    }
    // Every second slot is pinned, by sessions of one pin each.
    std::vector<std::vector<std::uint64_t>> sessions;
    for (std::uint64_t slot = newest - 20; slot <= newest + 1; slot += 2) {
        sessions.emplace_back(kPinCount);
        sessions.back()[0] = PinnedSlots{Area::large, slot, 1}.word();
        log.writer.pins().add(sessions.back().data());
    }
    const auto position = log.put(150'000, 5);
    ASSERT_TRUE(position.has_value());
    EXPECT_EQ(log.get(*position, 150'000, 5), BodyStatus::ok);
    EXPECT_GT(log.writer.area(Area::large).counters().pins_ignored, 0u);
}

TEST(Log, TheRereadAreaTakesBodiesOfAllSizes) {
    Log log;
    for (std::uint64_t number = 0; number < 100; ++number) {
        LogHeader header;
        header.size = static_cast<std::uint32_t>(number * 2000);
        header.published = 1;
        const auto place = log.writer.try_place_reread(header);
        ASSERT_TRUE(place.has_value());
        EXPECT_EQ(place->position.area(), Area::reread);
        std::memset(place->body, 9, header.size);
        log.writer.settle(place->position, header.size, 0);
        std::vector<std::byte> out(header.size);
        std::int64_t published = 0;
        ASSERT_EQ(log.reader.copy(place->position, out, published), BodyStatus::ok);
    }
}

// Rule 3 towards the engine: no descriptor makes a client read outside of the log.
TEST(Log, ADescriptorOutsideOfTheLogIsAViolation) {
    Log log;
    auto is_violation = [&](LogPosition position, std::uint32_t size) {
        std::vector<std::byte> out(size);
        std::int64_t published = 0;
        return log.reader.copy(position, out, published) == BodyStatus::violation &&
               log.reader.pin(position, size).error() == BodyStatus::violation;
    };
    EXPECT_TRUE(is_violation(kCold, 10));
    EXPECT_TRUE(is_violation(LogPosition::make(Area::small, 32), 10));                // not aligned
    EXPECT_TRUE(is_violation(LogPosition::make(Area::small, 65'536 - 64), 64));       // over the slot's end
    EXPECT_FALSE(is_violation(LogPosition::make(Area::small, 65'536 - 64), 32));      // up to it
    EXPECT_TRUE(is_violation(LogPosition::make(Area::small, 0), 200 * 1024));         // larger than a slot
    EXPECT_TRUE(is_violation(LogPosition::make(Area::large, 0), 200 * 1024 + 1));     // larger than the limit
    EXPECT_TRUE(is_violation(LogPosition::make(Area::large, 16 * 65'536 - 64), 64));  // over the lap's end
    EXPECT_FALSE(is_violation(LogPosition::make(Area::large, 15 * 65'536), 65'536 - 32));
}

TEST(Log, RandomDescriptorsNeverReadOutside) {
    Log log;
    Random random(seed());
    for (std::uint64_t number = 0; number < 30; ++number) log.put(60'000, number);
    std::vector<std::byte> out(300 * 1024);
    for (int i = 0; i < 20'000; ++i) {
        std::uint64_t bits = random.next() >> random.below(50);
        if (random.below(2) == 0) bits = (bits & ~std::uint64_t{63}) | (random.below(4) << 62);
        const auto size = random.below(300 * 1024);
        std::int64_t published = 0;
        static_cast<void>(log.reader.copy(LogPosition{bits}, std::span(out).first(size), published));
        static_cast<void>(log.reader.pin(LogPosition{bits}, static_cast<std::uint32_t>(size)));
    }
    for (const std::uint64_t pin : log.pins) EXPECT_EQ(pin, 0u);
}

TEST(Log, APinWordIsReadAsItWasWritten) {
    for (const Area area : {Area::small, Area::large, Area::reread}) {
        for (const std::uint64_t slot : {std::uint64_t{0}, std::uint64_t{1}, (std::uint64_t{1} << 48) - 1}) {
            const PinnedSlots pin{area, slot, 17};
            EXPECT_EQ(PinnedSlots::from_word(pin.word()), pin);
            EXPECT_NE(pin.word(), 0u);
        }
    }
    EXPECT_EQ(PinnedSlots::from_word(0).area, Area::cold);
}

}  // namespace
}  // namespace pinnace::shm::test
