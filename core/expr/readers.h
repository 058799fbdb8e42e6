// SPDX-License-Identifier: Apache-2.0
// The readers behind make_reader(), one for each format.
#pragma once

#include <memory>

#include "core/expr/reader.h"
#include "core/expr/struct_layout.h"

namespace pinnace::expr {

std::unique_ptr<MessageReader> make_json_reader();
std::unique_ptr<MessageReader> make_struct_reader(StructLayout layout);
// Names of fields are tags, digits only, if `is_fix`.
std::unique_ptr<MessageReader> make_fix_reader(char field_separator, char value_separator, bool is_fix);
std::unique_ptr<MessageReader> make_msgpack_reader();
std::unique_ptr<MessageReader> make_xml_reader();
std::unique_ptr<MessageReader> make_binary_reader();
// The header is that of `header`: a struct of `header_size` bytes, or, if that is 0, what the length in front
// of it says.
std::unique_ptr<MessageReader> make_composite_reader(std::unique_ptr<MessageReader> header,
                                                     std::size_t header_size);

}  // namespace pinnace::expr
