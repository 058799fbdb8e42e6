// SPDX-License-Identifier: Apache-2.0
// Reads MessagePack: one value that fills the body, checked whole before any of it is taken.
//
// bin is text like str; ext and timestamps are NULL; a map's key that is an integer is known by its decimal
// text, and other keys that are no text by none.
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <memory>

#include "core/expr/readers.h"
#include "core/expr/walk.h"

namespace pinnace::expr {
namespace {

enum class Type : std::uint8_t { nil, boolean, integer, unsigned_integer, real, text, array, map, extension };

// A value's first bytes, taken apart.
struct Head {
    Type type = Type::nil;
    std::uint64_t number = 0;       // bits of a number; size of a text; count of elements or pairs
    const char* content = nullptr;  // behind the head: the text, the elements
};

// Big-endian number of `size` bytes at `at`.
std::uint64_t number_at(const char* at, std::size_t size) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < size; ++i) value = value << 8 | static_cast<unsigned char>(at[i]);
    return value;
}

// A head whose number of `size` bytes stands behind the first byte. False: the body ends before.
bool sized(const char* at, const char* end, std::size_t size, Type type, Head* head) {
    if (static_cast<std::size_t>(end - at) < 1 + size) return false;
    *head = {type, number_at(at + 1, size), at + 1 + size};
    return true;
}

Head integer(const Head& raw, std::size_t size) {
    const auto bits = static_cast<int>(64 - 8 * size);
    const auto value = static_cast<std::int64_t>(raw.number << bits) >> bits;
    return {Type::integer, static_cast<std::uint64_t>(value), raw.content};
}

bool read_extension(const char* at, const char* end, std::size_t length_size, std::uint64_t fixed,
                    Head* head) {
    if (!sized(at, end, length_size, Type::extension, head)) return false;
    if (length_size == 0) head->number = fixed;
    if (head->content == end) return false;
    ++head->content;  // the extension's type
    return true;
}

// Codes from 0xC0 to 0xDF.
bool read_coded(unsigned code, const char* at, const char* end, Head* head) {
    const std::size_t power = std::size_t{1} << (code & 3);  // of the codes in groups of four
    switch (code) {
        case 0xC0:
            return sized(at, end, 0, Type::nil, head);
        case 0xC2:
        case 0xC3:
            *head = {Type::boolean, code & 1, at + 1};
            return true;
        case 0xC4:
        case 0xC5:
        case 0xC6:
            return sized(at, end, power, Type::text, head);  // bin
        case 0xC7:
            return read_extension(at, end, 1, 0, head);
        case 0xC8:
            return read_extension(at, end, 2, 0, head);
        case 0xC9:
            return read_extension(at, end, 4, 0, head);
        case 0xCA: {
            if (!sized(at, end, 4, Type::real, head)) return false;
            const auto single = std::bit_cast<float>(static_cast<std::uint32_t>(head->number));
            head->number = std::bit_cast<std::uint64_t>(static_cast<double>(single));
            return true;
        }
        case 0xCB:
            return sized(at, end, 8, Type::real, head);
        case 0xCC:
        case 0xCD:
        case 0xCE:
        case 0xCF:
            return sized(at, end, power, Type::unsigned_integer, head);
        case 0xD0:
        case 0xD1:
        case 0xD2:
        case 0xD3: {
            if (!sized(at, end, power, Type::integer, head)) return false;
            *head = integer(*head, power);
            return true;
        }
        case 0xD4:
        case 0xD5:
        case 0xD6:
        case 0xD7:
            return read_extension(at, end, 0, power, head);
        case 0xD8:
            return read_extension(at, end, 0, 16, head);
        case 0xD9:
            return sized(at, end, 1, Type::text, head);
        case 0xDA:
            return sized(at, end, 2, Type::text, head);
        case 0xDB:
            return sized(at, end, 4, Type::text, head);
        case 0xDC:
            return sized(at, end, 2, Type::array, head);
        case 0xDD:
            return sized(at, end, 4, Type::array, head);
        case 0xDE:
            return sized(at, end, 2, Type::map, head);
        case 0xDF:
            return sized(at, end, 4, Type::map, head);
        default:
            return false;  // 0xC1 is never used
    }
}

