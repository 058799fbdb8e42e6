// SPDX-License-Identifier: Apache-2.0
// Compares what a scenario wants with what it got, and puts both into words.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bindings/cli/scenario/ledger.h"
#include "bindings/cli/scenario/scenario.h"
#include "bindings/cli/scenario/world.h"

namespace pinnace::scenario {

// Nothing: it is as wanted. Else the text of the failure.
using Verdict = std::optional<std::string>;

// "expected … got …"
std::string differs(const std::string& wanted, const std::string& got);
// The tokens as they were written, or "nothing".
std::string in_words(std::span<const Token> tokens);

// Items of `expect`, `sow` and `receive`: exactly these, in this order.
Verdict compare_items(std::span<const Token> items, std::span<const Received> got, const Ledger& ledger);
Verdict compare_expired(std::span<const Token> wanted, std::span<const ExpiredMessage> got,
                        const Ledger& ledger);
Verdict compare_rows(std::span<const Token> wanted, std::span<const std::string> got);
Verdict compare_count(std::span<const Token> wanted, std::uint64_t got);
// One word for all, if all are the same, or a word for each.
Verdict compare_answers(std::span<const Token> wanted, std::span<const Answer> got);
// `single`: of a publish of one message, `stored` or `duplicate M`; else a word for each, `duplicate:M`.
Verdict compare_published(std::span<const Token> wanted, std::span<const Published> got, bool single,
                          const Ledger& ledger);

// What a failed command amounts to: a pass only if it was refused and `wanted` says so.
Verdict compare_fault(const std::optional<Wanted>& wanted, const Fault& fault);
bool wants_error(const std::optional<Wanted>& wanted);

}  // namespace pinnace::scenario
