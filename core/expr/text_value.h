// SPDX-License-Identifier: Apache-2.0
// The value of a text in a format that has no types of its own (fix, nvfix, xml).
#pragma once

#include <string_view>

#include "core/expr/number.h"
#include "core/expr/value.h"

namespace pinnace::expr {

// A number if all of the text is one, NULL if it is empty, else the text.
inline Value value_of_text(std::string_view text) {
    Value number;
    return parse_number(text, &number) ? number : Value::text(text);
}

}  // namespace pinnace::expr
