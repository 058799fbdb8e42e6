// SPDX-License-Identifier: Apache-2.0
// MessageReader: takes the fields of a FieldSet out of a message of one type, in one pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/expr/field_set.h"

namespace pinnace::expr {

class MessageReader {
 public:
    virtual ~MessageReader() = default;

    // Fills `values` with what `body` holds of the set's fields. A body that is not well-formed for its type
    // as a whole: false, counted, and all fields are NULL. `values` lives until the body is gone or the next
    // read() of this reader.
    bool read(std::span<const std::byte> body, const FieldSet& set, FieldValues& values) {
        const bool is_well_formed = read_fields(body, set, values);
        if (!is_well_formed) ++malformed_count_;
        return is_well_formed;
    }
    // False: messages of this type have no fields (binary), and an expression over them is an error of the
    // configuration.
    virtual bool has_fields() const { return true; }
    std::uint64_t malformed_count() const { return malformed_count_; }

 protected:
    virtual bool read_fields(std::span<const std::byte> body, const FieldSet& set, FieldValues& values) = 0;

 private:
    std::uint64_t malformed_count_ = 0;
};

// A message type as the configuration gives it.
struct MessageType {
    std::string name = "json";  // as queues name it
    // json, fix, nvfix, struct, composite, msgpack, xml or binary.
    std::string format = "json";
    char field_separator = '\x01';  // fix, nvfix: after each field
    char value_separator = '=';     // fix, nvfix: between name and value
    // struct, and composite with a struct header: "/name = CODE" each
    std::vector<std::string> layout = {};
    std::string header_format = "json";  // composite: json or struct
};

// A reader of that type, or a whole sentence that says what is wrong with the definition. Readers are not
// shared by threads.
std::expected<std::unique_ptr<MessageReader>, std::string> make_reader(const MessageType& type);

// The types that need no definition: those of all formats but struct and composite, by the format's name.
bool is_built_in_format(std::string_view name);

}  // namespace pinnace::expr
