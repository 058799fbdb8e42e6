// SPDX-License-Identifier: Apache-2.0
#include "core/expr/conjunction.h"

#include <cmath>
#include <limits>

namespace pinnace::expr {
namespace {

// The closed range of numbers that stand to `value` in that way; `next` gives the neighbour below or above.
// False if there is none, as above the largest.
template <class Number, class Next>
bool range_of(Comparison comparison, Number value, Number least, Number most, Next next, Number* low,
              Number* high) {
    *low = least;
    *high = most;
    switch (comparison) {
        case Comparison::less:
            if (value == least) return false;
            *high = next(value, least);
            return true;
        case Comparison::less_equal:
            *high = value;
            return true;
        case Comparison::greater:
            if (value == most) return false;
            *low = next(value, most);
            return true;
        case Comparison::greater_equal:
            *low = value;
            return true;
        case Comparison::equal:
        case Comparison::not_equal:
            break;
    }
    *low = *high = value;
    return true;
}

}  // namespace

bool Conjunction::make_term(Comparison comparison, const Value& literal, Term* term) {
    term->kind = literal.kind();
    // Of NaN, too, it holds that it is not in the range.
    term->is_negated = comparison == Comparison::not_equal;
    switch (literal.kind()) {
        case Kind::integer: {
            using Limits = std::numeric_limits<std::int64_t>;
            const auto next = [](std::int64_t value, std::int64_t to) {
                return to > value ? value + 1 : value - 1;
            };
            return range_of(comparison, literal.as_integer(), Limits::min(), Limits::max(), next,
                            &term->low.integer, &term->high.integer);
        }
        case Kind::real: {
            if (std::isnan(literal.as_real())) return false;
            const double infinity = std::numeric_limits<double>::infinity();
            const auto next = [](double value, double to) { return std::nextafter(value, to); };
            return range_of(comparison, literal.as_real(), -infinity, infinity, next, &term->low.real,
                            &term->high.real);
        }
        case Kind::text:
            term->comparison = comparison == Comparison::not_equal ? Comparison::equal : comparison;
            term->low.text = literal.as_text().data();
            term->high.size = literal.as_text().size();
            // A zero at its end would be taken for what is behind a shorter text.
            term->has_word = literal.as_text().size() <= 8 && literal.as_text().back() != '\0';
            term->word = prefix_of(literal.as_text());
            return true;
        default:
            return false;
    }
}

bool Conjunction::make(const Program& program, const FieldSlot* slots) {
    terms_.clear();
    const std::vector<Instruction>& code = program.code;
    for (std::size_t i = 0; i < code.size(); ++i) {
        // Each comparison but the last is followed by the exit that it stands for.
        const bool is_last = i + 1 == code.size();
        const Operation wanted = is_last ? Operation::compare_field : Operation::branch_field;
        Term term;
        const bool is_simple =
            code[i].operation == wanted && (is_last || (code[i].count == 0 && code[i].target == code.size() &&
                                                        code[i + 1].operation == Operation::exit_if_false));
        if (!is_simple ||
            !make_term(static_cast<Comparison>(code[i].detail), program.constants[code[i].operand], &term)) {
            terms_.clear();
            return false;
        }
        term.slot = slots[code[i].field];
        terms_.push_back(term);
        if (!is_last) ++i;
    }
    return !terms_.empty();
}

}  // namespace pinnace::expr
