// SPDX-License-Identifier: Apache-2.0
// The functions of the language by name, and sets of those that are not plain functions of their arguments.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/expr/value.h"

namespace pinnace::expr {

class EvalContext;

// Functions whose value does not come from their arguments alone, as bits of a set.
enum FunctionBit : std::uint32_t {
    kBookmark = 1u << 0,
    kTopicName = 1u << 1,
    kMessageSize = 1u << 2,
    kCorrelationId = 1u << 3,
    kLastLeased = 1u << 4,
    kLeaseCount = 1u << 5,
    kUnixTimestamp = 1u << 6,
};
using FunctionSet = std::uint32_t;

// Those whose value can change by itself: refused in a queue's Filter, BarrierExpression, Priority, GroupKey.
inline constexpr FunctionSet kChangingFunctions = kLastLeased | kLeaseCount | kUnixTimestamp;
// Those that make a subscription's filter worth evaluating anew at each return of a message.
inline constexpr FunctionSet kLeaseFunctions = kLastLeased | kLeaseCount;

using FunctionBody = Value (*)(EvalContext& context, std::span<const Value> arguments);

// What happens to a NULL among the arguments before the function sees them.
enum class NullRule : std::uint8_t { gives_null, seen };

struct Function {
    std::string_view name;  // in capitals
    std::uint8_t argument_count_min = 0;
    std::uint8_t argument_count_max = 0;  // 255: any number up to the bound on arguments
    NullRule null_rule = NullRule::gives_null;
    bool takes_arrays = false;          // sees whole arrays, not their element 0
    std::uint8_t pattern_argument = 0;  // 1-based: this one is a quoted pattern; 0: none
    FunctionSet bit = 0;
    FunctionBody body = nullptr;
    bool is_aggregate = false;  // only in a view's fields
};

// The function of that name in any case, null if there is none. The index in the table is what programs keep.
const Function* find_function(std::string_view name);
const Function& function_at(std::uint32_t index);
std::uint32_t function_index(const Function& function);
// The names of the set's members, joined by `, `.
std::string names_of(FunctionSet set);

}  // namespace pinnace::expr
