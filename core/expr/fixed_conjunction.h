// SPDX-License-Identifier: Apache-2.0
// FixedConjunction: a Conjunction on messages of one fixed layout: for each term where the field lies and
// what of it is wanted are worked out once, so that a term is one load and two comparisons.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/expr/bytes.h"
#include "core/expr/conjunction.h"
#include "core/expr/field_set.h"

namespace pinnace::expr {

class FixedConjunction {
 public:
    using Loads = std::shared_ptr<const std::vector<FixedLoad>>;

    // Made for these loads: is_made() if all terms can be tested on the body itself.
    void make(const Conjunction& conjunction, const Loads& loads);
    bool is_for(const Loads& loads) const { return loads == loads_; }
    bool is_made() const { return !tests_.empty(); }

    // Free of calls, and so without a register saved.
    [[gnu::always_inline]] inline bool test(const char* body) const {
        for (const Test& wanted : tests_) {
            if (!holds_at(body + wanted.offset, wanted)) return false;
        }
        return true;
    }

 private:
    enum class Code : std::uint32_t {
        integer_64,
        integer_32,
        unsigned_32,
        integer_64_outside,
        integer_32_outside,
        unsigned_32_outside,
        real,
        real_outside,
        text_equal,
        text_different,
        text_ordered,
    };
    using Bound = Conjunction::Bound;
    // The field lies in the closed range, or outside of it; a text stands to the one in `low`.
    struct Test {
        Code code = Code::integer_64;
        std::uint32_t offset = 0;
        Bound low{};
        Bound high{};
    };

    static bool is_in(std::int64_t value, const Test& test) {
        return value >= test.low.integer && value <= test.high.integer;
    }
    static bool is_in(double value, const Test& test) {
        return value >= test.low.real && value <= test.high.real;
    }

    [[gnu::always_inline]] static inline bool holds_at(const char* at, const Test& test) {
        switch (test.code) {
            case Code::integer_64:
                return is_in(load_word<std::int64_t>(at), test);
            case Code::integer_32:
                return is_in(std::int64_t{load_word<std::int32_t>(at)}, test);
            case Code::unsigned_32:
                return is_in(std::int64_t{load_word<std::uint32_t>(at)}, test);
            case Code::integer_64_outside:
                return !is_in(load_word<std::int64_t>(at), test);
            case Code::integer_32_outside:
                return !is_in(std::int64_t{load_word<std::int32_t>(at)}, test);
            case Code::unsigned_32_outside:
                return !is_in(std::int64_t{load_word<std::uint32_t>(at)}, test);
            case Code::real:
                return is_in(load_word<double>(at), test);
            case Code::real_outside:
                return !is_in(load_word<double>(at), test);
            // An empty text is NULL, and the literal is not empty.
            case Code::text_equal:
                return load_word<std::uint64_t>(at) == test.low.size;
            case Code::text_different: {
                const auto word = load_word<std::uint64_t>(at);
                return word != 0 && word != test.low.size;
            }
            case Code::text_ordered: {
                // Zeros behind their ends: as words, the first byte the highest, texts stand as they do as
                // texts.
                const std::uint64_t word = std::byteswap(load_word<std::uint64_t>(at));
                const int order = (word > test.low.size) - (word < test.low.size);
                return word != 0 && (test.high.size >> (order + 1) & 1) != 0;
            }
        }
        __builtin_unreachable();
    }

    static bool make_test(const Conjunction::Term& term, const FixedLoad& load, Test* test);

    Loads loads_;
    std::vector<Test> tests_;
};

}  // namespace pinnace::expr
