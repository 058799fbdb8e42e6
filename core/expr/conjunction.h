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

    // False if the program is no conjunction of such comparisons. The program must outlive it.
    bool make(const Program& program, const FieldSlot* slots);
    bool is_made() const { return !terms_.empty(); }
    const std::vector<Term>& terms() const { return terms_; }

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
