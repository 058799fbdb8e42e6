// SPDX-License-Identifier: Apache-2.0
// Any text as an expression: it compiles, and is evaluated on a message, or is refused with a column inside
// of the text. What an evaluation gives must be printable as JSON, and matches() must agree with eval().
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/check.h"
#include "core/expr/convert.h"
#include "core/expr/expression.h"
#include "core/expr/reader.h"

namespace pinnace::expr {
namespace {

constexpr std::string_view kMessage =
    R"({"a":1,"b":[1,2.5,"3",null],"c":"text","d":{"e":true,"f":[{"g":-1},{"g":"x"}]},)"
    R"("h":18446744073709551615})";

void run(std::string_view text) {
    static const std::unique_ptr<MessageReader> reader = std::move(*make_reader({}));
    static EvalContext context;
    auto compiled = Expression::compile(text);
    if (!compiled) {
        PINNACE_CHECK(compiled.error().column >= 1 && compiled.error().column <= text.size() + 1);
        PINNACE_CHECK(!compiled.error().expected.empty());
        return;
    }
    FieldSet fields;
    FieldValues values;
    compiled->bind(fields);
    for (const std::string_view message : {kMessage, std::string_view("{}"), std::string_view("no json")}) {
        reader->read(std::as_bytes(std::span(message)), fields, values);
        const Value value = compiled->eval(values, context);
        const bool is_true = truth_of(value).is_true();
        PINNACE_CHECK(!json_of(value).empty());
        static_cast<void>(priority_of(value));
        PINNACE_CHECK(compiled->matches(values, context) == is_true);
    }
}

}  // namespace
}  // namespace pinnace::expr

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    pinnace::expr::run({reinterpret_cast<const char*>(data), size});
    return 0;
}
