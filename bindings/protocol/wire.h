// SPDX-License-Identifier: Apache-2.0
// Wire: numbers and strings in a row of bytes, as requests and answers carry them over the session's
// socket. Fixed width, little-endian (both sides are one machine and the hello has checked it). Reading
// checks everything: the other side is a peer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace pinnace::protocol {

class WireWriter {
 public:
    template <class T>
        requires std::is_integral_v<T>
    WireWriter& put(T value) {
        return append(&value, sizeof value);
    }
    WireWriter& put(std::string_view text) {
        put(static_cast<std::uint32_t>(text.size()));
        return append(text.data(), text.size());
    }
    std::span<const std::byte> bytes() const { return bytes_; }
    std::vector<std::byte> take() { return std::move(bytes_); }

 private:
    WireWriter& append(const void* data, std::size_t size) {
        const std::size_t at = bytes_.size();
        bytes_.resize(at + size);
        if (size != 0) std::memcpy(bytes_.data() + at, data, size);
        return *this;
    }

    std::vector<std::byte> bytes_;
};

// After the first read beyond the end, or of a string longer than what is left, good() is false and values
// are zero.
class WireReader {
 public:
    explicit WireReader(std::span<const std::byte> bytes) : left_(bytes) {}

    template <class T>
        requires std::is_integral_v<T>
    T get() {
        T value{};
        if (left_.size() < sizeof value) return fail(), value;
        std::memcpy(&value, left_.data(), sizeof value);
        left_ = left_.subspan(sizeof value);
        return value;
    }
    std::string_view get_text() {
        const auto size = get<std::uint32_t>();
        if (!good_ || left_.size() < size) return fail(), std::string_view{};
        const std::string_view text(reinterpret_cast<const char*>(left_.data()), size);
        left_ = left_.subspan(size);
        return text;
    }
    bool good() const { return good_; }
    // All was read, and nothing was missing.
    bool done() const { return good_ && left_.empty(); }

 private:
    void fail() {
        good_ = false;
        left_ = {};
    }
    std::span<const std::byte> left_;
    bool good_ = true;
};

}  // namespace pinnace::protocol
