// SPDX-License-Identifier: Apache-2.0
// Publish options as they travel in a submit frame: a list of {u8 tag, u8 size, bytes}, in any order, each
// at most once. Written by clients, so decoding checks everything; the decoder works on a private copy.
#pragma once

#include <cstring>
#include <span>
#include <string_view>

#include "core/core.h"

namespace pinnace {

enum class OptionTag : std::uint8_t {
    expiration = 1,
    delay = 2,
    group = 3,
    dedup = 4,
    to_queue = 5,
    answer = 6
};

// Space that encoded options can take at most; a frame with more is a violation.
inline constexpr std::uint32_t kOptionBytesMax = 6 * 2 + 8 + 8 + 255 + 255 + 4;

struct PublishOptions {
    Duration expiration = -1;
    Duration delay = -1;
    std::string_view group;
    std::string_view dedup;
    QueueId to_queue = kNone;
    bool answer = false;  // wants an answer even if it is `stored`
};

// Appends to `out`, which must have room for kOptionBytesMax; returns the size. Strings above 255 bytes are
// cut to 255, which is malformed as any group or dedup id above 128 is, and is so answered.
inline std::uint32_t encode_options(const PublishOptions& options, std::byte* out) {
    std::byte* at = out;
    const auto put = [&](OptionTag tag, const void* data, std::size_t size) {
        if (size > 255) size = 255;
        *at++ = static_cast<std::byte>(tag);
        *at++ = static_cast<std::byte>(size);
        if (size != 0) std::memcpy(at, data, size);
        at += size;
    };
    if (options.expiration >= 0) put(OptionTag::expiration, &options.expiration, 8);
    if (options.delay >= 0) put(OptionTag::delay, &options.delay, 8);
    if (options.group.data() != nullptr) put(OptionTag::group, options.group.data(), options.group.size());
    if (options.dedup.data() != nullptr) put(OptionTag::dedup, options.dedup.data(), options.dedup.size());
    if (options.to_queue != kNone) put(OptionTag::to_queue, &options.to_queue, 4);
    if (options.answer) put(OptionTag::answer, nullptr, 0);
    return static_cast<std::uint32_t>(at - out);
}

// False: malformed. The views point into `bytes`.
inline bool decode_options(std::span<const std::byte> bytes, PublishOptions& options) {
    unsigned seen = 0;
    while (!bytes.empty()) {
        if (bytes.size() < 2) return false;
        const auto tag = std::to_integer<unsigned>(bytes[0]);
        const auto size = std::to_integer<std::size_t>(bytes[1]);
        if (bytes.size() - 2 < size || tag < 1 || tag > 6 || (seen & (1u << tag)) != 0) return false;
        seen |= 1u << tag;
        const std::byte* data = bytes.data() + 2;
        const std::string_view text(reinterpret_cast<const char*>(data), size);
        const auto number = [&](void* to, std::size_t wanted) {
            if (size == wanted) std::memcpy(to, data, wanted);
            return size == wanted;
        };
        bool good = true;
        switch (static_cast<OptionTag>(tag)) {
            case OptionTag::expiration:
                good = number(&options.expiration, 8) && options.expiration >= 0;
                break;
            case OptionTag::delay:
                good = number(&options.delay, 8) && options.delay >= 0;
                break;
            case OptionTag::group:
                options.group = text;
                break;
            case OptionTag::dedup:
                options.dedup = text;
                break;
            case OptionTag::to_queue:
                good = number(&options.to_queue, 4);
                break;
            case OptionTag::answer:
                good = options.answer = size == 0;
                break;
        }
        if (!good) return false;
        bytes = bytes.subspan(2 + size);
    }
    return true;
}

}  // namespace pinnace
