// SPDX-License-Identifier: Apache-2.0
// Value: what an expression works on and gives: NULL, boolean, integer, double, text or array, in 16 bytes.
//
// Invariants
// 1. A value owns nothing: texts and arrays point into the message, the
// program's literals or a scratch, and
//    live no longer than these.
// 2. A text is never empty and an array never has fewer than two elements: the
// empty ones are NULL, and one
//    element alone is that element (decisions.md).
// 3. `unsigned_integer` holds only what `integer` cannot: values of 2^63 and
// above.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace pinnace::expr {

enum class Kind : std::uint8_t { null = 0, boolean, integer, unsigned_integer, real, text, array };

class Value {
 public:
    constexpr Value() = default;

    static constexpr Value boolean(bool value) {
        Value made(Kind::boolean);
        made.integer_ = value ? 1 : 0;
        return made;
    }
    static constexpr Value integer(std::int64_t value) {
        Value made(Kind::integer);
        made.integer_ = value;
        return made;
    }
    static constexpr Value unsigned_integer(std::uint64_t value) {
        Value made(value > INT64_MAX ? Kind::unsigned_integer : Kind::integer);
        made.unsigned_ = value;
        return made;
    }
    static constexpr Value real(double value) {
        Value made(Kind::real);
        made.real_ = value;
        return made;
    }
    // An integer or a double by its bits.
    static constexpr Value of_bits(Kind kind, std::uint64_t bits) {
        Value made(kind);
        made.unsigned_ = bits;
        return made;
    }
    // NULL if empty (invariant 2).
    static constexpr Value text(std::string_view value) {
        if (value.empty()) return {};
        Value made(Kind::text);
        made.size_ = static_cast<std::uint32_t>(value.size());
        made.text_ = value.data();
        return made;
    }
    // NULL if empty, the element itself if there is one (invariant 2).
    static constexpr Value array(std::span<const Value> elements) {
        if (elements.empty()) return {};
        if (elements.size() == 1) return elements[0];
        Value made(Kind::array);
        made.size_ = static_cast<std::uint32_t>(elements.size());
        made.elements_ = elements.data();
        return made;
    }

    // The states of a slot that a reader is filling (FieldValues): a NULL that stands for nothing yet, and an
    // array whose elements are gathered elsewhere.
    static constexpr Value absent() {
        Value made;
        made.size_ = 1;
        return made;
    }
    static constexpr Value gathering() { return Value(Kind::array); }
    constexpr bool is_absent() const { return kind_ == Kind::null && size_ == 1; }
    constexpr bool is_gathering() const { return kind_ == Kind::array && size_ == 0; }

    constexpr Kind kind() const { return kind_; }
    constexpr bool is_null() const { return kind_ == Kind::null; }
    constexpr bool is_array() const { return kind_ == Kind::array; }
    constexpr bool is_text() const { return kind_ == Kind::text; }
    constexpr bool is_number() const {
        return kind_ == Kind::integer || kind_ == Kind::unsigned_integer || kind_ == Kind::real;
    }
    constexpr bool is_true() const { return kind_ == Kind::boolean && integer_ != 0; }
    constexpr bool is_false() const { return kind_ == Kind::boolean && integer_ == 0; }

    // Each only for its kind; as_integer also for boolean (1 and 0).
    constexpr std::int64_t as_integer() const { return integer_; }
    constexpr std::uint64_t as_unsigned() const { return unsigned_; }
    constexpr double as_real() const { return real_; }
    constexpr std::string_view as_text() const { return {text_, size_}; }
    constexpr std::span<const Value> as_array() const { return {elements_, size_}; }

 private:
    constexpr explicit Value(Kind kind) : kind_(kind) {}

    Kind kind_ = Kind::null;
    std::uint32_t size_ = 0;  // bytes of a text, elements of an array
    union {
        std::int64_t integer_ = 0;
        std::uint64_t unsigned_;
        double real_;
        const char* text_;
        const Value* elements_;
    };
};
static_assert(sizeof(Value) == 16);

// Element 0 of an array, anything else itself: what functions and arithmetic take.
inline const Value& first_of(const Value& value) { return value.is_array() ? value.as_array()[0] : value; }

// TRUE, FALSE or NULL, as AND, OR, NOT, IF and a filter see a value: a number is true if it is not zero, a
// text by the number that it is, otherwise FALSE.
Value truth_of(const Value& value);

// The number that a value is in arithmetic: a boolean is 1 or 0, a text the number that all of it is, NaN if
// it is none. NULL stays NULL; of an array it is that of element 0.
Value number_of(const Value& value);

}  // namespace pinnace::expr
