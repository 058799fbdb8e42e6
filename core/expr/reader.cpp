// SPDX-License-Identifier: Apache-2.0
#include "core/expr/reader.h"

#include "core/expr/readers.h"

namespace pinnace::expr {

std::expected<std::unique_ptr<MessageReader>, std::string> make_reader(const MessageType& type) {
    if (type.format == "json") return make_json_reader();
    return std::unexpected("There is no message type " + type.format + ".");
}

bool is_built_in_format(std::string_view name) { return name == "json"; }

}  // namespace pinnace::expr
