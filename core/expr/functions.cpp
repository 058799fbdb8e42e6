// SPDX-License-Identifier: Apache-2.0
// The table of functions: their names, their arguments, and where their bodies are.
#include "core/expr/functions.h"

#include <array>

#include "core/expr/function_bodies.h"
#include "core/expr/lexer.h"

namespace pinnace::expr {
namespace {

constexpr std::uint8_t kAny = 255;

constexpr Function plain(std::string_view name, std::uint8_t least, std::uint8_t most, FunctionBody body) {
    return {.name = name, .argument_count_min = least, .argument_count_max = most, .body = body};
}
// NULL arguments are the function's own affair.
constexpr Function seeing_null(std::string_view name, std::uint8_t least, std::uint8_t most,
                               FunctionBody body) {
    Function function = plain(name, least, most, body);
    function.null_rule = NullRule::seen;
    return function;
}
constexpr Function of_array(std::string_view name, FunctionBody body) {
    Function function = plain(name, 1, 1, body);
    function.takes_arrays = true;
    return function;
}
constexpr Function of_message(std::string_view name, FunctionBit bit, FunctionBody body) {
    Function function = plain(name, 0, 0, body);
    function.bit = bit;
    return function;
}
// The second argument is a quoted pattern; evaluated by the machine itself.
constexpr Function of_pattern(std::string_view name, std::uint8_t count) {
    Function function = plain(name, count, count, nullptr);
    function.pattern_argument = 2;
    return function;
}
constexpr Function aggregate(std::string_view name) {
    Function function = plain(name, 1, 1, nullptr);
    function.is_aggregate = true;
    return function;
}

constexpr auto kFunctions = std::to_array<Function>({
    seeing_null("CONCAT", 1, kAny, bodies::concat),
    plain("UPPER", 1, 1, bodies::upper),
    plain("LOWER", 1, 1, bodies::lower),
    plain("REPLACE", 3, 3, bodies::replace),
    of_pattern("REGEXP_REPLACE", 3),
    of_pattern("REGEXP_MATCH", 2),
    plain("SUBSTR", 2, 3, bodies::substr),
    plain("TRIM", 1, 1, bodies::trim),
    plain("LTRIM", 1, 1, bodies::ltrim),
    plain("RTRIM", 1, 1, bodies::rtrim),
    plain("REVERSE", 1, 1, bodies::reverse),
    plain("LENGTH", 1, 1, bodies::length),
    plain("INSTR", 2, 2, bodies::instr),
    plain("INSTR_I", 2, 2, bodies::instr_i),
    plain("STREQUAL_I", 2, 2, bodies::strequal_i),

    seeing_null("IF", 3, 3, bodies::if_),
    seeing_null("COALESCE", 1, kAny, bodies::coalesce),
    seeing_null("NULLIF", 2, 2, bodies::nullif),

    plain("ABS", 1, 1, bodies::abs),
    plain("CEILING", 1, 1, bodies::ceiling),
    plain("FLOOR", 1, 1, bodies::floor),
    plain("ROUND", 1, 2, bodies::round),
    plain("SQRT", 1, 1, bodies::sqrt),
    plain("POWER", 2, 2, bodies::power),
    plain("EXP", 1, 1, bodies::exp),
    plain("LN", 1, 1, bodies::ln),
    plain("LOG2", 1, 1, bodies::log2),
    plain("LOG10", 1, 1, bodies::log10),
    plain("SIGN", 1, 1, bodies::sign),
    seeing_null("GREATEST", 1, kAny, bodies::greatest),
    seeing_null("LEAST", 1, kAny, bodies::least),
    plain("WIDTH_BUCKET", 4, 4, bodies::width_bucket),

    plain("STRFTIME", 2, 2, bodies::strftime),
    plain("STRPTIME", 2, 2, bodies::strptime),
    of_message("UNIX_TIMESTAMP", kUnixTimestamp, bodies::unix_timestamp),

    plain("CRC32", 1, 1, bodies::crc32),
    plain("MD5", 1, 1, bodies::md5),
    plain("SHA256", 1, 1, bodies::sha256),

    of_array("ARRAY_COUNT", bodies::array_count),
    of_array("ARRAY_MIN", bodies::array_min),
    of_array("ARRAY_MAX", bodies::array_max),
    of_array("ARRAY_SUM", bodies::array_sum),

    of_message("BOOKMARK", kBookmark, bodies::bookmark),
    of_message("TOPIC_NAME", kTopicName, bodies::topic_name),
    of_message("MESSAGE_SIZE", kMessageSize, bodies::message_size),
    of_message("CORRELATION_ID", kCorrelationId, bodies::correlation_id),
    of_message("LAST_LEASED", kLastLeased, bodies::last_leased),
    of_message("LEASE_COUNT", kLeaseCount, bodies::lease_count),

    aggregate("COUNT"),
    aggregate("COUNT_DISTINCT"),
    aggregate("SUM"),
    aggregate("AVG"),
    aggregate("MIN"),
    aggregate("MAX"),
    aggregate("STDDEV_POP"),
    aggregate("STDDEV_SAMP"),
    aggregate("UNIQUE"),
    aggregate("GROUP_CONCAT"),
});

}  // namespace

const Function* find_function(std::string_view name) {
    for (const Function& function : kFunctions) {
        if (equal_in_any_case(name, function.name)) return &function;
    }
    return nullptr;
}

const Function& function_at(std::uint32_t index) { return kFunctions[index]; }

std::uint32_t function_index(const Function& function) {
    return static_cast<std::uint32_t>(&function - kFunctions.data());
}

std::string names_of(FunctionSet set) {
    std::string names;
    for (const Function& function : kFunctions) {
        if ((function.bit & set) == 0) continue;
        names += names.empty() ? "" : ", ";
        names += function.name;
    }
    return names;
}

}  // namespace pinnace::expr
