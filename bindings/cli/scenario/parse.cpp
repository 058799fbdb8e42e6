// SPDX-License-Identifier: Apache-2.0
#include "bindings/cli/scenario/parse.h"

#include <fmt/format.h>

#include <algorithm>

#include "bindings/cli/scenario/parse_line.h"

namespace pinnace::scenario {
namespace {

using Error = std::unexpected<ParseError>;

// Hands out statements: lines that are neither blank nor comments, with their blocks.
class Source {
 public:
    explicit Source(std::string_view text) : text_(text) {}

    // Nothing at the end of the file.
    std::expected<std::optional<Statement>, ParseError> next() {
        SourceLine line;
        while (read_line(line)) {
            const std::string_view meaning = trim_blanks(line.text);
            if (meaning.empty() || meaning.front() == '#') continue;
            auto tokens = split_tokens(line.text);
            if (!tokens) return Error({line.number, std::move(tokens.error())});
            line.tokens = std::move(*tokens);
            return with_block(std::move(line));
        }
        return std::nullopt;
    }

    int line_count() const { return number_; }

 private:
    bool read_line(SourceLine& line) {
        if (text_.empty()) return false;
        const std::size_t end = std::min(text_.find('\n'), text_.size());
        line.text = text_.substr(0, end);
        line.number = ++number_;
        text_.remove_prefix(std::min(end + 1, text_.size()));
        if (line.text.ends_with('\r')) line.text.remove_suffix(1);
        return true;
    }

    std::expected<std::optional<Statement>, ParseError> with_block(SourceLine head) {
        Statement statement{std::move(head), false, {}};
        std::string end;
        for (const Token& token : statement.head.tokens) {
            if (token.kind != TokenKind::heredoc) continue;
            if (statement.has_block)
                return Error({statement.head.number, "expected one `<<` a line, got two"});
            statement.has_block = true;
            end = token.text;
        }
        if (!statement.has_block) return statement;
        SourceLine line;
        while (read_line(line)) {
            if (trim_blanks(line.text) == end) return statement;
            statement.block.push_back(line);
        }
        return Error({statement.head.number,
                      fmt::format("expected a line `{}` that ends the block, got the end of the file",
                                  printable(end))});
    }

    std::string_view text_;
    int number_ = 0;
};

std::expected<Refused, ParseError> parse_refuse(const Statement& statement) {
    const std::span<const Token> tokens(statement.head.tokens);
    const auto arrow = std::ranges::find(tokens, TokenKind::arrow, &Token::kind);
    const auto place = static_cast<std::size_t>(arrow - tokens.begin());
    if (arrow == tokens.end() || place + 1 == tokens.size()) {
        return Error({statement.head.number,
                      "expected `=>` and a word of the message, as in `refuse queue Q X=1 => X`"});
    }
    auto definition = parse_definition(statement, tokens.subspan(1, place - 1));
    if (!definition) return Error(std::move(definition.error()));
    Refused refused{std::move(*definition), {}};
    for (const Token& token : tokens.subspan(place + 1)) refused.words.push_back(token.text);
    return refused;
}

// `sow` is two things: the definition of a SOW topic, and a query. A query has an answer, a `where`, or
// commands above it.
bool is_query(const Scenario& scenario, const Statement& statement) {
    const auto& tokens = statement.head.tokens;
    return tokens.front().text == "sow" &&
           (!scenario.steps.empty() || std::ranges::any_of(tokens, [](const Token& token) {
               return token.kind == TokenKind::arrow ||
                      (token.kind == TokenKind::word && token.text == "where");
           }));
}

std::expected<void, ParseError> add(Scenario& scenario, const Statement& statement) {
    const std::string& first = statement.head.tokens.front().text;
    const int line = statement.head.number;
    if (first == "refuse") {
        if (!scenario.steps.empty()) {
            return Error({line, "expected a command, got `refuse`; it stands before all commands or alone"});
        }
        auto refused = parse_refuse(statement);
        if (!refused) return Error(std::move(refused.error()));
        scenario.refusals.push_back(std::move(*refused));
        return {};
    }
    if (!scenario.refusals.empty()) {
        return Error(
            {line,
             fmt::format("expected nothing but `refuse` lines behind a `refuse`, got `{}`; put it into a "
                         "file of its own",
                         printable(first, 80))});
    }
    if (!is_definition(first) || is_query(scenario, statement)) {
        auto step = parse_command(statement);
        if (!step) return Error(std::move(step.error()));
        scenario.steps.push_back(std::move(*step));
        return {};
    }
    if (!scenario.steps.empty()) {
        return Error(
            {line,
             fmt::format("expected a command, got the definition `{}`; definitions stand before the first "
                         "command",
                         first)});
    }
    auto definition = parse_definition(statement, statement.head.tokens);
    if (!definition) return Error(std::move(definition.error()));
    scenario.definitions.push_back(std::move(*definition));
    return {};
}

}  // namespace

std::expected<Scenario, ParseError> parse(std::string_view text) {
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
    Source source(text);
    Scenario scenario;
    while (true) {
        auto statement = source.next();
        if (!statement) return Error(std::move(statement.error()));
        if (!*statement) break;
        if (auto added = add(scenario, **statement); !added) return Error(std::move(added.error()));
    }
    if (scenario.steps.empty() && scenario.refusals.empty() && scenario.definitions.empty()) {
        return Error(
            {std::max(source.line_count(), 1), "expected definitions and commands, got an empty file"});
    }
    return scenario;
}

}  // namespace pinnace::scenario
