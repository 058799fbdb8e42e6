// SPDX-License-Identifier: Apache-2.0
// BodyFilter: an expression over JSON bodies, for queries.
#pragma once

#include <expected>
#include <memory>
#include <string>
#include <string_view>

#include "core/expr/expression.h"
#include "core/expr/reader.h"

namespace pinnace::scenario {

class BodyFilter {
 public:
    // The error is the compiler's text.
    static std::expected<BodyFilter, std::string> compile(std::string_view text);

    bool matches(std::span<const std::byte> body, const expr::MessageFacts& facts);

 private:
    explicit BodyFilter(expr::Expression expression);

    expr::Expression expression_;
    expr::FieldSet fields_;
    expr::FieldValues values_;
    std::unique_ptr<expr::EvalContext> context_ = std::make_unique<expr::EvalContext>();
    std::unique_ptr<expr::MessageReader> reader_;
};

}  // namespace pinnace::scenario
