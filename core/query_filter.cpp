// SPDX-License-Identifier: Apache-2.0
#include "core/query_filter.h"

#include <utility>

#include "core/check.h"

namespace pinnace {

std::expected<QueryFilter, std::string> QueryFilter::compile(const Core& core, QueueId queue,
                                                             std::string_view where) {
    auto evaluator = std::make_unique<Evaluator>();
    const expr::MessageType& definition = core.message_type_definition(queue);
    const auto defined = evaluator->define(definition);
    PINNACE_CHECK(defined.has_value());  // the core has such a reader
    const std::uint32_t type = evaluator->type(definition.name);
    auto expression = evaluator->compile(where, type, "where", 0);
    if (!expression) return std::unexpected(expression.error());
    return QueryFilter(std::move(evaluator), type, std::move(*expression));
}

bool QueryFilter::matches(const Core& core, TopicId topic, const std::byte* data, std::uint32_t size) {
    evaluator_->read(type_, data, size);
    expr::MessageFacts& facts = evaluator_->facts();
    facts.topic = core.topic_name(topic);
    facts.now_ns = core.now();
    return evaluator_->matches(expression_);
}

}  // namespace pinnace
