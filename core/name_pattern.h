// SPDX-License-Identifier: Apache-2.0
// NamePattern: a pattern over names of topics or queues (T10): PCRE, unanchored.
#pragma once

#include <expected>
#include <memory>
#include <string>
#include <string_view>

namespace pinnace {

// One of `^ $ * + ? | ( ) [ ] { } \` makes a name a pattern; a dot alone does not.
inline bool is_pattern(std::string_view name) {
    return name.find_first_of("^$*+?|()[]{}\\") != std::string_view::npos;
}

class NamePattern {
 public:
    // The error is what is wrong and in which column.
    static std::expected<NamePattern, std::string> compile(std::string_view text);
    bool matches(std::string_view name) const;

 private:
    struct Code;
    struct Free {
        void operator()(Code* code) const;
    };
    explicit NamePattern(Code* code) : code_(code) {}
    std::unique_ptr<Code, Free> code_;
};

}  // namespace pinnace
