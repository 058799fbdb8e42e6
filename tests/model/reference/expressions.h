// SPDX-License-Identifier: Apache-2.0
// Expressions: the model's only use of the product: core/expr, evaluated anew each time it is asked.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/expr/expression.h"
#include "core/expr/reader.h"
#include "core/types.h"

namespace pinnace::model {

// What an expression may ask of a message beside its body.
struct Facts {
    std::string_view topic;
    Time now = 0;
    std::uint64_t lease_count = 0;
};

class Expressions {
 public:
    Expressions();

    bool compiles(const std::string& text) { return find(text) != nullptr; }
    bool matches(const std::string& text, std::string_view body, const Facts& facts);
    std::optional<std::uint64_t> priority(const std::string& text, std::string_view body, const Facts& facts);
    std::string text_of(const std::string& text, std::string_view body, const Facts& facts);

 private:
    const expr::Expression* find(const std::string& text);
    void read(std::string_view body, const Facts& facts);

    std::map<std::string, std::optional<expr::Expression>> compiled_;
    std::unique_ptr<expr::MessageReader> reader_;
    expr::FieldSet fields_;
    expr::FieldValues values_;
    expr::EvalContext context_;
};

}  // namespace pinnace::model
