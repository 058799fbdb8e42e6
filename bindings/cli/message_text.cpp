// SPDX-License-Identifier: Apache-2.0
#include "bindings/cli/message_text.h"

#include <fmt/format.h>

#include <ctime>
#include <iterator>

namespace pinnace::cli {

namespace {

// Length of the UTF-8 sequence that begins at `at`; 0: there is none.
std::size_t sequence_length(std::string_view bytes, std::size_t at) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[at + i]); };
    const unsigned char first = byte(0);
    if (first == 0) return 0;
    if (first < 0x80) return 1;
    const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || bytes.size() - at < length) return 0;
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xc0) != 0x80) return 0;
    }
    // Too long for its value, half of a surrogate pair, or beyond the last character.
    const unsigned char second = byte(1);
    if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second >= 0xa0)) return 0;
    if ((first == 0xf0 && second < 0x90) || (first == 0xf4 && second >= 0x90)) return 0;
    return length;
}

std::string body_member(std::string_view body) {
    if (is_text(body)) return "\"body\":" + json_string(body);
    return "\"body_base64\":\"" + base64(body) + "\"";
}

}  // namespace

bool is_text(std::string_view bytes) {
    for (std::size_t at = 0; at < bytes.size();) {
        const std::size_t length = sequence_length(bytes, at);
        if (length == 0) return false;
        at += length;
    }
    return true;
}

std::string json_string(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        switch (c) {
            case '"':
            case '\\':
                out += '\\';
                out += c;
                break;
            case '\n':
                out += "\\n";
                break;
            case '\r':
                out += "\\r";
                break;
            case '\t':
                out += "\\t";
                break;
            default:
                if (static_cast<unsigned char>(c) < 0x20) {
                    fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c));
                } else {
                    out += c;
                }
        }
    }
    return out + "\"";
}

std::string base64(std::string_view bytes) {
    static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    out.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t at = 0; at < bytes.size(); at += 3) {
        const std::size_t count = bytes.size() - at < 3 ? bytes.size() - at : 3;
        unsigned bits = 0;
        for (std::size_t i = 0; i < 3; ++i) {
            bits = bits << 8 | (i < count ? static_cast<unsigned char>(bytes[at + i]) : 0u);
        }
        for (std::size_t i = 0; i < 4; ++i) out += i <= count ? kDigits[bits >> (18 - 6 * i) & 63] : '=';
    }
    return out;
}

std::string time_text(std::int64_t ns) {
    std::int64_t seconds = ns / 1'000'000'000;
    std::int64_t rest = ns % 1'000'000'000;
    if (rest < 0) {
        rest += 1'000'000'000;
        --seconds;
    }
    const std::time_t time = seconds;
    std::tm parts{};
    gmtime_r(&time, &parts);
    return fmt::format("{:04}{:02}{:02}T{:02}{:02}{:02}.{:06}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                       parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, rest / 1000);
}

std::string json_line(const Message& message) {
    const auto end = message.lease_end_ns();
    std::string out = fmt::format(
        R"({{"topic":{},"queue":{},"bookmark":"{}","count":{},"published":"{}","lease_end":{},)",
        json_string(message.topic()), json_string(message.queue()), message.bookmark().text(),
        message.count(), time_text(message.published_ns()), end ? '"' + time_text(*end) + '"' : "null");
    return out + body_member(message.text()) + "}";
}

std::string json_line(const FoundMessage& message, std::string_view queue) {
    const std::string out = fmt::format(R"({{"topic":{},"queue":{},"bookmark":"{}","published":"{}",)",
                                        json_string(message.topic), json_string(queue),
                                        message.bookmark.text(), time_text(message.published_ns));
    return out + (message.readable ? body_member(message.body) : "\"body\":null") + "}";
}

}  // namespace pinnace::cli
