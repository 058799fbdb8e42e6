// SPDX-License-Identifier: Apache-2.0
// Evaluator: the core's use of the expression language: one reader and field set a message type, one context.
//
// read() looks at a body once; all expressions over its type are then evaluated on what it found, until the
// next read().
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/expr/expression.h"
#include "core/expr/reader.h"
#include "core/types.h"

namespace pinnace {

// Since the start; what was stopped or unreadable made its expression FALSE or NULL.
struct EvaluationCounts {
    std::uint64_t evaluations = 0;       // of expressions, on messages (D11)
    std::uint64_t malformed = 0;         // bodies that were not well-formed for their type
    std::uint64_t patterns_stopped = 0;  // by the limit of their match
    std::uint64_t texts_too_long = 0;    // that functions would have made
};

class Evaluator {
 public:
    // A type of a name of its own, or a built-in one with other separators; before the first type() of that
    // name. The error is a whole sentence.
    std::expected<void, std::string> define(const expr::MessageType& definition);
    bool known(std::string_view message_type) const;
    // The number of a message type. One that is not known (a topic of a former configuration) is opaque.
    std::uint32_t type(std::string_view message_type);
    const expr::MessageType& definition(std::uint32_t type) const { return types_[type]->definition; }
    bool is_json(std::uint32_t type) const { return types_[type]->is_json; }
    // Bound to the type's fields. The error is the compiler's text, which names the column.
    std::expected<expr::Expression, std::string> compile(std::string_view text, std::uint32_t type,
                                                         std::string_view place, expr::FunctionSet refused);
    // `data` may be null: then all fields are NULL.
    void read(std::uint32_t type, const std::byte* data, std::uint32_t size);
    bool matches(const expr::Expression& expression) {
        ++evaluation_count_;
        return expression.matches(*values_, context_);
    }
    expr::Value eval(const expr::Expression& expression) {
        ++evaluation_count_;
        return expression.eval(*values_, context_);
    }
    EvaluationCounts counts() const;
    expr::MessageFacts& facts() { return context_.facts; }

 private:
    struct Type {
        expr::MessageType definition;
        bool is_json = false;
        std::unique_ptr<expr::MessageReader> reader;
        expr::FieldSet fields;
        expr::FieldValues values;
    };
    std::vector<std::unique_ptr<Type>> types_;
    expr::FieldValues* values_ = nullptr;
    expr::EvalContext context_;
    std::uint64_t evaluation_count_ = 0;
};

}  // namespace pinnace
