// SPDX-License-Identifier: Apache-2.0
#include "core/expr/fixed_conjunction.h"

namespace pinnace::expr {

bool FixedConjunction::make_test(const Conjunction::Term& term, const FixedLoad& load, Test* test) {
    using Fast = FixedLoad::Fast;
    test->offset = load.offset;
    test->low = term.low;
    test->high = term.high;
    const bool is_outside = term.is_negated;
    if (term.kind == Kind::integer) {
        if (load.fast == Fast::integer_64)
            test->code = is_outside ? Code::integer_64_outside : Code::integer_64;
        else if (load.fast == Fast::integer_32)
            test->code = is_outside ? Code::integer_32_outside : Code::integer_32;
        else if (load.fast == Fast::unsigned_32)
            test->code = is_outside ? Code::unsigned_32_outside : Code::unsigned_32;
        else
            return false;
        return true;
    }
    if (term.kind == Kind::real) {
        test->code = is_outside ? Code::real_outside : Code::real;
        return load.fast == Fast::real_64;
    }
    if (load.fast != Fast::text_8 || !term.has_word) return false;
    test->low.size = term.word;
    if (term.comparison == Comparison::equal) {
        test->code = is_outside ? Code::text_different : Code::text_equal;
        return true;
    }
    test->code = Code::text_ordered;
    test->low.size = std::byteswap(term.word);
    test->high.size = static_cast<std::uint64_t>(term.comparison);
    return true;
}

void FixedConjunction::make(const Conjunction& conjunction, const Loads& loads) {
    loads_ = loads;
    tests_.clear();
    for (const Conjunction::Term& term : conjunction.terms()) {
        Test test;
        if (!make_test(term, (*loads)[term.slot], &test)) {
            tests_.clear();
            return;
        }
        tests_.push_back(test);
    }
}

}  // namespace pinnace::expr
