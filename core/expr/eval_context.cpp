// SPDX-License-Identifier: Apache-2.0
#include "core/expr/eval_context.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/expr/convert.h"
#include "core/expr/pattern.h"
#include "core/expr/program.h"

namespace pinnace::expr {

char* TextScratch::take(std::size_t size) {
    if (size > kSizeMax - total_) return nullptr;
    while (chunk_ < chunks_.size() && size > chunks_[chunk_].size - used_) {
        ++chunk_;
        used_ = 0;
    }
    if (chunk_ == chunks_.size()) {
        constexpr std::size_t kChunkSizeMin = 4096;
        const std::size_t wanted = std::max({kChunkSizeMin, size, total_});
        chunks_.push_back({std::make_unique_for_overwrite<char[]>(wanted), wanted});
        used_ = 0;
    }
    char* const bytes = chunks_[chunk_].bytes.get() + used_;
    used_ += size;
    total_ += size;
    return bytes;
}

void TextScratch::reset() {
    chunk_ = 0;
    used_ = 0;
    total_ = 0;
}

// One value more than programs use: the machine's top begins one below the first.
EvalContext::EvalContext()
    : stack_(std::make_unique<Value[]>(kStackSize + 1)), patterns_(std::make_unique<PatternScratch>()) {}

EvalContext::~EvalContext() = default;

Value EvalContext::copy_text(std::string_view text) {
    if (text.empty()) return {};
    char* const bytes = texts_.take(text.size());
    if (bytes == nullptr) {
        ++counters.text_limit_count;
        return {};
    }
    std::memcpy(bytes, text.data(), text.size());
    return Value::text({bytes, text.size()});
}

std::string_view EvalContext::text_of(const Value& value) {
    const Value& scalar = first_of(value);
    if (scalar.is_text()) return scalar.as_text();
    std::array<char, kNumberTextSizeMax> buffer;
    const std::string_view text = expr::text_of(scalar, buffer);
    const Value copy = copy_text(text);
    return copy.is_null() ? std::string_view() : copy.as_text();
}

}  // namespace pinnace::expr
