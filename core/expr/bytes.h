// SPDX-License-Identifier: Apache-2.0
// Comparison of short texts without a call: names of fields and literals are a few bytes long.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace pinnace::expr {

template <class Word>
inline Word load_word(const char* at) {
    Word word;
    std::memcpy(&word, at, sizeof word);
    return word;
}

// The first eight bytes of a text as a word, zeros where it has ended. Reads nothing beyond it.
inline std::uint64_t prefix_of(std::string_view text) {
    const std::size_t size = text.size();
    const char* const at = text.data();
    if (size >= 8) return load_word<std::uint64_t>(at);
    if (size >= 4) {
        const std::uint64_t last = load_word<std::uint32_t>(at + size - 4);
        return load_word<std::uint32_t>(at) | last << (8 * (size - 4));
    }
    if (size == 0) return 0;
    const auto byte = [at](std::size_t i) {
        return static_cast<std::uint64_t>(static_cast<unsigned char>(at[i]));
    };
    return byte(0) | byte(size / 2) << (8 * (size / 2)) | byte(size - 1) << (8 * (size - 1));
}

// The size of a name and its first four bytes as one word, which tells most names apart.
inline std::uint64_t head_of(std::string_view name) {
    const std::size_t size = name.size();
    const char* const at = name.data();
    if (size >= 4)
        return static_cast<std::uint32_t>(size) | std::uint64_t{load_word<std::uint32_t>(at)} << 32;
    return size | prefix_of(name) << 32;
}

inline bool equal_bytes(std::string_view left, std::string_view right) {
    const std::size_t size = left.size();
    if (size != right.size()) return false;
    const char* a = left.data();
    const char* b = right.data();
    if (size >= 8) {
        // Whole words, then the last one again, which may overlap.
        for (std::size_t at = 0; at + 8 < size; at += 8) {
            if (load_word<std::uint64_t>(a + at) != load_word<std::uint64_t>(b + at)) return false;
        }
        return load_word<std::uint64_t>(a + size - 8) == load_word<std::uint64_t>(b + size - 8);
    }
    if (size >= 4) {
        const std::uint32_t first = load_word<std::uint32_t>(a) ^ load_word<std::uint32_t>(b);
        return (first | (load_word<std::uint32_t>(a + size - 4) ^ load_word<std::uint32_t>(b + size - 4))) ==
               0;
    }
    if (size == 0) return true;
    // One to three bytes: the first, the middle and the last are all of them.
    return a[0] == b[0] && a[size / 2] == b[size / 2] && a[size - 1] == b[size - 1];
}

// Below, at or above zero, as the left text stands to the right one by its bytes.
inline int compare_bytes(std::string_view left, std::string_view right) {
    const std::size_t size = left.size() < right.size() ? left.size() : right.size();
    const char* a = left.data();
    const char* b = right.data();
    std::size_t at = 0;
    for (; at + 8 <= size; at += 8) {
        const auto first = load_word<std::uint64_t>(a + at);
        const auto second = load_word<std::uint64_t>(b + at);
        // The first byte decides, which is the lowest of a word.
        if (first != second) return std::byteswap(first) < std::byteswap(second) ? -1 : 1;
    }
    if (at + 4 <= size) {
        const auto first = load_word<std::uint32_t>(a + at);
        const auto second = load_word<std::uint32_t>(b + at);
        if (first != second) return std::byteswap(first) < std::byteswap(second) ? -1 : 1;
        at += 4;
    }
    for (; at < size; ++at) {
        if (a[at] != b[at])
            return static_cast<unsigned char>(a[at]) < static_cast<unsigned char>(b[at]) ? -1 : 1;
    }
    return left.size() < right.size() ? -1 : left.size() == right.size() ? 0 : 1;
}

}  // namespace pinnace::expr
