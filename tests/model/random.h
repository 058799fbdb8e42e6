// SPDX-License-Identifier: Apache-2.0
// Random: a small generator of numbers with the same output on every machine and library (splitmix64).
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace pinnace::model {

class Random {
 public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next() {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }
    // 0 .. count - 1.
    std::uint64_t below(std::uint64_t count) { return next() % count; }
    int between(int low, int high) {
        return low + static_cast<int>(below(static_cast<std::uint64_t>(high - low) + 1));
    }
    bool chance(unsigned percent) { return below(100) < percent; }
    template <class T>
    T one_of(std::initializer_list<T> values) {
        return values.begin()[below(values.size())];
    }
    template <class T>
    const T& one_of(const std::vector<T>& values) {
        return values[below(values.size())];
    }
    // An index, each as often as its weight says.
    std::size_t weighted(std::initializer_list<unsigned> weights) {
        std::uint64_t total = 0;
        for (const unsigned weight : weights) total += weight;
        std::uint64_t at = below(total);
        std::size_t index = 0;
        for (const unsigned weight : weights) {
            if (at < weight) return index;
            at -= weight;
            ++index;
        }
        return 0;
    }

 private:
    std::uint64_t state_;
};

}  // namespace pinnace::model