bool read_head(const char* at, const char* end, Head* head) {
    if (at == end) return false;
    const auto code = static_cast<unsigned char>(*at);
    if (code < 0x80)
        *head = {Type::integer, code, at + 1};
    else if (code < 0x90)
        *head = {Type::map, code & 15u, at + 1};
    else if (code < 0xA0)
        *head = {Type::array, code & 15u, at + 1};
    else if (code < 0xC0)
        *head = {Type::text, code & 31u, at + 1};
    else if (code >= 0xE0)
        *head = {Type::integer, static_cast<std::uint64_t>(static_cast<signed char>(code)), at + 1};
    else
        return read_coded(code, at, end, head);
    return true;
}

// Where the value at `at` ends, null if the body ends before or it is nested too deep. Elements are as many
// as bytes at most, so a count that lies is found out soon.
const char* end_of(const char* at, const char* end, std::size_t depth) {
    Head head;
    if (!read_head(at, end, &head)) return nullptr;
    switch (head.type) {
        case Type::text:
        case Type::extension: {
            const bool is_whole = head.number <= static_cast<std::uint64_t>(end - head.content);
            return is_whole ? head.content + head.number : nullptr;
        }
        case Type::array:
        case Type::map: {
            if (depth == kMessageDepthMax) return nullptr;
            const std::uint64_t count = head.type == Type::map ? 2 * head.number : head.number;
            const char* next = head.content;
            for (std::uint64_t i = 0; i < count && next != nullptr; ++i) next = end_of(next, end, depth + 1);
            return next;
        }
        default:
            return head.content;
    }
}

// A value of a body that has been checked.
class MsgpackView {
 public:
    MsgpackView(const char* at, const char* end) : end_(end) { read_head(at, end, &head_); }

    Shape look(Value* value) const {
        if (head_.type == Type::map) return Shape::object;
        if (head_.type == Type::array) return Shape::array;
        *value = scalar();
        return Shape::scalar;
    }

    template <class Visit>
    void for_each_member(Visit visit) const {
        const char* next = head_.content;
        for (std::uint64_t i = 0; i < head_.number; ++i) {
            std::array<char, 24> digits;
            const MsgpackView key(next, end_);
            const char* const value = end_of(next, end_, 0);
            if (!visit(key.name(digits), MsgpackView(value, end_))) return;
            next = end_of(value, end_, 0);
        }
    }

    template <class Visit>
    void for_each_element(Visit visit) const {
        const char* next = head_.content;
        for (std::uint64_t i = 0; i < head_.number; ++i) {
            if (!visit(MsgpackView(next, end_))) return;
            next = end_of(next, end_, 0);
        }
    }

 private:
    Value scalar() const {
        switch (head_.type) {
            case Type::boolean:
                return Value::boolean(head_.number != 0);
            case Type::integer:
                return Value::integer(static_cast<std::int64_t>(head_.number));
            case Type::unsigned_integer:
                return Value::unsigned_integer(head_.number);
            case Type::real:
                return Value::real(std::bit_cast<double>(head_.number));
            case Type::text:
                return Value::text({head_.content, static_cast<std::size_t>(head_.number)});
            default:
                return {};
        }
    }

    // As the key of a map; empty, which is no field's name, if it can be none.
    std::string_view name(std::array<char, 24>& digits) const {
        if (head_.type == Type::text) return {head_.content, static_cast<std::size_t>(head_.number)};
        char* const end = digits.data() + digits.size();
        if (head_.type == Type::integer) {
            const auto value = static_cast<std::int64_t>(head_.number);
            return {digits.data(), std::to_chars(digits.data(), end, value).ptr};
        }
        if (head_.type != Type::unsigned_integer) return {};
        return {digits.data(), std::to_chars(digits.data(), end, head_.number).ptr};
    }

    const char* end_;
    Head head_;
};

class MsgpackReader final : public MessageReader {
 public:
    bool read_fields(std::span<const std::byte> body, const FieldSet& set, FieldValues& values) override {
        values.reset(set);
        const char* const begin = reinterpret_cast<const char*>(body.data());
        const char* const end = begin + body.size();
        if (body.empty() || end_of(begin, end, 0) != end) return false;
        Walk<MsgpackView>(set, values).visit(MsgpackView(begin, end), set.root());
        values.finish();
        return true;
    }
};

}  // namespace

std::unique_ptr<MessageReader> make_msgpack_reader() { return std::make_unique<MsgpackReader>(); }

}  // namespace pinnace::expr
