// SPDX-License-Identifier: Apache-2.0
// Loads fields of fixed place out of a message, by the codes of Python's struct module.
#pragma once

#include <cstdint>

#include "core/expr/field_set.h"
#include "core/expr/value.h"

namespace pinnace::expr {

// Element `index` of the field; of a text there is one. NULL if the load is of no field.
Value load_element(const char* body, const FixedLoad& load, std::uint32_t index);

}  // namespace pinnace::expr
