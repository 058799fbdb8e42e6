// SPDX-License-Identifier: Apache-2.0
#include "tests/model/reference/expressions.h"

#include <array>

#include "core/expr/convert.h"

namespace pinnace::model {

Expressions::Expressions() : reader_(std::move(*expr::make_reader({}))) {}

const expr::Expression* Expressions::find(const std::string& text) {
    auto [at, is_new] = compiled_.try_emplace(text);
    if (is_new) {
        if (auto made = expr::Expression::compile(text)) {
            at->second.emplace(std::move(*made));
            at->second->bind(fields_);
        }
    }
    return at->second ? &*at->second : nullptr;
}

void Expressions::read(std::string_view body, const Facts& facts) {
    reader_->read(std::as_bytes(std::span(body)), fields_, values_);
    context_.facts = {};
    context_.facts.topic = facts.topic;
    context_.facts.size = body.size();
    context_.facts.now_ns = facts.now;
    context_.facts.in_queue = true;
    context_.facts.lease_count = static_cast<std::uint32_t>(facts.lease_count);
}

bool Expressions::matches(const std::string& text, std::string_view body, const Facts& facts) {
    const expr::Expression* expression = find(text);
    if (expression == nullptr) return false;
    read(body, facts);
    return expression->matches(values_, context_);
}

std::optional<std::uint64_t> Expressions::priority(const std::string& text, std::string_view body,
                                                   const Facts& facts) {
    const expr::Expression* expression = find(text);
    if (expression == nullptr) return {};
    read(body, facts);
    return expr::priority_of(expression->eval(values_, context_));
}

std::string Expressions::text_of(const std::string& text, std::string_view body, const Facts& facts) {
    const expr::Expression* expression = find(text);
    if (expression == nullptr) return {};
    read(body, facts);
    std::array<char, expr::kNumberTextSizeMax> buffer;
    return std::string(expr::text_of(expression->eval(values_, context_), buffer));
}

}  // namespace pinnace::model
