// SPDX-License-Identifier: Apache-2.0
#include "shm/ring_math.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace pinnace::shm {
namespace {

// All capacities, cursors and sizes of a ring whose positions are single bytes, so that every wrap happens.
template <class Check>
void for_all_rings(Check&& check) {
    for (unsigned capacity = 1; capacity <= 128; capacity *= 2) {
        for (unsigned read = 0; read < 256; ++read) {
            for (unsigned fill = 0; fill <= capacity; ++fill) {
                check(static_cast<std::uint8_t>(capacity), static_cast<std::uint8_t>(read),
                      static_cast<std::uint8_t>(fill));
            }
        }
    }
}

TEST(RingMath, UsedAndFreeAddUpForAllCursorsOfANarrowType) {
    for_all_rings([](std::uint8_t capacity, std::uint8_t read, std::uint8_t fill) {
        const auto written = static_cast<std::uint8_t>(read + fill);
        ASSERT_EQ(used(written, read), fill);
        ASSERT_EQ(free_space(capacity, written, read), capacity - fill);
        ASSERT_LT(offset_of(written, capacity), capacity);
        ASSERT_EQ(offset_of(written, capacity) + space_to_end(written, capacity), capacity);
    });
}

// The model: an array of cells with the positions that they hold, filled one by one.
TEST(RingMath, APlacementNeverStraddlesTheEndNorTouchesWhatIsUnread) {
    for_all_rings([](std::uint8_t capacity, std::uint8_t read, std::uint8_t fill) {
        const auto written = static_cast<std::uint8_t>(read + fill);
        for (unsigned length = 1; length <= capacity; ++length) {
            const auto placement =
                place_if_free<std::uint8_t>(capacity, written, read, static_cast<std::uint8_t>(length));
            // By hand, in whole numbers.
            const unsigned offset = static_cast<unsigned>(written) % capacity;
            const unsigned padding = offset + length > capacity ? capacity - offset : 0;
            const bool fits = fill + padding + length <= capacity;
            ASSERT_EQ(placement.has_value(), fits);
            if (!fits) continue;
            ASSERT_EQ(placement->padding, padding);
            ASSERT_EQ(placement->start, static_cast<std::uint8_t>(written + padding));
            ASSERT_EQ(placement->end, static_cast<std::uint8_t>(written + padding + length));
            ASSERT_LE(offset_of(placement->start, capacity) + length, capacity);
            ASSERT_LE(used(placement->end, read), capacity);
        }
    });
}

TEST(RingMath, ARoundedSizeIsTheNextMultiple) {
    for (unsigned size = 0; size <= 192; ++size) {
        for (unsigned alignment = 1; alignment <= 64; alignment *= 2) {
            const unsigned expected = (size + alignment - 1) / alignment * alignment;
            ASSERT_EQ(round_up<std::uint16_t>(static_cast<std::uint16_t>(size),
                                              static_cast<std::uint16_t>(alignment)),
                      expected);
        }
    }
}

TEST(RingMath, ACursorMayMoveForwardsUpToTheLimitOnly) {
    for (unsigned known = 0; known < 256; ++known) {
        for (unsigned ahead = 0; ahead < 128; ++ahead) {
            for (unsigned told = 0; told < 256; ++told) {
                const auto move = static_cast<std::uint8_t>(told - known);
                ASSERT_EQ(is_plausible_move(static_cast<std::uint8_t>(known), static_cast<std::uint8_t>(told),
                                            static_cast<std::uint8_t>(known + ahead)),
                          move <= ahead);
            }
        }
    }
}

TEST(RingMath, PowersOfTwoAreToldFromTheRest) {
    std::vector<unsigned> found;
    for (unsigned value = 0; value < 256; ++value) {
        if (is_power_of_two(static_cast<std::uint8_t>(value))) found.push_back(value);
    }
    EXPECT_EQ(found, (std::vector<unsigned>{1, 2, 4, 8, 16, 32, 64, 128}));
}

TEST(RingMath, PositionsBeyondFourGigabytesKeepTheirPlace) {
    for (const std::uint64_t base : {(std::uint64_t{1} << 31) - 64, (std::uint64_t{1} << 32) - 64,
                                     (std::uint64_t{1} << 63) - 64, UINT64_MAX - 63}) {
        const auto placement = place_if_free<std::uint64_t>(65'536, base, base - 1024, 128);
        ASSERT_TRUE(placement.has_value());
        EXPECT_EQ(placement->padding, 64u);
        EXPECT_EQ(placement->start, base + 64);
    }
}

}  // namespace
}  // namespace pinnace::shm
