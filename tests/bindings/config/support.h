// SPDX-License-Identifier: Apache-2.0
// Configurations for tests, made of the sections that a test is about.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "bindings/config/configuration.h"

namespace pinnace::config {

// A configuration whose log covers `topics` (elements) and whose SOW is `sow`. Both stand on lines of their
// own: the SOW's content begins in line 3.
inline std::string with_sow(std::string_view sow,
                            std::string_view topics = "<Topic><Name>.*</Name></Topic>") {
    return "<Pinnace><TransactionLog><JournalDirectory>j</JournalDirectory>" + std::string(topics) +
           "</TransactionLog>\n<SOW>\n" + std::string(sow) + "\n</SOW></Pinnace>";
}

inline std::optional<std::string> no_environment(std::string_view) { return std::nullopt; }

inline std::string problems_of(std::string_view text, bool with_warnings = false) {
    return parse(text, no_environment).text("f", with_warnings);
}

}  // namespace pinnace::config
