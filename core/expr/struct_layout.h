// SPDX-License-Identifier: Apache-2.0
// StructLayout: a fixed binary layout, given field by field with the codes of Python's struct module.
//
// A field is "/name = CODE". CODE is an optional order, an optional count and a letter, as in "<8s" or "3d":
//   order   @ native sizes and alignment (the default), = native order without alignment, < little-endian,
//           > and ! big-endian; it holds for this field and those after it
//   letter  x pad · c one byte as text · b B h H i I l L q Q integers · n N P native only · ? boolean
//           e f d floating point · s text of `count` bytes, cut at its trailing zeros · p text with its
//           length in the first byte
// A count before s and p is the text's size, before x the number of bytes, before others that of elements (an
// array). Pad bytes need no name. There are no pad bytes at the end: give them with x if the struct has some.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "core/expr/path.h"

namespace pinnace::expr {

struct StructField {
    Path path;  // empty: pad bytes
    char code = 'x';
    bool is_big_endian = false;
    std::uint32_t offset = 0;
    std::uint32_t count = 0;
    std::uint32_t size = 0;  // of one element
};

struct StructLayout {
    std::vector<StructField> fields;
    std::size_t size = 0;
};

// The layout, or a whole sentence that names the field and what is wrong with it.
std::expected<StructLayout, std::string> parse_struct_layout(const std::vector<std::string>& fields);

}  // namespace pinnace::expr
