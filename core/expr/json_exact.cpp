// SPDX-License-Identifier: Apache-2.0
#include "core/expr/json_exact.h"

#include <cstring>

#include "core/expr/number.h"

namespace pinnace::expr {
namespace {

bool is_digit(char character) { return character >= '0' && character <= '9'; }

// -1 if it is no hexadecimal digit.
int hex_digit(char character) {
    if (is_digit(character)) return character - '0';
    if (character >= 'a' && character <= 'f') return character - 'a' + 10;
    return character >= 'A' && character <= 'F' ? character - 'A' + 10 : -1;
}

// Checks a text by descending into it. Each function is given the place of its construct and moves behind it.
class Checker {
 public:
    explicit Checker(std::string_view text) : text_(text) {}

    bool whole() {
        skip_blanks();
        if (!value(0)) return false;
        skip_blanks();
        return at_ == text_.size();
    }

 private:
    char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
    bool take(char character) {
        if (at_ >= text_.size() || text_[at_] != character) return false;
        ++at_;
        return true;
    }
    bool take(std::string_view word) {
        if (!text_.substr(at_).starts_with(word)) return false;
        at_ += word.size();
        return true;
    }
    void skip_blanks() {
        while (peek() == ' ' || peek() == '\t' || peek() == '\n' || peek() == '\r') ++at_;
    }
    bool digits() {
        const std::size_t begin = at_;
        while (is_digit(peek())) ++at_;
        return at_ > begin;
    }

    bool value(std::size_t depth) {
        switch (peek()) {
            case '{':
                return container(depth, '}', true);
            case '[':
                return container(depth, ']', false);
            case '"':
                return string();
            case 't':
                return take("true");
            case 'f':
                return take("false");
            case 'n':
                return take("null");
            default:
                return number();
        }
    }

    bool container(std::size_t depth, char end, bool has_names) {
        if (depth == kMessageDepthMax) return false;
        ++at_;
        skip_blanks();
        if (take(end)) return true;
        while (true) {
            if (has_names) {
                if (peek() != '"' || !string()) return false;
                skip_blanks();
                if (!take(':')) return false;
                skip_blanks();
            }
            if (!value(depth + 1)) return false;
            skip_blanks();
            if (take(end)) return true;
            if (!take(',')) return false;
            skip_blanks();
        }
    }

    bool number() {
        take('-');
        if (!take('0') && !digits()) return false;
        if (is_digit(peek())) return false;  // a leading zero
        if (take('.') && !digits()) return false;
        if (take('e') || take('E')) {
            if (!take('+')) take('-');
            return digits();
        }
        return true;
    }

