// SPDX-License-Identifier: Apache-2.0
#include "core/expr/reader.h"

#include <utility>

#include "core/expr/readers.h"

namespace pinnace::expr {
namespace {

using Made = std::expected<std::unique_ptr<MessageReader>, std::string>;

Made make_fix(const MessageType& type) {
    if (type.field_separator == type.value_separator) {
        return std::unexpected("Message type " + type.name +
                               ": the separators of fields and values are the same.");
    }
    return make_fix_reader(type.field_separator, type.value_separator, type.format == "fix");
}

Made make_struct(const MessageType& type) {
    auto layout = parse_struct_layout(type.layout);
    if (!layout) return std::unexpected("Message type " + type.name + ": " + layout.error());
    return make_struct_reader(std::move(*layout));
}

Made make_composite(const MessageType& type) {
    if (type.header_format == "json") return make_composite_reader(make_json_reader(), 0);
    if (type.header_format != "struct") {
        return std::unexpected("Message type " + type.name +
                               ": the header of a composite is json or struct, not " + type.header_format +
                               ".");
    }
    auto layout = parse_struct_layout(type.layout);
    if (!layout) return std::unexpected("Message type " + type.name + ": " + layout.error());
    const std::size_t size = layout->size;
    return make_composite_reader(make_struct_reader(std::move(*layout)), size);
}

}  // namespace

Made make_reader(const MessageType& type) {
    if (type.format == "json") return make_json_reader();
    if (type.format == "fix" || type.format == "nvfix") return make_fix(type);
    if (type.format == "struct") return make_struct(type);
    if (type.format == "composite") return make_composite(type);
    if (type.format == "msgpack") return make_msgpack_reader();
    if (type.format == "xml") return make_xml_reader();
    if (type.format == "binary") return make_binary_reader();
    return std::unexpected("There is no message type " + type.format +
                           "; there are json, fix, nvfix, struct, composite, msgpack, xml and binary.");
}

bool is_built_in_format(std::string_view name) {
    for (const std::string_view format : {"json", "fix", "nvfix", "msgpack", "xml", "binary"}) {
        if (name == format) return true;
    }
    return false;
}

}  // namespace pinnace::expr
