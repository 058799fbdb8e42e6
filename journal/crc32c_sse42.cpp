// SPDX-License-Identifier: Apache-2.0
// CRC32C by the instruction of SSE4.2. Long runs are summed in three interleaved parts, since the instruction
// has a latency of three and a throughput of one; a table joins the parts. Built with its own flags.
#include <cstring>

#include "journal/crc32c_table.h"
#include "journal/crc32c_variants.h"

#if defined(__x86_64__)
#include <nmmintrin.h>

namespace pinnace::journal {
namespace {

constexpr std::size_t kPartSize = 512;
constexpr auto kJump = make_crc32c_jump(kPartSize);

std::uint32_t jump(std::uint32_t crc) {
    return kJump[0][crc & 0xff] ^ kJump[1][crc >> 8 & 0xff] ^ kJump[2][crc >> 16 & 0xff] ^
           kJump[3][crc >> 24];
}

std::uint64_t load8(const std::uint8_t* from) {
    std::uint64_t word;
    std::memcpy(&word, from, 8);
    return word;
}

// With kCopy each word is stored as it was loaded, once: bytes and sum agree whatever happens to the source.
template <bool kCopy>
std::uint64_t step8(std::uint64_t crc, std::uint8_t* to, const std::uint8_t* from) {
    const std::uint64_t word = load8(from);
    if constexpr (kCopy) std::memcpy(to, &word, 8);
    return _mm_crc32_u64(crc, word);
}

template <bool kCopy>
std::uint32_t run(std::uint32_t crc, std::uint8_t* to, const std::uint8_t* from, std::size_t size) {
    std::uint64_t state = static_cast<std::uint32_t>(~crc);
    const auto advance = [&](std::size_t count) {
        from += count;
        size -= count;
        if constexpr (kCopy) to += count;
    };
    while (size >= 3 * kPartSize) {
        std::uint64_t second = 0;
        std::uint64_t third = 0;
        for (std::size_t i = 0; i < kPartSize; i += 8) {
            state = step8<kCopy>(state, to + i, from + i);
            second = step8<kCopy>(second, to + kPartSize + i, from + kPartSize + i);
            third = step8<kCopy>(third, to + 2 * kPartSize + i, from + 2 * kPartSize + i);
        }
        second ^= jump(static_cast<std::uint32_t>(state));
        state = third ^ jump(static_cast<std::uint32_t>(second));
        advance(3 * kPartSize);
    }
    while (size >= 8) {
        state = step8<kCopy>(state, to, from);
        advance(8);
    }
    auto crc32 = static_cast<std::uint32_t>(state);
    while (size > 0) {
        const std::uint8_t byte = *from;
        if constexpr (kCopy) *to = byte;
        crc32 = _mm_crc32_u8(crc32, byte);
        advance(1);
    }
    return ~crc32;
}

}  // namespace

bool Crc32cSse42::available() { return __builtin_cpu_supports("sse4.2") != 0; }

std::uint32_t Crc32cSse42::extend(std::uint32_t crc, const void* data, std::size_t size) {
    // The first pointer is not used without kCopy; it must only be one that may be added to.
    const auto* from = static_cast<const std::uint8_t*>(data);
    return run<false>(crc, const_cast<std::uint8_t*>(from), from, size);
}

std::uint32_t Crc32cSse42::copy(std::uint32_t crc, void* to, const void* from, std::size_t size) {
    return run<true>(crc, static_cast<std::uint8_t*>(to), static_cast<const std::uint8_t*>(from), size);
}

}  // namespace pinnace::journal

#else

namespace pinnace::journal {

bool Crc32cSse42::available() { return false; }

std::uint32_t Crc32cSse42::extend(std::uint32_t crc, const void* data, std::size_t size) {
    return Crc32cPortable::extend(crc, data, size);
}

std::uint32_t Crc32cSse42::copy(std::uint32_t crc, void* to, const void* from, std::size_t size) {
    return Crc32cPortable::copy(crc, to, from, size);
}

}  // namespace pinnace::journal

#endif
