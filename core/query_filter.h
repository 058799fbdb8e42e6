// SPDX-License-Identifier: Apache-2.0
// QueryFilter: the filter of a query (V1), evaluated on messages of a queue as they are found. It has readers
// of its own, so that a long query and the core's own evaluations do not disturb each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>

#include "core/core.h"

namespace pinnace {

class QueryFilter {
 public:
    // Over messages of the queue's type. The error is the compiler's text, which names the column.
    static std::expected<QueryFilter, std::string> compile(const Core& core, QueueId queue,
                                                           std::string_view where);

    // `data` may be null: then all fields are NULL.
    bool matches(const Core& core, TopicId topic, const std::byte* data, std::uint32_t size);

 private:
    QueryFilter(std::unique_ptr<Evaluator> evaluator, std::uint32_t type, expr::Expression expression)
        : evaluator_(std::move(evaluator)), type_(type), expression_(std::move(expression)) {}

    std::unique_ptr<Evaluator> evaluator_;
    std::uint32_t type_;
    expr::Expression expression_;
};

}  // namespace pinnace
