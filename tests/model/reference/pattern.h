// SPDX-License-Identifier: Apache-2.0
// Patterns over names (T10), as far as the generator makes them: anchored at the front by ^, perhaps at the
// end by $, with classes of characters in between.
#pragma once

#include <cstddef>
#include <string_view>

namespace pinnace::model {

inline bool is_pattern(std::string_view text) { return text.starts_with('^'); }

inline bool matches_pattern(std::string_view pattern, std::string_view name) {
    pattern.remove_prefix(1);
    while (!pattern.empty()) {
        if (pattern == "$") return name.empty();
        if (name.empty()) return false;
        if (pattern.front() == '[') {
            const std::size_t end = pattern.find(']');
            if (pattern.substr(1, end - 1).find(name.front()) == std::string_view::npos) return false;
            pattern.remove_prefix(end);
        } else if (pattern.front() != name.front()) {
            return false;
        }
        pattern.remove_prefix(1);
        name.remove_prefix(1);
    }
    return true;
}

}  // namespace pinnace::model
