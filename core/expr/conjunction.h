// SPDX-License-Identifier: Apache-2.0
// Conjunction: the commonest filter, comparisons of fields with literals joined by AND, in a form that is
// tested without the stack machine. What it cannot say, such as a number beside a text, it leaves to the
// machine.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/expr/bytes.h"
#include "core/expr/field_set.h"
#include "core/expr/number.h"
#include "core/expr/program.h"

namespace pinnace::expr {

class Conjunction {
 public:
    enum class Answer : std::uint8_t { no, yes, unknown };

    // False if the program is no conjunction of such comparisons. The program must outlive it.
    bool make(const Program& program, const FieldSlot* slots);
    bool is_made() const { return !terms_.empty(); }

    // The same on a message of fixed layout, each field one load from its place.
    [[gnu::always_inline]] inline Answer test_fixed(const char* body, const FixedLoad* loads) const {
        using Fast = FixedLoad::Fast;
        for (const Term& term : terms_) {
            const FixedLoad& load = loads[term.slot];
            const char* const at = body + load.offset;
            bool holds_here = false;
            if (term.kind == Kind::integer) {
                std::int64_t value = 0;
                if (load.fast == Fast::integer_64)
                    value = load_word<std::int64_t>(at);
                else if (load.fast == Fast::integer_32)
                    value = load_word<std::int32_t>(at);
                else if (load.fast == Fast::unsigned_32)
                    value = load_word<std::uint32_t>(at);
                else
                    return Answer::unknown;
                holds_here = value >= term.low.integer && value <= term.high.integer;
            } else if (term.kind == Kind::real) {
                if (load.fast != Fast::real_64) return Answer::unknown;
                const auto value = load_word<double>(at);
                holds_here = value >= term.low.real && value <= term.high.real;
            } else {
                if (load.fast != Fast::text_8 || !term.has_word) return Answer::unknown;
                const auto word = load_word<std::uint64_t>(at);
                if (word == 0) return Answer::no;  // an empty text is NULL
                holds_here = test_word(word, term);
            }
            if (holds_here == term.is_negated) return Answer::no;
        }
        return Answer::yes;
    }

    // Free of calls, so that it can be inlined without a register saved.
    [[gnu::always_inline]] inline Answer test(const Value* fields) const {
        for (const Term& term : terms_) {
            const Value& field = fields[term.slot];
            if (field.kind() != term.kind) {
                // NULL fails every comparison; the rest is for the machine.
                return field.is_null() ? Answer::no : Answer::unknown;
            }
            bool holds_here = false;
            if (term.kind == Kind::integer) {
                holds_here =
                    field.as_integer() >= term.low.integer && field.as_integer() <= term.high.integer;
            } else if (term.kind == Kind::real) {
                holds_here = field.as_real() >= term.low.real && field.as_real() <= term.high.real;
            } else {
                holds_here = test_text(field.as_text(), term);
            }
            if (holds_here == term.is_negated) return Answer::no;
        }
        return Answer::yes;
    }

 private:
    union Bound {
        std::int64_t integer;
        double real;
        const char* text;
        std::uint64_t size;
    };
    // A field of that kind holds if it is in the closed range; a text if it stands to the literal as wanted.
    struct Term {
        FieldSlot slot = 0;
        Kind kind = Kind::null;
        bool is_negated = false;
        Comparison comparison = Comparison::equal;  // of texts
        bool has_word = false;                      // `word` is all of the text, and zeros
        std::uint64_t word = 0;
        Bound low{};
        Bound high{};
    };

    // Texts of eight bytes, zeros behind their ends: as words they stand to each other as they do as texts,
    // once the first byte is the highest.
    static bool test_word(std::uint64_t word, const Term& term) {
        if (term.comparison == Comparison::equal) return word == term.word;
        const std::uint64_t left = std::byteswap(word);
        const std::uint64_t right = std::byteswap(term.word);
        return holds(term.comparison, static_cast<Order>(1 + (left > right) - (left < right)));
    }
    static bool test_text(std::string_view text, const Term& term) {
        const std::string_view literal(term.low.text, term.high.size);
        if (term.comparison == Comparison::equal) return equal_bytes(text, literal);
        const int order = compare_bytes(text, literal);
        return holds(term.comparison, static_cast<Order>(1 + (order > 0) - (order < 0)));
    }
    static bool make_term(Comparison comparison, const Value& literal, Term* term);

    std::vector<Term> terms_;
};

}  // namespace pinnace::expr
