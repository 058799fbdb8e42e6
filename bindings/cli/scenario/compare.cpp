// SPDX-License-Identifier: Apache-2.0
#include "bindings/cli/scenario/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "bindings/cli/scenario/json_match.h"
#include "core/config_parse.h"

namespace pinnace::scenario {
namespace {

// An item as wanted: a message's name, perhaps with its count, or a JSON value.
struct Item {
    std::string name;  // empty: JSON
    std::optional<std::uint64_t> count;
    std::string json;
};

std::expected<Item, std::string> read_item(const Token& token, const Ledger& ledger) {
    if (token.kind == TokenKind::json || token.kind == TokenKind::quoted) return Item{{}, {}, token.text};
    Item item{token.text, {}, {}};
    const std::size_t hash = token.text.rfind('#');
    if (!ledger.find(item.name) && hash != std::string::npos) {
        item.count = parse_count(token.text.substr(hash + 1));
        item.name = token.text.substr(0, hash);
        if (!item.count) {
            return std::unexpected(
                fmt::format("expected a delivery count behind # in `{}`, as in m1#2", token.text));
        }
    }
    const auto id = ledger.find(item.name);
    if (!id && is_json(token.text)) return Item{{}, {}, token.text};
    if (!id)
        return std::unexpected(fmt::format("expected a message that was named by `as`, got `{}`", item.name));
    if (*id == 0)
        return std::unexpected(fmt::format("the message that `{}` names is no longer known", item.name));
    return item;
}

bool item_matches(const Item& item, const Received& got, const Ledger& ledger) {
    if (item.name.empty()) return json_matches(item.json, got.body, {.null_is_absent = got.is_row});
    return ledger.find(item.name) == got.id && (!item.count || *item.count == got.count);
}

std::string received_in_words(const Received& message, const Item* beside, const Ledger& ledger) {
    const std::string name = ledger.name_of(message.id);
    if (name.empty() || (beside != nullptr && beside->name.empty())) {
        return message.body.empty() ? "(a message without a body)" : printable(message.body, 120);
    }
    const bool with_count = message.count > 1 || (beside != nullptr && beside->count);
    return with_count && message.count != 0 ? fmt::format("{}#{}", name, message.count) : name;
}

std::string list_in_words(const std::vector<std::string>& words) {
    return words.empty() ? "nothing" : fmt::format("{}", fmt::join(words, " "));
}

std::string expired_in_words(const ExpiredMessage& message, const Ledger& ledger) {
    const std::string name = ledger.name_of(message.id);
    return fmt::format("{}:{}", name.empty() ? fmt::format("(unnamed, position {})", message.id) : name,
                       message.reasons);
}

}  // namespace

std::string differs(const std::string& wanted, const std::string& got) {
    return fmt::format("expected {} got {}", wanted, got);
}

std::string in_words(std::span<const Token> tokens) {
    std::vector<std::string> words;
    for (const Token& token : tokens) words.push_back(token.text);
    return list_in_words(words);
}

Verdict compare_items(std::span<const Token> items, std::span<const Received> got, const Ledger& ledger) {
    std::vector<Item> wanted;
    for (const Token& token : items) {
        auto item = read_item(token, ledger);
        if (!item) return std::move(item.error());
        wanted.push_back(std::move(*item));
    }
    bool same = wanted.size() == got.size();
    std::vector<std::string> words;
    for (std::size_t at = 0; at < got.size(); ++at) {
        const Item* beside = at < wanted.size() ? &wanted[at] : nullptr;
        same = same && item_matches(*beside, got[at], ledger);
        words.push_back(received_in_words(got[at], beside, ledger));
    }
    if (same) return {};
    return differs(in_words(items), list_in_words(words));
}

Verdict compare_expired(std::span<const Token> wanted, std::span<const ExpiredMessage> got,
                        const Ledger& ledger) {
    bool same = wanted.size() == got.size();
    std::vector<std::string> words;
    for (std::size_t at = 0; at < got.size(); ++at) {
        words.push_back(expired_in_words(got[at], ledger));
        if (!same) continue;
        const std::string& text = wanted[at].text;
        const std::size_t colon = std::min(text.rfind(':'), text.size());
        same = ledger.find(text.substr(0, colon)) == got[at].id &&
               got[at].reasons == text.substr(std::min(colon + 1, text.size()));
    }
    if (same) return {};
    return differs(in_words(wanted), list_in_words(words));
}

Verdict compare_rows(std::span<const Token> wanted, std::span<const std::string> got) {
    std::vector<std::string> texts;
    for (const Token& token : wanted) texts.push_back(token.text);
    if (rows_match(texts, got, {.null_is_absent = true})) return {};
    return differs(in_words(wanted), list_in_words({got.begin(), got.end()}));
}

Verdict compare_count(std::span<const Token> wanted, std::uint64_t got) {
    if (wanted.size() == 1 && parse_count(wanted[0].text) == got) return {};
    return differs(in_words(wanted), fmt::format("{}", got));
}

Verdict compare_answers(std::span<const Token> wanted, std::span<const Answer> got) {
    const bool one_for_all = wanted.size() == 1;
    bool same = one_for_all || wanted.size() == got.size();
    std::vector<std::string> words;
    for (std::size_t at = 0; at < got.size(); ++at) {
        words.emplace_back(to_text(got[at]));
        same = same && words.back() == wanted[one_for_all ? 0 : at].text;
    }
    if (same) return {};
    return differs(in_words(wanted), list_in_words(words));
}

Verdict compare_published(std::span<const Token> wanted, std::span<const Published> got, bool single,
                          const Ledger& ledger) {
    // `duplicate M` of a single publish is two tokens, `duplicate:M` of a batch is one: make them one form.
    std::vector<std::string> wanted_words;
    for (const Token& token : wanted) wanted_words.push_back(token.text);
    if (single && wanted_words.size() == 2 && wanted_words[0] == "duplicate") {
        wanted_words = {fmt::format("duplicate:{}", wanted_words[1])};
    }
    bool same = wanted_words.size() == got.size();
    std::vector<std::string> words;
    for (std::size_t at = 0; at < got.size(); ++at) {
        const std::string first = got[at].duplicate ? ledger.name_of(got[at].id) : std::string();
        words.push_back(!got[at].duplicate ? "stored"
                        : first.empty()    ? "duplicate"
                                           : fmt::format("duplicate:{}", first));
        if (!same) continue;
        const std::string& text = wanted_words[at];
        const bool names_first = got[at].duplicate && text.starts_with("duplicate:");
        same = names_first ? ledger.find(text.substr(10)) == got[at].id
                           : text == (got[at].duplicate ? "duplicate" : "stored");
    }
    if (same) return {};
    return differs(in_words(wanted), list_in_words(words));
}

bool wants_error(const std::optional<Wanted>& wanted) {
    return wanted && !wanted->empty() && wanted->front().kind == TokenKind::word &&
           wanted->front().text == "error";
}

Verdict compare_fault(const std::optional<Wanted>& wanted, const Fault& fault) {
    if (fault.kind == Fault::Kind::unsupported) return fmt::format("not supported yet: {}", fault.text);
    if (fault.kind == Fault::Kind::broken) return fmt::format("the engine has failed: {}", fault.text);
    const bool all_words =
        wants_error(wanted) && std::ranges::all_of(*wanted, [&](const Token& token) {
            return &token == &wanted->front() || fault.text.find(token.text) != std::string::npos;
        });
    if (all_words) return {};
    return differs(wanted ? in_words(*wanted) : "the command to succeed,",
                   fmt::format("error: {}", fault.text));
}

}  // namespace pinnace::scenario
