// SPDX-License-Identifier: Apache-2.0
// Histogram: counts of values in buckets whose width grows with the value, in fixed memory and without loss
// of rank.
//
// Values below 2^(kPrecisionBits + 1) have a bucket each; above, each power of two is cut into
// 2^kPrecisionBits buckets, so a bucket is never wider than 1/128 of its values. What exceeds kValueMax
// counts as kValueMax; max() is exact all the same.
//
// Invariants
//   1. Buckets follow each other without hole or overlap: bucket_of(highest(i)) == i, and the next value's
//      bucket is i + 1.
//   2. quantile() never answers less than the exact quantile, and at most 1/128 more.
//
// Thread: one at a time; merge() joins those of several threads.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace pinnace::bench {

class Histogram {
 public:
    static constexpr unsigned kPrecisionBits = 7;
    static constexpr unsigned kValueBits = 42;  // of nanoseconds: 73 minutes
    static constexpr std::uint64_t kValueMax = (std::uint64_t{1} << kValueBits) - 1;
    static constexpr std::size_t kBucketCount = std::size_t{kValueBits - kPrecisionBits + 1}
                                                << kPrecisionBits;

    static constexpr std::size_t bucket_of(std::uint64_t value) {
        value = std::min(value, kValueMax);
        const unsigned width = static_cast<unsigned>(std::bit_width(value));
        if (width <= kPrecisionBits + 1) return static_cast<std::size_t>(value);
        const unsigned shift = width - (kPrecisionBits + 1);
        return (std::size_t{shift} << kPrecisionBits) + static_cast<std::size_t>(value >> shift);
    }

    // The largest value that falls into the bucket.
    static constexpr std::uint64_t highest(std::size_t bucket) {
        if (bucket < (std::size_t{2} << kPrecisionBits)) return bucket;
        const std::size_t shift = (bucket >> kPrecisionBits) - 1;
        return ((std::uint64_t{bucket} - (shift << kPrecisionBits) + 1) << shift) - 1;
    }

    void record(std::uint64_t value) {
        ++counts_[bucket_of(value)];
        ++count_;
        sum_ += static_cast<double>(value);
        min_ = std::min(min_, value);
        max_ = std::max(max_, value);
    }

    void merge(const Histogram& other) {
        for (std::size_t i = 0; i < kBucketCount; ++i) counts_[i] += other.counts_[i];
        count_ += other.count_;
        sum_ += other.sum_;
        min_ = std::min(min_, other.min_);
        max_ = std::max(max_, other.max_);
    }

    void reset() { *this = Histogram{}; }

    std::uint64_t count() const { return count_; }
    std::uint64_t min() const { return count_ == 0 ? 0 : min_; }
    std::uint64_t max() const { return max_; }
    double mean() const { return count_ == 0 ? 0.0 : sum_ / static_cast<double>(count_); }

    // The smallest bucket's upper end that at least `fraction` of the values do not exceed; 0 if there are
    // none.
    std::uint64_t quantile(double fraction) const {
        if (count_ == 0) return 0;
        const double wanted = std::ceil(std::clamp(fraction, 0.0, 1.0) * static_cast<double>(count_));
        const std::uint64_t rank = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(wanted));
        std::uint64_t seen = 0;
        for (std::size_t i = 0; i < kBucketCount; ++i) {
            seen += counts_[i];
            if (seen >= rank) return i + 1 == kBucketCount ? max_ : std::min(highest(i), max_);
        }
        return max_;
    }

 private:
    std::array<std::uint64_t, kBucketCount> counts_{};
    std::uint64_t count_ = 0;
    double sum_ = 0;
    std::uint64_t min_ = UINT64_MAX;
    std::uint64_t max_ = 0;
};

}  // namespace pinnace::bench
