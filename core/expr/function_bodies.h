// SPDX-License-Identifier: Apache-2.0
// The bodies of the functions. Arguments are as the table says: as many as it allows, element 0 of arrays,
// and without NULL, unless it says that the function sees them.
#pragma once

#include <span>

#include "core/expr/eval_context.h"
#include "core/expr/value.h"

namespace pinnace::expr::bodies {

using Arguments = std::span<const Value>;

// functions_text.cpp
Value concat(EvalContext& context, Arguments arguments);
Value upper(EvalContext& context, Arguments arguments);
Value lower(EvalContext& context, Arguments arguments);
Value replace(EvalContext& context, Arguments arguments);
Value substr(EvalContext& context, Arguments arguments);
Value trim(EvalContext& context, Arguments arguments);
Value ltrim(EvalContext& context, Arguments arguments);
Value rtrim(EvalContext& context, Arguments arguments);
Value reverse(EvalContext& context, Arguments arguments);
Value length(EvalContext& context, Arguments arguments);
Value instr(EvalContext& context, Arguments arguments);
Value instr_i(EvalContext& context, Arguments arguments);
Value strequal_i(EvalContext& context, Arguments arguments);

// functions_number.cpp
Value abs(EvalContext& context, Arguments arguments);
Value ceiling(EvalContext& context, Arguments arguments);
Value floor(EvalContext& context, Arguments arguments);
Value round(EvalContext& context, Arguments arguments);
Value sqrt(EvalContext& context, Arguments arguments);
Value power(EvalContext& context, Arguments arguments);
Value exp(EvalContext& context, Arguments arguments);
Value ln(EvalContext& context, Arguments arguments);
Value log2(EvalContext& context, Arguments arguments);
Value log10(EvalContext& context, Arguments arguments);
Value sign(EvalContext& context, Arguments arguments);
Value greatest(EvalContext& context, Arguments arguments);
Value least(EvalContext& context, Arguments arguments);
Value width_bucket(EvalContext& context, Arguments arguments);

// functions_time.cpp
Value strftime(EvalContext& context, Arguments arguments);
Value strptime(EvalContext& context, Arguments arguments);
Value unix_timestamp(EvalContext& context, Arguments arguments);

// functions_hash.cpp
Value crc32(EvalContext& context, Arguments arguments);
Value md5(EvalContext& context, Arguments arguments);
Value sha256(EvalContext& context, Arguments arguments);

// functions_message.cpp
Value if_(EvalContext& context, Arguments arguments);
Value coalesce(EvalContext& context, Arguments arguments);
Value nullif(EvalContext& context, Arguments arguments);
Value array_count(EvalContext& context, Arguments arguments);
Value array_min(EvalContext& context, Arguments arguments);
Value array_max(EvalContext& context, Arguments arguments);
Value array_sum(EvalContext& context, Arguments arguments);
Value bookmark(EvalContext& context, Arguments arguments);
Value topic_name(EvalContext& context, Arguments arguments);
Value message_size(EvalContext& context, Arguments arguments);
Value correlation_id(EvalContext& context, Arguments arguments);
Value last_leased(EvalContext& context, Arguments arguments);
Value lease_count(EvalContext& context, Arguments arguments);

}  // namespace pinnace::expr::bodies
