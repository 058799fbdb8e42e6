// SPDX-License-Identifier: Apache-2.0
// CRC32C without special instructions: eight bytes at a time by tables. The reference for the other variants.
#include <cstring>

#include "journal/crc32c_table.h"
#include "journal/crc32c_variants.h"

namespace pinnace::journal {
namespace {

constexpr auto kLanes = make_crc32c_lanes();

std::uint32_t step8(std::uint32_t crc, std::uint64_t bytes) {
    bytes ^= crc;
    std::uint32_t result = 0;
    for (std::size_t i = 0; i < 8; ++i) result ^= kLanes[7 - i][bytes >> (8 * i) & 0xff];
    return result;
}

std::uint32_t step1(std::uint32_t crc, std::uint8_t byte) {
    return (crc >> 8) ^ kLanes[0][(crc ^ byte) & 0xff];
}

}  // namespace

bool Crc32cPortable::available() { return true; }

std::uint32_t Crc32cPortable::extend(std::uint32_t crc, const void* data, std::size_t size) {
    const auto* bytes = static_cast<const std::uint8_t*>(data);
    crc = ~crc;
    for (; size >= 8; size -= 8, bytes += 8) {
        std::uint64_t word;
        std::memcpy(&word, bytes, 8);
        crc = step8(crc, word);
    }
    for (; size > 0; --size, ++bytes) crc = step1(crc, *bytes);
    return ~crc;
}

std::uint32_t Crc32cPortable::copy(std::uint32_t crc, void* to, const void* from, std::size_t size) {
    // The sum is taken from the copy: should the source change meanwhile, stored bytes and sum still agree.
    if (size > 0) std::memcpy(to, from, size);
    return extend(crc, to, size);
}

}  // namespace pinnace::journal
