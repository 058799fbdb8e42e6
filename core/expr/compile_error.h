// SPDX-License-Identifier: Apache-2.0
// The error of an expression that does not compile, with the text and a mark under the place.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/expr/expression.h"

namespace pinnace::expr {

CompileError make_compile_error(std::string_view text, std::size_t offset, std::string expected);

}  // namespace pinnace::expr
