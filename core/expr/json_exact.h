// SPDX-License-Identifier: Apache-2.0
// A JSON reader without simdjson's bounds: numbers beyond 64 bits and beyond doubles, and the exact depth.
//
// simdjson refuses `12345678901234567890123` and `1e400`, which are JSON; here they are doubles. It is the
// second try for bodies that simdjson refused for such a reason, so it is plain rather than fast. The text is
// UTF-8, which the caller has checked.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "core/expr/field_set.h"
#include "core/expr/walk.h"

namespace pinnace::expr {

// Whether all of `text` is one JSON value, nested at most kMessageDepthMax deep.
bool is_json(std::string_view text);

// Texts with escapes are undone into `unescaped`, which must have room for text.size() bytes.
void walk_json(std::string_view text, char* unescaped, const FieldSet& set, FieldValues& values);

}  // namespace pinnace::expr
