// SPDX-License-Identifier: Apache-2.0
#include "journal/crc32c.h"

#include "journal/crc32c_variants.h"

namespace pinnace::journal {
namespace {

struct Chosen {
    decltype(&Crc32cPortable::extend) extend = &Crc32cPortable::extend;
    decltype(&Crc32cPortable::copy) copy = &Crc32cPortable::copy;
    const char* name = "portable";
};

Chosen choose() {
    if (Crc32cSse42::available()) return {&Crc32cSse42::extend, &Crc32cSse42::copy, "sse4.2"};
    return {};
}

// Chosen before main, so that no call pays for the question.
const Chosen chosen = choose();

}  // namespace

std::uint32_t crc32c(std::uint32_t crc, const void* data, std::size_t size) {
    return chosen.extend(crc, data, size);
}

std::uint32_t crc32c_copy(std::uint32_t crc, void* to, const void* from, std::size_t size) {
    return chosen.copy(crc, to, from, size);
}

const char* crc32c_variant() { return chosen.name; }

}  // namespace pinnace::journal
