// SPDX-License-Identifier: Apache-2.0
#include "bindings/cli/scenario/parse_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "bindings/cli/scenario/arguments.h"

namespace pinnace::scenario {
namespace {

using Error = std::unexpected<ParseError>;

// The parts of a command line: its arguments, the raw text behind `where`, and what stands behind `=>`.
struct Parts {
    std::string word;
    std::span<const Token> arguments;
    std::optional<std::string> where;
    std::optional<Wanted> wanted;
};

bool takes_where(std::string_view word) {
    return word == "ack" || word == "delete" || word == "sow" || word == "rows";
}

// Text behind `where` is the raw line up to `=>`, or one quoted token.
std::string where_text(std::string_view line, std::span<const Token> tokens, std::size_t raw_begin) {
    if (tokens.size() == 1 && tokens[0].kind == TokenKind::quoted) return tokens[0].text;
    if (tokens.empty()) return {};
    return std::string(trim_blanks(line.substr(raw_begin, tokens.back().end - raw_begin)));
}

std::expected<Parts, ParseError> split(const SourceLine& line) {
    std::span<const Token> tokens(line.tokens);
    Parts parts;
    parts.word = tokens[0].text;
    const auto arrow =
        static_cast<std::size_t>(std::ranges::find(tokens, TokenKind::arrow, &Token::kind) - tokens.begin());
    if (arrow < tokens.size()) {
        const auto wanted = tokens.subspan(arrow + 1);
        parts.wanted = Wanted(wanted.begin(), wanted.end());
        tokens = tokens.first(arrow);
    }
    if (tokens.empty()) return Error({line.number, "expected a command, got `=>`"});
    if (takes_where(parts.word)) {
        for (std::size_t at = 2; at < tokens.size(); ++at) {
            if (tokens[at].kind != TokenKind::word || tokens[at].text != "where") continue;
            parts.where = where_text(line.text, tokens.subspan(at + 1), tokens[at].end);
            if (parts.where->empty())
                return Error({line.number, "expected an expression behind `where`, got none"});
            tokens = tokens.first(at);
            break;
        }
    }
    parts.arguments = tokens.subspan(1);
    return parts;
}

// BODY [as M] [expiration=D] [delay=D] [group=G] [dedup=K], and for a single publish [from=P seq=N].
NewMessage parse_message(Arguments& arguments, Publish* single) {
    NewMessage message;
    message.body = arguments.word("a message's body");
    std::string name;
    std::string value;
    bool has_number = false;
    const auto next = [&] {
        return single != nullptr
                   ? arguments.option({"as", "expiration=", "delay=", "group=", "dedup=", "from=", "seq="},
                                      name, value)
                   : arguments.option({"as", "expiration=", "delay=", "group=", "dedup="}, name, value);
    };
    while (next()) {
        if (name == "as") message.name = value;
        if (name == "expiration") message.expiration = arguments.duration(name, value);
        if (name == "delay") message.delay = arguments.duration(name, value);
        if (name == "group") message.group = value;
        if (name == "dedup") message.dedup = value;
        if (name == "from") single->from = value;
        if (name == "seq") single->number = arguments.count(name, value);
        has_number = has_number || name == "seq";
    }
    if (single != nullptr && !arguments.failed() && has_number == single->from.empty()) {
        arguments.fail("expected from= and seq= together, got one of them; write from=P seq=N");
    }
    return message;
}

Command parse_publish(Arguments& arguments) {
    Publish publish;
    publish.topic = arguments.word("a topic");
    publish.messages.push_back(parse_message(arguments, &publish));
    return publish;
}

std::expected<Command, ParseError> parse_batch(const Statement& statement, Arguments& arguments) {
    Publish publish;
    publish.topic = arguments.word("a topic");
    if (arguments.take("<<END and a message a line").kind != TokenKind::heredoc)
        arguments.fail("expected <<END");
    for (const SourceLine& line : statement.block) {
        if (trim_blanks(line.text).empty() || trim_blanks(line.text).front() == '#') continue;
        auto tokens = split_tokens(line.text);
        if (!tokens) return Error({line.number, std::move(tokens.error())});
        Arguments of_message(*tokens);
        publish.messages.push_back(parse_message(of_message, nullptr));
        if (const auto& error = of_message.finish()) return Error({line.number, *error});
    }
    if (publish.messages.empty()) arguments.fail("expected a message in the block, got none");
    return publish;
}

Command parse_subscribe(Arguments& arguments, bool tail) {
    Subscribe subscribe;
    subscribe.tail = tail;
    subscribe.name = arguments.word("the subscription's name");
    subscribe.target = arguments.word(tail ? "a topic" : "a queue");
    subscribe.client = subscribe.name;
    std::string name;
    std::string value;
    const auto next = [&] {
        return tail ? arguments.option({"filter=", "bookmark=", "client=", "user="}, name, value)
                    : arguments.option({"max_backlog=", "filter=", "client=", "user=", "take=", "bookmark="},
                                       name, value);
    };
    while (next()) {
        if (name == "max_backlog") subscribe.max_backlog = arguments.count(name, value);
        if (name == "filter") subscribe.filter = value;
        if (name == "user") subscribe.user = value;
        if (name == "bookmark") subscribe.bookmark = value;
        if (name == "client") subscribe.client = value;
        if (name == "take") subscribe.manual = true;
        if (name == "take" && value != "manual") {
            arguments.fail(fmt::format("expected take=manual, got take={}", printable(value, 80)));
        }
        if (value.empty()) arguments.fail(fmt::format("expected a value behind {}=, got none", name));
    }
    return subscribe;
}

Command parse_replace(Arguments& arguments) {
    Replace replace;
    replace.name = arguments.word("the subscription's name");
    std::string name;
    std::string value;
    while (arguments.option({"topic=", "max_backlog=", "filter="}, name, value)) {
        if (name == "topic") replace.target = value;
        if (name == "filter") replace.filter = value;
        if (name == "max_backlog") replace.max_backlog = arguments.count(name, value);
    }
    return replace;
}

Command parse_verbs(Arguments& arguments, Verb verb) {
    Verbs verbs;
    verbs.verb = verb;
    if (verb == Verb::renew) verbs.period = arguments.trailing_duration().value_or(0);
    verbs.name = arguments.word("the subscription's name");
    for (const Token& token : arguments.rest()) verbs.messages.push_back(token.text);
    if (verbs.messages.empty()) arguments.fail("expected the name of a message, got the end of the command");
    return verbs;
}

Command parse_take(Arguments& arguments) {
    Take take;
    take.name = arguments.word("the subscription's name");
    if (!arguments.empty()) take.count = arguments.count("the number to take", arguments.word("a number"));
    return take;
}

Command parse_expect(Arguments& arguments) {
    Expect expect;
    expect.name = arguments.word("the subscription's name");
    const auto items = arguments.rest();
    expect.items.assign(items.begin(), items.end());
    return expect;
}

Command parse_receive(Arguments& arguments) {
    Receive receive;
    receive.name = arguments.word("the consumer's name");
    receive.queue = arguments.word("a queue");
    std::string name;
    std::string value;
    bool given = false;
    while (arguments.option({"max="}, name, value)) {
        receive.count_max = arguments.count(name, value);
        given = true;
    }
    if (!given) arguments.fail("expected max=N, got the end of the command");
    return receive;
}

using Parser = Command (*)(Arguments&, const Parts&);
struct Entry {
    std::string_view word;
    bool answers;  // `=>` may stand behind it
    Parser parser;
};

Command parse_acknowledge(Arguments& arguments, const Parts& parts) {
    if (!parts.where) return parse_verbs(arguments, Verb::acknowledge);
    AcknowledgeWhere command;
    command.name = arguments.word("the subscription's name");
    command.queue = arguments.word("a queue");
    command.where = *parts.where;
    return command;
}

Command parse_delete(Arguments& arguments, const Parts& parts) {
    Delete command{arguments.word("a topic"), parts.where.value_or("")};
    if (!parts.where) arguments.fail("expected `where` and an expression, got the end of the command");
    return command;
}

Command parse_delta(Arguments& arguments, const Parts&) {
    DeltaPublish delta;
    delta.topic = arguments.word("a topic");
    delta.message.body = arguments.word("a message's body");
    std::string name;
    std::string value;
    while (arguments.option({"as"}, name, value)) delta.message.name = value;
    return delta;
}

Command parse_redrive(Arguments& arguments, const Parts&) {
    Redrive redrive;
    redrive.from = arguments.word("the queue that they leave");
    redrive.to = arguments.word("the queue that they go to");
    return redrive;
}

constexpr auto kCommands = std::to_array<Entry>({
    {"publish", true, [](Arguments& a, const Parts&) { return parse_publish(a); }},
    {"delta", true, parse_delta},
    {"delete", true, parse_delete},
    {"subscribe", true, [](Arguments& a, const Parts&) { return parse_subscribe(a, false); }},
    {"tail", true, [](Arguments& a, const Parts&) { return parse_subscribe(a, true); }},
    {"replace", true, [](Arguments& a, const Parts&) { return parse_replace(a); }},
    {"unsubscribe", true,
     [](Arguments& a, const Parts&) -> Command { return Unsubscribe{a.word("a subscription")}; }},
    {"disconnect", true,
     [](Arguments& a, const Parts&) -> Command { return EndClient{a.word("a client"), false}; }},
    {"kill", true, [](Arguments& a, const Parts&) -> Command { return EndClient{a.word("a client"), true}; }},
    {"take", false, [](Arguments& a, const Parts&) { return parse_take(a); }},
    {"expect", false, [](Arguments& a, const Parts&) { return parse_expect(a); }},
    {"ack", true, parse_acknowledge},
    {"cancel", true, [](Arguments& a, const Parts&) { return parse_verbs(a, Verb::cancel); }},
    {"expire", true, [](Arguments& a, const Parts&) { return parse_verbs(a, Verb::expire); }},
    {"renew", true, [](Arguments& a, const Parts&) { return parse_verbs(a, Verb::renew); }},
    {"advance", false,
     [](Arguments& a, const Parts&) -> Command {
         return Advance{a.duration("advance", a.word("a duration"))};
     }},
    {"restart", false, [](Arguments&, const Parts&) -> Command { return Restart{false}; }},
    {"crash", false, [](Arguments&, const Parts&) -> Command { return Restart{true}; }},
    {"sow", true, [](Arguments& a, const Parts& p) -> Command { return Query{a.word("a queue"), p.where}; }},
    {"rows", true, [](Arguments& a, const Parts& p) -> Command { return Rows{a.word("a view"), p.where}; }},
    {"depth", true, [](Arguments& a, const Parts&) -> Command { return Count{a.word("a queue"), false}; }},
    {"leased", true, [](Arguments& a, const Parts&) -> Command { return Count{a.word("a queue"), true}; }},
    {"expired", true, [](Arguments& a, const Parts&) -> Command { return ExpiredSince{a.word("a queue")}; }},
    {"receive", true, [](Arguments& a, const Parts&) { return parse_receive(a); }},
    {"redrive", true, parse_redrive},
    {"purge", true, [](Arguments& a, const Parts&) -> Command { return Purge{a.word("a queue")}; }},
});

}  // namespace

bool is_definition(std::string_view word) {
    return word == "queue" || word == "topic" || word == "sow" || word == "view" || word == "config";
}

std::expected<Definition, ParseError> parse_definition(const Statement& statement,
                                                       std::span<const Token> tokens) {
    Definition definition;
    definition.line = statement.head.number;
    Arguments arguments(tokens);
    const std::string word = arguments.word("a definition");
    if (!arguments.failed() && !is_definition(word)) {
        arguments.fail(
            fmt::format("expected queue, topic, sow, view or config, got `{}`", printable(word, 80)));
    }
    if (word == "config") {
        definition.kind = DefinitionKind::config;
        if (arguments.take("<<END and the configuration").kind != TokenKind::heredoc)
            arguments.fail("expected <<END");
        for (const SourceLine& line : statement.block) definition.text += fmt::format("{}\n", line.text);
    } else {
        definition.kind = word == "queue"   ? DefinitionKind::queue
                          : word == "topic" ? DefinitionKind::topic
                          : word == "sow"   ? DefinitionKind::sow
                                            : DefinitionKind::view;
        definition.name = arguments.word("a name");
        for (const Token& token : arguments.rest()) {
            const std::size_t equals = token.text.find('=');
            if (token.kind != TokenKind::word || equals == 0 || equals == std::string::npos) {
                arguments.fail(fmt::format("expected Element=value, got `{}`", printable(token.text, 80)));
                break;
            }
            definition.elements.emplace_back(token.text.substr(0, equals), token.text.substr(equals + 1));
        }
    }
    if (const auto& error = arguments.finish()) return Error({statement.head.number, *error});
    return definition;
}

std::expected<Step, ParseError> parse_command(const Statement& statement) {
    const int line = statement.head.number;
    auto parts = split(statement.head);
    if (!parts) return Error(std::move(parts.error()));
    Arguments arguments(parts->arguments);
    const bool is_batch = parts->word == "batch";
    const auto* entry = std::ranges::find(kCommands, parts->word, &Entry::word);
    if (!is_batch && entry == kCommands.end()) {
        return Error(
            {line,
             fmt::format("expected a command, got `{}`; the commands are listed in `pinnace scenario --help`",
                         printable(parts->word, 80))});
    }
    if (!is_batch && statement.has_block)
        return Error({line, "expected no `<<` here; only batch and config have a block"});
    if (!is_batch && parts->wanted && !entry->answers) {
        return Error({line, fmt::format("expected no `=>` behind {}; it has no answer", parts->word)});
    }
    if (is_batch) {
        auto batch = parse_batch(statement, arguments);
        if (!batch) return Error(std::move(batch.error()));
        if (const auto& error = arguments.finish()) return Error({line, *error});
        return Step{line, std::move(*batch), std::move(parts->wanted)};
    }
    Command command = entry->parser(arguments, *parts);
    if (const auto& error = arguments.finish()) return Error({line, *error});
    return Step{line, std::move(command), std::move(parts->wanted)};
}

}  // namespace pinnace::scenario
