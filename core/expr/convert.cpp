// SPDX-License-Identifier: Apache-2.0
#include "core/expr/convert.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

#include "core/expr/number.h"

namespace pinnace::expr {
namespace {

std::string_view copied(std::string_view text, std::span<char> buffer) {
    std::memcpy(buffer.data(), text.data(), text.size());
    return {buffer.data(), text.size()};
}

std::string_view text_of_double(double value, std::span<char> buffer) {
    if (std::isnan(value)) return copied("nan", buffer);
    if (std::isinf(value)) return copied(value > 0 ? "inf" : "-inf", buffer);
    if (value == 0) return copied("0", buffer);
    char* const end = buffer.data() + buffer.size();
    const bool is_whole = std::trunc(value) == value;
    const auto [stop, error] = is_whole ? std::to_chars(buffer.data(), end, value, std::chars_format::fixed)
                                        : std::to_chars(buffer.data(), end, value);
    return {buffer.data(), static_cast<std::size_t>(stop - buffer.data())};
}

template <class Integer>
std::string_view text_of_integer(Integer value, std::span<char> buffer) {
    const auto [stop, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
    return {buffer.data(), static_cast<std::size_t>(stop - buffer.data())};
}

// Length of the UTF-8 character at the text's begin, 0 if there is none.
std::size_t character_size(std::string_view text) {
    const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char first = byte(0);
    if (first < 0x80) return 1;
    const std::size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (first < 0xC2 || first > 0xF4 || text.size() < size) return 0;
    for (std::size_t i = 1; i < size; ++i) {
        if ((byte(i) & 0xC0) != 0x80) return 0;
    }
    // Longer than needed, a surrogate, or beyond the last character.
    if (first == 0xE0 && byte(1) < 0xA0) return 0;
    if (first == 0xED && byte(1) > 0x9F) return 0;
    if (first == 0xF0 && byte(1) < 0x90) return 0;
    if (first == 0xF4 && byte(1) > 0x8F) return 0;
    return size;
}

void append_escaped(char character, std::string* out) {
    static constexpr std::string_view kHex = "0123456789abcdef";
    switch (character) {
        case '"':
            *out += "\\\"";
            return;
        case '\\':
            *out += "\\\\";
            return;
        case '\n':
            *out += "\\n";
            return;
        case '\r':
            *out += "\\r";
            return;
        case '\t':
            *out += "\\t";
            return;
        default:
            break;
    }
    *out += "\\u00";
    out->push_back(kHex[static_cast<unsigned char>(character) >> 4]);
    out->push_back(kHex[static_cast<unsigned char>(character) & 15]);
}

void append_json_text(std::string_view text, std::string* out) {
    out->push_back('"');
    while (!text.empty()) {
        const char first = text[0];
        const std::size_t size = character_size(text);
        if (size == 0) {
            *out += "\\ufffd";
        } else if (size == 1 && (first == '"' || first == '\\' || (first >= 0 && first < ' '))) {
            append_escaped(first, out);
        } else {
            *out += text.substr(0, size);
        }
        text.remove_prefix(size == 0 ? 1 : size);
    }
    out->push_back('"');
}

void append_json(const Value& value, std::string* out) {
    std::array<char, kNumberTextSizeMax> buffer;
    switch (value.kind()) {
        case Kind::null:
            *out += "null";
            return;
        case Kind::text:
            append_json_text(value.as_text(), out);
            return;
        case Kind::array: {
            char separator = '[';
            for (const Value& element : value.as_array()) {
                out->push_back(separator);
                append_json(element, out);
                separator = ',';
            }
            out->push_back(']');
            return;
        }
        case Kind::real: {
            const std::string_view text = text_of(value, buffer);
            if (std::isfinite(value.as_real()))
                *out += text;
            else
                append_json_text(text, out);
            return;
        }
        default:
            *out += text_of(value, buffer);
            return;
    }
}

}  // namespace

std::string_view text_of(const Value& value, std::span<char> buffer) {
    const Value& scalar = first_of(value);
    switch (scalar.kind()) {
        case Kind::boolean:
            return copied(scalar.is_true() ? "true" : "false", buffer);
        case Kind::integer:
            return text_of_integer(scalar.as_integer(), buffer);
        case Kind::unsigned_integer:
            return text_of_integer(scalar.as_unsigned(), buffer);
        case Kind::real:
            return text_of_double(scalar.as_real(), buffer);
        case Kind::text:
            return scalar.as_text();
        default:
            return {};
    }
}

std::optional<std::uint64_t> priority_of(const Value& value) {
    const Value number = number_of(value);
    switch (number.kind()) {
        case Kind::integer:
            if (number.as_integer() < 0) return std::nullopt;
            return static_cast<std::uint64_t>(number.as_integer());
        case Kind::unsigned_integer:
            return number.as_unsigned();
        case Kind::real:
            // Not `< 0`: NaN is below every number too.
            if (!(number.as_real() >= 0)) return std::nullopt;
            if (number.as_real() >= 0x1p64) return UINT64_MAX;
            return static_cast<std::uint64_t>(number.as_real());
        default:
            return std::nullopt;
    }
}

std::string json_of(const Value& value) {
    std::string out;
    append_json(value, &out);
    return out;
}

}  // namespace pinnace::expr
