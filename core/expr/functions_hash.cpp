// SPDX-License-Identifier: Apache-2.0
// CRC32 (Castagnoli), MD5 and SHA256 of texts.
//
// OpenSSL's one-call forms allocate a context each time; the older ones, kept for compatibility, work on one
// that we own, and that is what an evaluation without allocation needs.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/md5.h>
#include <openssl/sha.h>

#include <array>

#include "core/expr/function_bodies.h"

namespace pinnace::expr::bodies {
namespace {

constexpr std::array<std::uint32_t, 256> make_crc_table() {
    constexpr std::uint32_t kPolynomial = 0x82F63B78;  // Castagnoli's, bits reversed
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
        std::uint32_t crc = byte;
        for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
        table[byte] = crc;
    }
    return table;
}
constexpr std::array<std::uint32_t, 256> kCrcTable = make_crc_table();

template <std::size_t kSize>
Value hex_of(EvalContext& context, const std::array<unsigned char, kSize>& digest) {
    static constexpr std::string_view kHex = "0123456789abcdef";
    std::array<char, 2 * kSize> text;
    for (std::size_t i = 0; i < kSize; ++i) {
        text[2 * i] = kHex[digest[i] >> 4];
        text[2 * i + 1] = kHex[digest[i] & 15];
    }
    return context.copy_text({text.data(), text.size()});
}

}  // namespace

Value crc32(EvalContext& context, Arguments arguments) {
    std::uint32_t crc = UINT32_MAX;
    for (const char byte : context.text_of(arguments[0])) {
        crc = kCrcTable[(crc ^ static_cast<unsigned char>(byte)) & 0xFF] ^ (crc >> 8);
    }
    return Value::integer(~crc);
}

Value md5(EvalContext& context, Arguments arguments) {
    const std::string_view text = context.text_of(arguments[0]);
    std::array<unsigned char, MD5_DIGEST_LENGTH> digest;
    MD5_CTX state;
    MD5_Init(&state);
    MD5_Update(&state, text.data(), text.size());
    MD5_Final(digest.data(), &state);
    return hex_of(context, digest);
}

Value sha256(EvalContext& context, Arguments arguments) {
    const std::string_view text = context.text_of(arguments[0]);
    std::array<unsigned char, SHA256_DIGEST_LENGTH> digest;
    SHA256_CTX state;
    SHA256_Init(&state);
    SHA256_Update(&state, text.data(), text.size());
    SHA256_Final(digest.data(), &state);
    return hex_of(context, digest);
}

}  // namespace pinnace::expr::bodies