    bool string() {
        for (++at_; at_ < text_.size(); ++at_) {
            const char character = text_[at_];
            if (character == '"') {
                ++at_;
                return true;
            }
            if (static_cast<unsigned char>(character) < ' ') return false;
            if (character == '\\' && !escape()) return false;
        }
        return false;
    }
    // At the backslash; moves to the escape's last character. Surrogates come in pairs.
    bool escape() {
        ++at_;
        if (peek() != 'u') {
            return peek() != '\0' && std::string_view("\"\\/bfnrt").find(peek()) != std::string_view::npos;
        }
        const int first = unit();
        if (first < 0) return false;
        if (first < 0xD800 || first > 0xDFFF) return true;
        if (first > 0xDBFF || !text_.substr(at_ + 1).starts_with("\\u")) return false;
        at_ += 2;
        const int second = unit();
        return second >= 0xDC00 && second <= 0xDFFF;
    }
    // At the `u` of four hexadecimal digits; moves to the last of them. -1 if they are none.
    int unit() {
        int value = 0;
        for (int i = 0; i < 4; ++i) {
            ++at_;
            const int digit = hex_digit(peek());
            if (digit < 0) return -1;
            value = value * 16 + digit;
        }
        return value;
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

// What is read here has passed the Checker: nothing is checked again.
struct Source {
    const char* at = nullptr;
    char* unescaped = nullptr;  // where the next undone text goes

    void skip_blanks() {
        while (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r') ++at;
    }
    void skip_string() {
        for (++at; *at != '"'; ++at) {
            if (*at == '\\') ++at;
        }
        ++at;
    }
    void skip_value() {
        std::size_t depth = 0;
        do {
            skip_blanks();
            if (*at == '"') {
                skip_string();
            } else if (*at == '{' || *at == '[') {
                ++depth;
                ++at;
            } else if (*at == '}' || *at == ']') {
                --depth;
                ++at;
            } else if (*at == ',' || *at == ':') {
                ++at;
            } else {
                at = scalar_end();
            }
        } while (depth > 0);
    }
    // The text's end has no sign of its own; the caller's copy ends with a zero.
    const char* scalar_end() const {
        const char* end = at;
        while (*end != '\0' && std::strchr(" \t\n\r,:]}", *end) == nullptr) ++end;
        return end;
    }
};

char* append_utf8(char* out, unsigned character) {
    const auto tail = [&out](unsigned bits) { *out++ = static_cast<char>(0x80 | (bits & 0x3F)); };
    if (character < 0x80) {
        *out++ = static_cast<char>(character);
    } else if (character < 0x800) {
        *out++ = static_cast<char>(0xC0 | (character >> 6));
        tail(character);
    } else if (character < 0x10000) {
        *out++ = static_cast<char>(0xE0 | (character >> 12));
        tail(character >> 6);
        tail(character);
    } else {
        *out++ = static_cast<char>(0xF0 | (character >> 18));
        tail(character >> 12);
        tail(character >> 6);
        tail(character);
    }
    return out;
}

unsigned read_unit(const char* at) {
    unsigned value = 0;
    for (int i = 0; i < 4; ++i) value = value * 16 + static_cast<unsigned>(hex_digit(at[i]));
    return value;
}

char plain_escape(char letter) {
    switch (letter) {
        case 'b':
            return '\b';
        case 'f':
            return '\f';
        case 'n':
            return '\n';
        case 'r':
            return '\r';
        case 't':
            return '\t';
        default:
            return letter;
    }
}

// The string at `source`, which moves behind it; with escapes it is undone into the source's room.
std::string_view read_string(Source& source) {
    const char* const begin = source.at + 1;
    source.skip_string();
    const std::string_view raw(begin, static_cast<std::size_t>(source.at - 1 - begin));
    if (raw.find('\\') == std::string_view::npos) return raw;
    char* const undone = source.unescaped;
    char* out = undone;
    for (const char* at = raw.data(); at != raw.data() + raw.size(); ++at) {
        if (*at != '\\') {
            *out++ = *at;
        } else if (*++at != 'u') {
            *out++ = plain_escape(*at);
        } else {
            unsigned character = read_unit(at + 1);
            at += 4;
            if (character >= 0xD800 && character <= 0xDBFF) {
                character = 0x10000 + ((character - 0xD800) << 10) + (read_unit(at + 3) - 0xDC00);
                at += 6;
            }
            out = append_utf8(out, character);
        }
    }
    source.unescaped = out;
    return {undone, static_cast<std::size_t>(out - undone)};
}

class JsonView {
 public:
    JsonView(const char* at, char** unescaped) : at_(at), unescaped_(unescaped) {}

    Shape look(Value* value) const {
        if (*at_ == '{') return Shape::object;
        if (*at_ == '[') return Shape::array;
        *value = scalar();
        return Shape::scalar;
    }

    template <class Visit>
    void for_each_member(Visit visit) const {
        Source source{at_ + 1, *unescaped_};
        source.skip_blanks();
        while (*source.at != '}') {
            source.unescaped = *unescaped_;
            const std::string_view name = read_string(source);
            *unescaped_ = source.unescaped;
            source.skip_blanks();
            ++source.at;  // the colon
            source.skip_blanks();
            if (!visit(name, JsonView(source.at, unescaped_))) return;
            skip_to_next(source);
        }
    }

    template <class Visit>
    void for_each_element(Visit visit) const {
        Source source{at_ + 1, *unescaped_};
        source.skip_blanks();
        while (*source.at != ']') {
            if (!visit(JsonView(source.at, unescaped_))) return;
            skip_to_next(source);
        }
    }

 private:
    Value scalar() const {
        Source source{at_, *unescaped_};
        switch (*at_) {
            case 't':
            case 'f':
                return Value::boolean(*at_ == 't');
            case 'n':
                return {};
            case '"': {
                const Value text = Value::text(read_string(source));
                *unescaped_ = source.unescaped;
                return text;
            }
            default: {
                Value number;
                const auto size = static_cast<std::size_t>(source.scalar_end() - at_);
                parse_number({at_, size}, &number);
                return number;
            }
        }
    }

    static void skip_to_next(Source& source) {
        source.skip_value();
        source.skip_blanks();
        if (*source.at == ',') ++source.at;
        source.skip_blanks();
    }

    const char* at_;
    char** unescaped_;
};

}  // namespace

bool is_json(std::string_view text) { return Checker(text).whole(); }

void walk_json(std::string_view text, char* unescaped, const FieldSet& set, FieldValues& values) {
    Source source{text.data(), unescaped};
    source.skip_blanks();
    Walk<JsonView>(set, values).visit(JsonView(source.at, &unescaped), set.root());
}

}  // namespace pinnace::expr
