// SPDX-License-Identifier: Apache-2.0
#include "core/expr/struct_layout.h"

#include <charconv>
#include <string_view>

namespace pinnace::expr {
namespace {

constexpr std::size_t kLayoutSizeMax = std::size_t{1} << 20;

// What a letter means: sizes with native and with standard layout; 0: not to be had.
struct Code {
    char letter;
    std::uint8_t native_size;
    std::uint8_t standard_size;
};
constexpr Code kCodes[] = {
    {'x', 1, 1}, {'c', 1, 1}, {'b', 1, 1}, {'B', 1, 1}, {'?', 1, 1}, {'h', 2, 2}, {'H', 2, 2},
    {'i', 4, 4}, {'I', 4, 4}, {'l', 8, 4}, {'L', 8, 4}, {'q', 8, 8}, {'Q', 8, 8}, {'n', 8, 0},
    {'N', 8, 0}, {'P', 8, 0}, {'e', 2, 2}, {'f', 4, 4}, {'d', 8, 8}, {'s', 1, 1}, {'p', 1, 1},
};

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view kBlanks = " \t\r\n";
    const std::size_t begin = text.find_first_not_of(kBlanks);
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

// Reads fields one after the other, since the order of bytes and the offset go on from one to the next.
class LayoutParser {
 public:
    std::expected<StructLayout, std::string> run(const std::vector<std::string>& fields) {
        for (const std::string& field : fields) {
            if (!add(field)) return std::unexpected("Field `" + field + "`: " + error_);
        }
        if (layout_.size == 0) return std::unexpected("A struct needs at least one field.");
        return std::move(layout_);
    }

 private:
    bool fail(std::string error) {
        error_ = std::move(error);
        return false;
    }

    bool add(std::string_view text) {
        StructField field;
        std::string_view code = trimmed(text);
        const std::size_t equals = code.find_last_of('=');
        // `=` in front of a code is an order as well: "/px = =d".
        if (equals != std::string_view::npos) {
            const std::string_view name_part = code.substr(0, equals);
            const std::size_t first = name_part.find_last_of('=');
            const bool is_order =
                first != std::string_view::npos && trimmed(name_part.substr(first + 1)).empty();
            const std::size_t end = is_order ? first : equals;
            if (!parse_name(trimmed(code.substr(0, end)), &field.path)) return false;
            code = trimmed(code.substr(end + 1));
        }
        return parse_code(code, &field) && place(field);
    }

    bool parse_name(std::string_view name, Path* path) {
        if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
        std::size_t offset = 0;
        const char* expected = nullptr;
        if (parse_path(name, path, &offset, &expected)) return true;
        return fail("the name must be a path such as /px; expected " + std::string(expected) + ".");
    }

    bool parse_code(std::string_view code, StructField* field) {
        if (!code.empty() && std::string_view("@=<>!").find(code[0]) != std::string_view::npos) {
            is_native_ = code[0] == '@';
            is_big_endian_ = code[0] == '>' || code[0] == '!';
            code.remove_prefix(1);
        }
        field->is_big_endian = is_big_endian_;
        field->count = 1;
        if (!code.empty() && code[0] >= '0' && code[0] <= '9') {
            const auto [end, error] = std::from_chars(code.data(), code.data() + code.size(), field->count);
            if (error != std::errc{} || field->count > kLayoutSizeMax) return fail("the count is too large.");
            code.remove_prefix(static_cast<std::size_t>(end - code.data()));
        }
        if (code.size() != 1) return fail("expected one letter of Python's struct module, such as d or 8s.");
        field->code = code[0];
        for (const Code& known : kCodes) {
            if (known.letter == field->code)
                field->size = is_native_ ? known.native_size : known.standard_size;
        }
        if (field->size > 0) return true;
        return fail("there is no code `" + std::string(1, field->code) + "`" +
                    (is_native_ ? "." : " with that order; n, N and P are native only."));
    }

    bool place(StructField& field) {
        if (field.path.steps.empty() && field.code != 'x') return fail("a name is missing: /name = CODE.");
        if (is_native_) layout_.size = (layout_.size + field.size - 1) / field.size * field.size;
        field.offset = static_cast<std::uint32_t>(layout_.size);
        layout_.size += std::size_t{field.size} * field.count;
        if (layout_.size > kLayoutSizeMax) return fail("the struct is larger than a mebibyte.");
        for (const StructField& other : layout_.fields) {
            if (!field.path.steps.empty() && other.path == field.path) return fail("the name comes twice.");
        }
        layout_.fields.push_back(field);
        return true;
    }

    StructLayout layout_;
    bool is_native_ = true;
    bool is_big_endian_ = false;
    std::string error_;
};

}  // namespace

std::expected<StructLayout, std::string> parse_struct_layout(const std::vector<std::string>& fields) {
    return LayoutParser().run(fields);
}

}  // namespace pinnace::expr
