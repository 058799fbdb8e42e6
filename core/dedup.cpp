// SPDX-License-Identifier: Apache-2.0
#include "core/dedup.h"

#include <openssl/sha.h>

#include <algorithm>
#include <array>

namespace pinnace {

namespace {

using Sha256 = std::array<unsigned char, SHA256_DIGEST_LENGTH>;

Sha256 sha256(const void* data, std::size_t size) {
    Sha256 digest;
    SHA256(static_cast<const unsigned char*>(data), size, digest.data());
    return digest;
}

}  // namespace

DedupHash dedup_hash(std::string_view id) {
    const Sha256 digest = sha256(id.data(), id.size());
    DedupHash hash;
    std::memcpy(hash.data(), digest.data(), hash.size());
    return hash;
}

DedupHash dedup_hash_of_body(const std::byte* data, std::size_t size) {
    static constexpr char kDigits[] = "0123456789abcdef";
    std::array<char, 2 * SHA256_DIGEST_LENGTH> text;
    const Sha256 digest = sha256(data, size);
    for (std::size_t index = 0; index < digest.size(); ++index) {
        text[2 * index] = kDigits[digest[index] >> 4];
        text[2 * index + 1] = kDigits[digest[index] & 15];
    }
    return dedup_hash({text.data(), text.size()});
}

bool is_id(std::string_view id) {
    const auto good = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
               c == '.' || c == ':' || c == '-';
    };
    return !id.empty() && id.size() <= kGroupSizeMax && std::ranges::all_of(id, good);
}

}  // namespace pinnace
