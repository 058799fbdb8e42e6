// SPDX-License-Identifier: Apache-2.0
// Functions of texts. Positions and lengths count bytes; only ASCII letters have cases.
#include <algorithm>
#include <cmath>

#include "core/expr/function_bodies.h"
#include "core/expr/number.h"
#include "core/expr/text_builder.h"

namespace pinnace::expr::bodies {
namespace {

char to_upper(char character) {
    return character >= 'a' && character <= 'z' ? static_cast<char>(character - 'a' + 'A') : character;
}
char to_lower(char character) {
    return character >= 'A' && character <= 'Z' ? static_cast<char>(character - 'A' + 'a') : character;
}

template <class Change>
Value changed(EvalContext& context, const Value& value, Change change) {
    const std::string_view text = context.text_of(value);
    char* const out = text.empty() ? nullptr : context.texts().take(text.size());
    if (out == nullptr) {
        context.counters.text_limit_count += text.empty() ? 0 : 1;
        return {};
    }
    change(text, out);
    return Value::text({out, text.size()});
}

constexpr std::string_view kBlanks = " \t\n\v\f\r";

std::string_view without_leading(std::string_view text) {
    return text.substr(std::min(text.find_first_not_of(kBlanks), text.size()));
}
std::string_view without_trailing(std::string_view text) {
    return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

// A count or position: fractions are cut, what is beyond any text is clipped. False: no number.
bool whole_of(const Value& value, std::int64_t* whole) {
    constexpr double kFar = 1e15;
    const double number = as_double(number_of(value));
    if (std::isnan(number)) return false;
    *whole = static_cast<std::int64_t>(std::clamp(number, -kFar, kFar));
    return true;
}

Value position(std::size_t found) {
    return Value::integer(found == std::string_view::npos ? 0 : static_cast<std::int64_t>(found) + 1);
}

}  // namespace

Value concat(EvalContext& context, Arguments arguments) {
    TextBuilder out(context);
    for (const Value& argument : arguments) out.append(context.text_of(argument));
    return out.finish();
}

Value upper(EvalContext& context, Arguments arguments) {
    return changed(context, arguments[0], [](std::string_view text, char* out) {
        std::transform(text.begin(), text.end(), out, to_upper);
    });
}

Value lower(EvalContext& context, Arguments arguments) {
    return changed(context, arguments[0], [](std::string_view text, char* out) {
        std::transform(text.begin(), text.end(), out, to_lower);
    });
}

Value reverse(EvalContext& context, Arguments arguments) {
    return changed(context, arguments[0], [](std::string_view text, char* out) {
        std::reverse_copy(text.begin(), text.end(), out);
    });
}

// REPLACE(text, part, by): every occurrence of `part`, from the left.
Value replace(EvalContext& context, Arguments arguments) {
    const std::string_view text = context.text_of(arguments[0]);
    const std::string_view part = context.text_of(arguments[1]);
    const std::string_view by = context.text_of(arguments[2]);
    TextBuilder out(context);
    std::size_t done = 0;
    for (std::size_t found = text.find(part); found != std::string_view::npos;
         found = text.find(part, done)) {
        out.append(text.substr(done, found - done));
        out.append(by);
        done = found + part.size();
    }
    out.append(text.substr(done));
    return out.finish();
}

// SUBSTR(text, from[, length]): from 1 on, or from the end if negative; what lies outside is not there.
Value substr(EvalContext& context, Arguments arguments) {
    const std::string_view text = context.text_of(arguments[0]);
    const auto size = static_cast<std::int64_t>(text.size());
    std::int64_t from = 0;
    std::int64_t length = size;
    if (!whole_of(arguments[1], &from)) return {};
    if (arguments.size() == 3 && !whole_of(arguments[2], &length)) return {};
    const std::int64_t begin =
        from < 0 ? std::max<std::int64_t>(size + from, 0) : std::max<std::int64_t>(from - 1, 0);
    if (begin >= size || length <= 0) return {};
    return Value::text(text.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(length)));
}

Value trim(EvalContext& context, Arguments arguments) {
    return Value::text(without_leading(without_trailing(context.text_of(arguments[0]))));
}

Value ltrim(EvalContext& context, Arguments arguments) {
    return Value::text(without_leading(context.text_of(arguments[0])));
}

Value rtrim(EvalContext& context, Arguments arguments) {
    return Value::text(without_trailing(context.text_of(arguments[0])));
}

Value length(EvalContext& context, Arguments arguments) {
    return Value::integer(static_cast<std::int64_t>(context.text_of(arguments[0]).size()));
}

// INSTR(text, part)
Value instr(EvalContext& context, Arguments arguments) {
    return position(context.text_of(arguments[0]).find(context.text_of(arguments[1])));
}

Value instr_i(EvalContext& context, Arguments arguments) {
    const std::string_view text = context.text_of(arguments[0]);
    const std::string_view part = context.text_of(arguments[1]);
    const auto found = std::search(text.begin(), text.end(), part.begin(), part.end(),
                                   [](char a, char b) { return to_upper(a) == to_upper(b); });
    if (found == text.end()) return Value::integer(0);
    return position(static_cast<std::size_t>(found - text.begin()));
}

Value strequal_i(EvalContext& context, Arguments arguments) {
    const std::string_view left = context.text_of(arguments[0]);
    const std::string_view right = context.text_of(arguments[1]);
    return Value::boolean(std::equal(left.begin(), left.end(), right.begin(), right.end(),
                                     [](char a, char b) { return to_upper(a) == to_upper(b); }));
}

}  // namespace pinnace::expr::bodies
