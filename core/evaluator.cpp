// SPDX-License-Identifier: Apache-2.0
#include "core/evaluator.h"

#include <algorithm>

#include "core/check.h"

namespace pinnace {

std::expected<void, std::string> Evaluator::define(const expr::MessageType& definition) {
    if (std::ranges::any_of(types_,
                            [&](const auto& type) { return type->definition.name == definition.name; }))
        return std::unexpected("it is defined twice");
    auto reader = expr::make_reader(definition);
    if (!reader) return std::unexpected(reader.error());
    auto type = std::make_unique<Type>();
    type->definition = definition;
    type->is_json = definition.format == "json";
    type->reader = std::move(*reader);
    types_.push_back(std::move(type));
    return {};
}

bool Evaluator::known(std::string_view message_type) const {
    return expr::is_built_in_format(message_type) || std::ranges::any_of(types_, [&](const auto& type) {
               return type->definition.name == message_type;
           });
}

std::uint32_t Evaluator::type(std::string_view message_type) {
    for (std::uint32_t index = 0; index < types_.size(); ++index)
        if (types_[index]->definition.name == message_type) return index;
    expr::MessageType definition;
    definition.name = message_type;
    definition.format = expr::is_built_in_format(message_type) ? std::string(message_type) : "binary";
    const auto defined = define(definition);
    PINNACE_CHECK(defined.has_value());
    return static_cast<std::uint32_t>(types_.size() - 1);
}

std::expected<expr::Expression, std::string> Evaluator::compile(std::string_view text, std::uint32_t type,
                                                                std::string_view place,
                                                                expr::FunctionSet refused) {
    expr::CompileOptions options;
    options.refused = refused;
    options.place = place;
    auto expression = expr::Expression::compile(text, options);
    if (!expression) return std::unexpected(expression.error().text);
    if (!expression->fields().empty() && !types_[type]->reader->has_fields())
        return std::unexpected("messages of type " + types_[type]->definition.name + " have no fields");
    expression->bind(types_[type]->fields);
    return std::move(*expression);
}

EvaluationCounts Evaluator::counts() const {
    EvaluationCounts counts{.evaluations = evaluation_count_,
                            .patterns_stopped = context_.counters.match_limit_count,
                            .texts_too_long = context_.counters.text_limit_count};
    for (const auto& type : types_) counts.malformed += type->reader->malformed_count();
    return counts;
}

void Evaluator::read(std::uint32_t index, const std::byte* data, std::uint32_t size) {
    Type& type = *types_[index];
    values_ = &type.values;
    if (data == nullptr) {
        type.values.reset(type.fields);
        type.values.finish();
    } else {
        type.reader->read({data, size}, type.fields, type.values);
    }
    context_.facts = {};
    context_.facts.size = size;
}

}  // namespace pinnace
