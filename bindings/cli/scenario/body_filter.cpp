// SPDX-License-Identifier: Apache-2.0
#include "bindings/cli/scenario/body_filter.h"

#include "core/check.h"

namespace pinnace::scenario {

std::expected<BodyFilter, std::string> BodyFilter::compile(std::string_view text) {
    auto expression = expr::Expression::compile(text);
    if (!expression) return std::unexpected(expression.error().text);
    return BodyFilter(std::move(*expression));
}

BodyFilter::BodyFilter(expr::Expression expression) : expression_(std::move(expression)) {
    auto reader = expr::make_reader({});
    PINNACE_CHECK(reader.has_value());  // JSON is built in
    reader_ = std::move(*reader);
    expression_.bind(fields_);
}

bool BodyFilter::matches(std::span<const std::byte> body, const expr::MessageFacts& facts) {
    reader_->read(body, fields_, values_);
    context_->facts = facts;
    return expression_.matches(values_, *context_);
}

}  // namespace pinnace::scenario
