// SPDX-License-Identifier: Apache-2.0
// Pattern: a PCRE2 pattern, compiled once (JIT where the machine allows), matched under a limit.
//
// Bytes are bytes: (*UTF) and (?i) and the like at the pattern's start do what PCRE says. Matching allocates
// nothing with JIT; a pattern that backtracks without end is stopped by the limit, whatever the text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>

struct pcre2_real_code_8;
struct pcre2_real_match_data_8;
struct pcre2_real_match_context_8;
struct pcre2_real_jit_stack_8;

namespace pinnace::expr {

inline constexpr std::uint32_t kMatchLimit = 100'000;  // steps of PCRE2, about a millisecond

enum class Match : std::uint8_t { no, yes, limit };

struct PatternError {
    std::size_t offset = 0;  // in the pattern
    std::string text;        // PCRE's words
};

// What matching needs beside the pattern; one for each thread.
class PatternScratch {
 public:
    PatternScratch();
    ~PatternScratch();
    PatternScratch(const PatternScratch&) = delete;
    PatternScratch& operator=(const PatternScratch&) = delete;

    static constexpr std::uint32_t kGroupCountMax = 10;  // the whole match and nine groups
    std::size_t match_begin() const;
    std::size_t match_end() const;

 private:
    friend class Pattern;
    pcre2_real_match_data_8* data_;
    pcre2_real_match_context_8* context_;
    pcre2_real_jit_stack_8* stack_;
};

class Pattern {
 public:
    static std::expected<Pattern, PatternError> compile(std::string_view pattern);

    // Group `index` of the newest match, which was one of this pattern in `text`; empty if it took no part.
    std::string_view group(std::string_view text, std::uint32_t index, const PatternScratch& scratch) const;
    // Finds the pattern anywhere in `text` from `begin` on.
    Match match(std::string_view text, std::size_t begin, PatternScratch& scratch) const;

 private:
    struct Free {
        void operator()(pcre2_real_code_8* code) const;
    };
    explicit Pattern(pcre2_real_code_8* code);
    std::unique_ptr<pcre2_real_code_8, Free> code_;
    std::uint32_t group_count_ = 0;  // without the whole match
};

}  // namespace pinnace::expr
