// SPDX-License-Identifier: Apache-2.0
#include "bench/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace pinnace::bench {
namespace {

TEST(Histogram, BucketsFollowEachOtherWithoutHoleOrOverlap) {
    std::uint64_t next = 0;
    for (std::size_t i = 0; i < Histogram::kBucketCount; ++i) {
        ASSERT_EQ(Histogram::bucket_of(next), i);
        ASSERT_GE(Histogram::highest(i), next);
        ASSERT_EQ(Histogram::bucket_of(Histogram::highest(i)), i);
        next = Histogram::highest(i) + 1;
    }
    EXPECT_EQ(next, Histogram::kValueMax + 1);
}

TEST(Histogram, ABucketIsNeverWiderThanItsPrecision) {
    for (std::size_t i = 1; i < Histogram::kBucketCount; ++i) {
        const std::uint64_t lowest = Histogram::highest(i - 1) + 1;
        const std::uint64_t width = Histogram::highest(i) - lowest + 1;
        ASSERT_LE(width, std::max<std::uint64_t>(1, lowest >> Histogram::kPrecisionBits)) << i;
    }
}

TEST(Histogram, QuantilesAreThoseOfTheSortedValuesWithinTheBucketsWidth) {
    std::mt19937_64 random(7);
    for (int round = 0; round < 50; ++round) {
        Histogram histogram;
        std::vector<std::uint64_t> values(1 + random() % 2000);
        for (std::uint64_t& value : values) {
            value = random() >> (22 + random() % 42);
            histogram.record(value);
        }
        std::ranges::sort(values);
        for (const double fraction : {0.0, 0.1, 0.5, 0.9, 0.99, 0.999, 1.0}) {
            const auto rank =
                static_cast<std::size_t>(std::ceil(fraction * static_cast<double>(values.size())));
            const std::uint64_t exact = values[std::max<std::size_t>(rank, 1) - 1];
            ASSERT_GE(histogram.quantile(fraction), exact);
            ASSERT_LE(histogram.quantile(fraction), exact + (exact >> Histogram::kPrecisionBits) + 1);
        }
        ASSERT_EQ(histogram.max(), values.back());
        ASSERT_EQ(histogram.min(), values.front());
    }
}

TEST(Histogram, MergedHistogramsAreOneOverAllValues) {
    Histogram both;
    Histogram parts[2];
    for (std::uint64_t i = 1; i <= 10'000; ++i) {
        both.record(i * i);
        parts[i % 2].record(i * i);
    }
    parts[0].merge(parts[1]);
    EXPECT_EQ(parts[0].count(), both.count());
    for (double fraction = 0; fraction <= 1; fraction += 0.01) {
        EXPECT_EQ(parts[0].quantile(fraction), both.quantile(fraction));
    }
}

TEST(Histogram, ValuesBeyondTheRangeCountAndTheMaximumStaysExact) {
    Histogram histogram;
    histogram.record(5);
    histogram.record(UINT64_MAX);
    EXPECT_EQ(histogram.count(), 2u);
    EXPECT_EQ(histogram.quantile(0.5), 5u);
    EXPECT_EQ(histogram.quantile(1.0), UINT64_MAX);
}

TEST(Histogram, AnEmptyHistogramAnswersZero) {
    const Histogram histogram;
    EXPECT_EQ(histogram.quantile(0.5), 0u);
    EXPECT_EQ(histogram.min(), 0u);
    EXPECT_EQ(histogram.max(), 0u);
}

}  // namespace
}  // namespace pinnace::bench
