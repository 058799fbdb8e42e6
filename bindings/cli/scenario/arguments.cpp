// SPDX-License-Identifier: Apache-2.0
#include "bindings/cli/scenario/arguments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/config_parse.h"

namespace pinnace::scenario {
namespace {

const Token kNothing;

}  // namespace

const Token& Arguments::take(std::string_view what) {
    if (failed()) return kNothing;
    if (empty()) {
        fail(fmt::format("expected {}, got the end of the line", what));
        return kNothing;
    }
    return tokens_[next_++];
}

std::span<const Token> Arguments::rest() {
    if (failed()) return {};
    const auto left = tokens_.subspan(next_);
    next_ = tokens_.size();
    return left;
}

std::optional<Duration> Arguments::trailing_duration() {
    if (failed() || empty() || tokens_.back().kind != TokenKind::word) return {};
    const auto period = parse_duration(tokens_.back().text);
    if (period) tokens_ = tokens_.first(tokens_.size() - 1);
    return period;
}

bool Arguments::option(std::initializer_list<std::string_view> known, std::string& name, std::string& value) {
    if (failed() || empty()) return false;
    const Token& token = tokens_[next_++];
    const std::size_t equals = token.text.find('=');
    for (const std::string_view candidate : known) {
        const bool with_equals = candidate.ends_with('=');
        const std::string_view bare = with_equals ? candidate.substr(0, candidate.size() - 1) : candidate;
        if (token.kind != TokenKind::word || std::string_view(token.text).substr(0, equals) != bare) continue;
        if (with_equals != (equals != std::string::npos)) continue;
        const std::string key = fmt::format(" {} ", bare);
        if (seen_.find(key) != std::string::npos) {
            fail(fmt::format("expected {} once, got it twice", bare));
            return false;
        }
        seen_ += key;
        name = bare;
        value = with_equals ? token.text.substr(equals + 1) : word(fmt::format("a name behind `{}`", bare));
        return !failed();
    }
    if (known.size() == 0) {
        fail(fmt::format("expected the end of the command, got `{}`", printable(token.text, 80)));
    } else {
        fail(fmt::format("expected one of {}, got `{}`", fmt::join(known, " "), printable(token.text, 80)));
    }
    return false;
}

Duration Arguments::duration(std::string_view name, std::string_view text) {
    const auto value = parse_duration(text);
    if (!value) {
        fail(fmt::format("expected a duration for {}, a number and ns, us, ms, s, m, h or d, got `{}`", name,
                         printable(text, 80)));
    }
    return value.value_or(0);
}

std::uint64_t Arguments::count(std::string_view name, std::string_view text) {
    const auto value = parse_count(text);
    if (!value) fail(fmt::format("expected a whole number for {}, got `{}`", name, printable(text, 80)));
    return value.value_or(0);
}

void Arguments::fail(std::string text) {
    if (!error_) error_ = std::move(text);
}

const std::optional<std::string>& Arguments::finish() {
    if (!failed() && !empty()) {
        fail(fmt::format("expected the end of the command, got `{}`", printable(tokens_[next_].text, 80)));
    }
    return error_;
}

}  // namespace pinnace::scenario
