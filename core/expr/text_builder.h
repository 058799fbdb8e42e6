// SPDX-License-Identifier: Apache-2.0
// TextBuilder: a text of unknown length in the scratch of an evaluation, for functions.
#pragma once

#include <cstring>
#include <string_view>

#include "core/expr/eval_context.h"

namespace pinnace::expr {

// Doubles its room when it is full; what it leaves behind is free again at the next evaluation.
class TextBuilder {
 public:
    explicit TextBuilder(EvalContext& context) : context_(context) {}
    TextBuilder(const TextBuilder&) = delete;
    TextBuilder& operator=(const TextBuilder&) = delete;

    void append(std::string_view text) {
        if (text.empty() || !reserve(text.size())) return;
        std::memcpy(data_ + size_, text.data(), text.size());
        size_ += text.size();
    }
    void append(char character) { append(std::string_view(&character, 1)); }

    // The text, NULL if it is empty or would have been too long (counted). Call once.
    Value finish() {
        if (is_too_long_) {
            ++context_.counters.text_limit_count;
            return {};
        }
        context_.texts().give_back(capacity_ - size_);
        return Value::text({data_, size_});
    }

 private:
    bool reserve(std::size_t more) {
        if (is_too_long_) return false;
        if (size_ + more <= capacity_) return true;
        const std::size_t wanted = size_ + more < 64 ? 64 : (size_ + more) * 2;
        char* const room = context_.texts().take(wanted);
        if (room == nullptr) {
            is_too_long_ = true;
            return false;
        }
        if (size_ > 0) std::memcpy(room, data_, size_);
        data_ = room;
        capacity_ = wanted;
        return true;
    }

    EvalContext& context_;
    char* data_ = nullptr;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
    bool is_too_long_ = false;
};

}  // namespace pinnace::expr
