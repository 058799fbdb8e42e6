// SPDX-License-Identifier: Apache-2.0
// Program: a compiled expression, as instructions of a small stack machine.
//
// Invariants
// 1. Instructions are checked when they are made: no jump leaves the code, the stack never grows beyond
//    kStackSize, fields and constants exist. Evaluation checks nothing of it again.
// 2. Jumps only go forward, so an evaluation ends after at most one pass over the code.
// 3. The constants of one list (IN, BEGINS WITH, ENDS WITH) lie one after the other.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "core/expr/functions.h"
#include "core/expr/path.h"
#include "core/expr/pattern.h"
#include "core/expr/value.h"

namespace pinnace::expr {

inline constexpr std::size_t kStackSize = 1024;  // values

// What each does to the stack stands behind it.
enum class Operation : std::uint8_t {
    constant,        // -> constants[operand]
    field,           // -> field
    truth,           // a -> its truth
    negation,        // a -> NOT a
    negate,          // a -> -a
    calculate,       // a b -> a detail b
    compare,         // a b -> a detail b
    compare_field,   // -> field detail constants[operand]
    branch_field,    // -> if `field detail constants[operand]` is the branch's way out: that, and jump
    exit_if_false,   // a (a boolean) -> FALSE and jump, or nothing
    exit_if_true,    // a (a boolean) -> TRUE and jump, or nothing
    test_false,      // a -> its truth; jump if that is FALSE
    test_true,       // a -> its truth; jump if that is TRUE
    merge_and,       // a b -> a AND b
    merge_or,        // a b -> a OR b
    is_null,         // a -> a IS NULL
    is_nan,          // a -> a IS NAN
    between,         // a b c -> a BETWEEN b AND c
    like,            // a -> a LIKE patterns[operand]
    list_constants,  // a -> TRUE and jump if a meets one of `count` constants from operand on; or a
    list_item,       // a b -> TRUE and jump if a meets b; or a
    list_end,        // a -> FALSE
    forget,          // values (count) -> NULL
    call,            // arguments (count) -> functions[operand]
    regexp_match,    // a -> the part of a that patterns[operand] matches
    regexp_replace,  // a b -> a, with what patterns[operand] matches replaced by b
};

// How an element of a list is met.
enum class ListTest : std::uint8_t { equal, begins, ends };

struct Instruction {
    Operation operation = Operation::constant;
    std::uint8_t detail = 0;  // Comparison, Arithmetic, ListTest
    std::uint16_t field = 0;  // the program's number of a field
    std::uint32_t operand = 0;
    std::uint32_t target = 0;  // of a jump
    std::uint32_t count = 0;   // of arguments or constants; branch_field: 1 if TRUE is the way out
};
static_assert(sizeof(Instruction) == 16);

struct Program {
    std::string text;
    std::vector<Instruction> code;
    std::vector<Value> constants;
    // For each constant the number that it is (a text that is none: NULL), so that a text literal beside a
    // number is not parsed for every message.
    std::vector<Value> numbers;
    std::deque<std::string> literals;  // what text constants point into
    std::vector<Pattern> patterns;
    std::vector<Path> paths;
    FunctionSet functions = 0;
};

}  // namespace pinnace::expr
