// SPDX-License-Identifier: Apache-2.0
// CRC32C (Castagnoli), alone and while copying, in the fastest variant that this machine has, chosen once.
//
// Values are plain: crc32c(0, ...) begins, a former result goes on. On disk they are masked, so that a
// checksum that lies inside of what another one covers does not play tricks. Zero is a legal value of both.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace pinnace::journal {

std::uint32_t crc32c(std::uint32_t crc, const void* data, std::size_t size);
// Copies `size` bytes and sums them in the same pass. The two must not overlap.
std::uint32_t crc32c_copy(std::uint32_t crc, void* to, const void* from, std::size_t size);
// "sse4.2" or "portable".
const char* crc32c_variant();

inline constexpr std::uint32_t kCrcMaskConstant = 0x50'4e'43'45;
constexpr std::uint32_t mask_crc(std::uint32_t crc) { return std::rotl(crc, 17) + kCrcMaskConstant; }
constexpr std::uint32_t unmask_crc(std::uint32_t masked) { return std::rotr(masked - kCrcMaskConstant, 17); }

}  // namespace pinnace::journal
