// SPDX-License-Identifier: Apache-2.0
// Any bytes as a message: the first byte chooses the type, the rest is the body. A body is read or
// malformed; then all its fields are NULL. It lies in memory of exactly its size, so that a read beyond it
// shows.
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "core/check.h"
#include "core/expr/convert.h"
#include "core/expr/expression.h"
#include "core/expr/reader.h"

namespace pinnace::expr {
namespace {

std::vector<MessageType> types() {
    return {
        {.format = "json"},
        {.format = "fix", .field_separator = '|'},
        {.format = "nvfix", .field_separator = ';'},
        {.format = "struct", .layout = {"/a = <q", "/55 = 3h", "/b = >e", "/c = 5p", "/d = 8s", "/e = ?"}},
        {.format = "composite"},
        {.format = "composite", .layout = {"/a = <q", "/55 = 3h"}, .header_format = "struct"},
        {.format = "msgpack"},
        {.format = "xml"},
        {.format = "binary"}};
}

struct Reading {
    explicit Reading(const MessageType& type) : reader(std::move(*make_reader(type))) {
        for (const char* path :
             {"/a", "/a/b", "/a[1]", "/a[0]/b/c", "/55", "/55[1]", "/b", "/c", "/d", "/e", "/a/@b"}) {
            Expression::compile(path)->bind(fields);
        }
    }
    std::unique_ptr<MessageReader> reader;
    FieldSet fields;
    FieldValues values;
};

void run(const std::uint8_t* data, std::size_t size) {
    static const std::vector<std::unique_ptr<Reading>> readings = [] {
        std::vector<std::unique_ptr<Reading>> made;
        for (const MessageType& type : types()) made.push_back(std::make_unique<Reading>(type));
        return made;
    }();
    if (size == 0) return;
    Reading& reading = *readings[data[0] % readings.size()];
    const auto body = std::make_unique<std::byte[]>(size - 1);
    if (size > 1) std::memcpy(body.get(), data + 1, size - 1);
    const bool is_well_formed = reading.reader->read({body.get(), size - 1}, reading.fields, reading.values);
    PINNACE_CHECK(is_well_formed == reading.values.is_well_formed());
    for (std::size_t slot = 0; slot < reading.values.size(); ++slot) {
        const Value& value = reading.values[static_cast<FieldSlot>(slot)];
        PINNACE_CHECK(is_well_formed || value.is_null());
        PINNACE_CHECK(!json_of(value).empty());
    }
}

}  // namespace
}  // namespace pinnace::expr

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    pinnace::expr::run(data, size);
    return 0;
}
