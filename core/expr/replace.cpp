// SPDX-License-Identifier: Apache-2.0
#include "core/expr/replace.h"

#include <algorithm>

#include "core/expr/text_builder.h"

namespace pinnace::expr {
namespace {

void append_replacement(TextBuilder& out, std::string_view replacement, std::string_view text,
                        const Pattern& pattern, const PatternScratch& scratch) {
    for (std::size_t i = 0; i < replacement.size(); ++i) {
        const char sign = replacement[i];
        const char next = i + 1 < replacement.size() ? replacement[i + 1] : '\0';
        if ((sign == '$' || sign == '\\') && (next == sign || (next >= '0' && next <= '9'))) {
            ++i;
            if (next == sign) {
                out.append(sign);
            } else {
                out.append(pattern.group(text, static_cast<std::uint32_t>(next - '0'), scratch));
            }
        } else {
            out.append(sign);
        }
    }
}

}  // namespace

Value regexp_match(EvalContext& context, const Pattern& pattern, const Value& value) {
    if (value.is_null()) return {};
    const std::string_view text = context.text_of(value);
    const Match match = pattern.match(text, 0, context.patterns());
    if (match == Match::limit) ++context.counters.match_limit_count;
    if (match != Match::yes) return {};
    return Value::text(pattern.group(text, 0, context.patterns()));
}

Value regexp_replace(EvalContext& context, const Pattern& pattern, const Value& value,
                     const Value& replacement) {
    if (value.is_null() || replacement.is_null()) return {};
    const std::string_view text = context.text_of(value);
    const std::string_view with = context.text_of(replacement);
    PatternScratch& scratch = context.patterns();
    TextBuilder out(context);
    std::size_t done = 0;  // everything before it is in `out`
    for (std::size_t from = 0; from <= text.size();) {
        const Match match = pattern.match(text, from, scratch);
        if (match == Match::limit) {
            ++context.counters.match_limit_count;
            return {};
        }
        if (match == Match::no) break;
        const std::size_t begin = std::max(scratch.match_begin(), done);
        const std::size_t end = std::max(scratch.match_end(), begin);
        out.append(text.substr(done, begin - done));
        append_replacement(out, with, text, pattern, scratch);
        done = end;
        // An empty match moves on by a byte, or it would be found for ever.
        from = end > begin && end > from ? end : std::max(end, from) + 1;
    }
    out.append(text.substr(std::min(done, text.size())));
    return out.finish();
}

}  // namespace pinnace::expr
