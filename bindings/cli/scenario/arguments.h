// SPDX-License-Identifier: Apache-2.0
// Arguments: reads the tokens of one line from left to right. The first mistake is kept; what is read
// after it is empty, so that a caller checks once, at the end.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "bindings/cli/scenario/token.h"
#include "core/types.h"

namespace pinnace::scenario {

class Arguments {
 public:
    explicit Arguments(std::span<const Token> tokens) : tokens_(tokens) {}

    bool empty() const { return next_ == tokens_.size(); }
    // The next token; `what` says what it should be, as in "the topic".
    const Token& take(std::string_view what);
    std::string word(std::string_view what) { return take(what).text; }
    std::span<const Token> rest();
    // Takes the last token of all if it is a duration.
    std::optional<Duration> trailing_duration();

    // The next token as NAME=VALUE, where NAME is one of `known` and has not come before; or, for an entry of
    // `known` without a `=`, as that word and the token behind it. False: there are no more, or a mistake.
    bool option(std::initializer_list<std::string_view> known, std::string& name, std::string& value);

    Duration duration(std::string_view name, std::string_view text);
    std::uint64_t count(std::string_view name, std::string_view text);

    void fail(std::string text);
    // Call last: whatever is left over is a mistake.
    const std::optional<std::string>& finish();
    bool failed() const { return error_.has_value(); }

 private:
    std::span<const Token> tokens_;
    std::size_t next_ = 0;
    std::string seen_;  // names of options, each between blanks
    std::optional<std::string> error_;
};

}  // namespace pinnace::scenario
