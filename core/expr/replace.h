// SPDX-License-Identifier: Apache-2.0
// REGEXP_MATCH and REGEXP_REPLACE, whose pattern is part of the program.
#pragma once

#include "core/expr/eval_context.h"
#include "core/expr/pattern.h"
#include "core/expr/value.h"

namespace pinnace::expr {

// The first part of `value` that matches; NULL if none does.
Value regexp_match(EvalContext& context, const Pattern& pattern, const Value& value);

// `value` with every part that matches replaced. In the replacement $0 to $9 and \0 to \9 stand for the whole
// match and its groups, $$ and \\ for the sign itself.
Value regexp_replace(EvalContext& context, const Pattern& pattern, const Value& value,
                     const Value& replacement);

}  // namespace pinnace::expr
