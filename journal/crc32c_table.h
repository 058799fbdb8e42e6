// SPDX-License-Identifier: Apache-2.0
// Tables of CRC32C, computed by the compiler: one byte at a time in eight lanes, and a jump over a run of
// zeros.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace pinnace::journal {

inline constexpr std::uint32_t kCrc32cPolynomial = 0x82f6'3b78;  // reflected
using Crc32cLane = std::array<std::uint32_t, 256>;

// Lane k: what a byte does that is followed by k zero bytes.
constexpr std::array<Crc32cLane, 8> make_crc32c_lanes() {
    std::array<Crc32cLane, 8> lanes{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t crc = byte;
        for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kCrc32cPolynomial : 0);
        lanes[0][byte] = crc;
    }
    for (std::size_t lane = 1; lane < 8; ++lane) {
        for (std::uint32_t byte = 0; byte < 256; ++byte) {
            const std::uint32_t crc = lanes[lane - 1][byte];
            lanes[lane][byte] = (crc >> 8) ^ lanes[0][crc & 0xff];
        }
    }
    return lanes;
}

// What `zero_count` zero bytes make of a state, by the bytes of the state (the map is linear).
constexpr std::array<Crc32cLane, 4> make_crc32c_jump(std::size_t zero_count) {
    constexpr auto lanes = make_crc32c_lanes();
    std::array<std::uint32_t, 32> of_bit{};
    for (std::size_t bit = 0; bit < 32; ++bit) {
        std::uint32_t crc = std::uint32_t{1} << bit;
        for (std::size_t i = 0; i < zero_count; ++i) crc = (crc >> 8) ^ lanes[0][crc & 0xff];
        of_bit[bit] = crc;
    }
    std::array<Crc32cLane, 4> jump{};
    for (std::size_t lane = 0; lane < 4; ++lane) {
        for (std::uint32_t byte = 0; byte < 256; ++byte) {
            std::uint32_t crc = 0;
            for (std::size_t bit = 0; bit < 8; ++bit) {
                if ((byte >> bit & 1) != 0) crc ^= of_bit[lane * 8 + bit];
            }
            jump[lane][byte] = crc;
        }
    }
    return jump;
}

}  // namespace pinnace::journal
