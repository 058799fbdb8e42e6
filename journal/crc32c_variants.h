// SPDX-License-Identifier: Apache-2.0
// The variants of CRC32C, each in its own object file with its own compiler flags; crc32c.cpp chooses among
// them, and one suite of tests runs on each. Include this only there.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pinnace::journal {

struct Crc32cPortable {
    static bool available();
    static std::uint32_t extend(std::uint32_t crc, const void* data, std::size_t size);
    static std::uint32_t copy(std::uint32_t crc, void* to, const void* from, std::size_t size);
};

struct Crc32cSse42 {
    static bool available();
    static std::uint32_t extend(std::uint32_t crc, const void* data, std::size_t size);
    static std::uint32_t copy(std::uint32_t crc, void* to, const void* from, std::size_t size);
};

}  // namespace pinnace::journal
