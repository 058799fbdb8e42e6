// SPDX-License-Identifier: Apache-2.0
// The stack machine that runs a program on the fields of one message.
#pragma once

#include "core/expr/eval_context.h"
#include "core/expr/field_set.h"
#include "core/expr/program.h"

namespace pinnace::expr {

// `slots` leads from the program's numbers of fields to places in `fields`.
Value run(const Program& program, const FieldSlot* slots, const Value* fields, EvalContext& context);

}  // namespace pinnace::expr
