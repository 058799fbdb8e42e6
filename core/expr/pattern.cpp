// SPDX-License-Identifier: Apache-2.0
#define PCRE2_CODE_UNIT_WIDTH 8
#include "core/expr/pattern.h"

#include <pcre2.h>

#include <array>

#include "core/check.h"

namespace pinnace::expr {

PatternScratch::PatternScratch()
    : data_(pcre2_match_data_create(kGroupCountMax, nullptr)),
      context_(pcre2_match_context_create(nullptr)),
      stack_(pcre2_jit_stack_create(std::size_t{32} << 10, std::size_t{512} << 10, nullptr)) {
    PINNACE_CHECK(data_ != nullptr && context_ != nullptr);
    pcre2_set_match_limit(context_, kMatchLimit);
    pcre2_set_heap_limit(context_, 4096);  // KiB, for matching without JIT
    // Without a stack of our own (no JIT on this machine) PCRE uses its small one.
    if (stack_ != nullptr) pcre2_jit_stack_assign(context_, nullptr, stack_);
}

PatternScratch::~PatternScratch() {
    if (stack_ != nullptr) pcre2_jit_stack_free(stack_);
    pcre2_match_context_free(context_);
    pcre2_match_data_free(data_);
}

std::size_t PatternScratch::match_begin() const { return pcre2_get_ovector_pointer(data_)[0]; }
std::size_t PatternScratch::match_end() const { return pcre2_get_ovector_pointer(data_)[1]; }

void Pattern::Free::operator()(pcre2_real_code_8* code) const { pcre2_code_free(code); }

Pattern::Pattern(pcre2_real_code_8* code) : code_(code) {
    pcre2_pattern_info(code, PCRE2_INFO_CAPTURECOUNT, &group_count_);
}

std::string_view Pattern::group(std::string_view text, std::uint32_t index,
                                const PatternScratch& scratch) const {
    if (index > group_count_ || index >= PatternScratch::kGroupCountMax) return {};
    const std::size_t* bounds = pcre2_get_ovector_pointer(scratch.data_);
    const std::size_t begin = bounds[2 * index];
    const std::size_t end = bounds[2 * index + 1];
    // With \K a match can end before it begins.
    return begin != PCRE2_UNSET && end > begin ? text.substr(begin, end - begin) : std::string_view();
}

std::expected<Pattern, PatternError> Pattern::compile(std::string_view pattern) {
    int error = 0;
    std::size_t offset = 0;
    const auto* bytes = reinterpret_cast<PCRE2_SPTR>(pattern.data());
    pcre2_code* code =
        pcre2_compile(bytes, pattern.size(), PCRE2_NEVER_BACKSLASH_C, &error, &offset, nullptr);
    if (code == nullptr) {
        std::array<PCRE2_UCHAR, 256> text{};
        pcre2_get_error_message(error, text.data(), text.size());
        return std::unexpected(PatternError{offset, reinterpret_cast<const char*>(text.data())});
    }
    // Where JIT is not to be had, the interpreter gives the same answers.
    pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
    return Pattern(code);
}

Match Pattern::match(std::string_view text, std::size_t begin, PatternScratch& scratch) const {
    const auto* bytes = reinterpret_cast<PCRE2_SPTR>(text.data());
    const int result =
        pcre2_match(code_.get(), bytes, text.size(), begin, 0, scratch.data_, scratch.context_);
    if (result >= 0) return Match::yes;
    switch (result) {
        case PCRE2_ERROR_MATCHLIMIT:
        case PCRE2_ERROR_DEPTHLIMIT:
        case PCRE2_ERROR_HEAPLIMIT:
        case PCRE2_ERROR_JIT_STACKLIMIT:
            return Match::limit;
        default:
            return Match::no;  // also a text that is not UTF-8 under (*UTF)
    }
}

}  // namespace pinnace::expr
