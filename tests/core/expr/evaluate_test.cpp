// SPDX-License-Identifier: Apache-2.0
// Programs against a model: random expressions, evaluated by the machine and by a plain recursion over the
// same tree; and what an evaluation may not do: allocate, or run for ever.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "core/expr/convert.h"
#include "core/expr/expression.h"
#include "core/expr/number.h"
#include "core/expr/reader.h"
#include "tests/support/allocation_watch.h"

namespace pinnace::expr {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

// An expression as text and, beside it, its value by the rules of the language's page.
struct Modelled {
    std::string text;
    Value value;
};

class Model {
 public:
    explicit Model(std::uint64_t seed) : random_(seed) {
        for (std::size_t i = 0; i < fields_.size(); ++i)
            fields_[i] = leaf_values()[pick(leaf_values().size())];
    }

    std::string message() {
        std::string json = "{";
        for (std::size_t i = 0; i < fields_.size(); ++i) {
            json += (i == 0 ? "\"f" : ",\"f") + std::to_string(i) + "\":" + json_of(fields_[i]);
        }
        return json + "}";
    }

    Modelled make(int depth) {
        if (depth == 0 || pick(6) == 0) return leaf();
        switch (pick(5)) {
            case 0:
                return logic(depth, true);
            case 1:
                return logic(depth, false);
            case 2: {
                const Modelled inner = make(depth - 1);
                const Value truth = truth_of(inner.value);
                return {"NOT (" + inner.text + ")",
                        truth.is_null() ? truth : Value::boolean(!truth.is_true())};
            }
            case 3:
                return comparison(depth);
            default:
                return list(depth);
        }
    }

 private:
    static const std::vector<Value>& leaf_values() {
        static const std::vector<Value> values = {
            Value(),           Value::boolean(true), Value::boolean(false),
            Value::integer(0), Value::integer(1),    Value::integer(2),
            Value::real(1.5),  Value::text("1"),     Value::text("x")};
        return values;
    }

    std::size_t pick(std::size_t count) { return random_() % count; }

    Modelled leaf() {
        if (pick(2) == 0) {
            const std::size_t field = pick(fields_.size());
            return {"/f" + std::to_string(field), fields_[field]};
        }
        const Value& value = leaf_values()[pick(leaf_values().size())];
        return {value.is_text() ? "'" + std::string(value.as_text()) + "'" : json_of(value), value};
    }

    Modelled logic(int depth, bool is_and) {
        const Modelled left = make(depth - 1);
        const Modelled right = make(depth - 1);
        const Value a = truth_of(left.value);
        const Value b = truth_of(right.value);
        const auto decides = [is_and](const Value& value) {
            return is_and ? value.is_false() : value.is_true();
        };
        Value value = Value::boolean(is_and);
        if (decides(a) || decides(b))
            value = Value::boolean(!is_and);
        else if (a.is_null() || b.is_null())
            value = Value();
        // Sometimes without parentheses where the order of binding allows it.
        const bool is_bare = is_and ? false : pick(2) == 0;
        const std::string sign = is_and ? " AND " : " OR ";
        if (is_bare && left.text.find(" OR ") == std::string::npos)
            return {left.text + sign + "(" + right.text + ")", value};
        return {"(" + left.text + ")" + sign + "(" + right.text + ")", value};
    }

    Modelled comparison(int depth) {
        static constexpr std::array<std::pair<const char*, Comparison>, 6> kSigns = {
            {{" = ", Comparison::equal},
             {" <> ", Comparison::not_equal},
             {" < ", Comparison::less},
             {" <= ", Comparison::less_equal},
             {" > ", Comparison::greater},
             {" >= ", Comparison::greater_equal}}};
        const auto [sign, comparison] = kSigns[pick(kSigns.size())];
        const bool is_simple = pick(3) != 0;
        const Modelled left = is_simple ? leaf() : make(depth - 1);
        const Modelled right = is_simple ? leaf() : make(depth - 1);
        const Value value = Value::boolean(compare(comparison, left.value, right.value));
        if (is_simple) return {left.text + sign + right.text, value};
        return {"(" + left.text + ")" + sign + "(" + right.text + ")", value};
    }

    Modelled list(int depth) {
        const Modelled left = make(depth - 1);
        std::string text = "(" + left.text + ") IN (";
        bool is_in = false;
        const std::size_t count = 1 + pick(4);
        for (std::size_t i = 0; i < count; ++i) {
            const Modelled item = leaf();
            text += (i == 0 ? "" : ", ") + item.text;
            is_in = is_in || compare(Comparison::equal, left.value, item.value);
        }
        return {text + ")", Value::boolean(is_in)};
    }

    std::mt19937_64 random_;
    std::array<Value, 4> fields_;
};

TEST(Evaluation, RandomExpressionsGiveWhatTheModelSays) {
    auto reader = make_reader({});
    ASSERT_TRUE(reader);
    FieldValues values;
    EvalContext context;
    for (std::uint64_t seed = 0; seed < 20'000; ++seed) {
        Model model(seed);
        const Modelled wanted = model.make(4);
        auto expression = Expression::compile(wanted.text);
        ASSERT_TRUE(expression) << wanted.text << "\n" << expression.error().text;
        FieldSet fields;
        expression->bind(fields);
        const std::string message = model.message();
        ASSERT_TRUE((*reader)->read(bytes_of(message), fields, values));
        ASSERT_EQ(json_of(expression->eval(values, context)), json_of(wanted.value))
            << "seed " << seed << ": " << wanted.text << " on " << message;
        ASSERT_EQ(expression->matches(values, context), truth_of(wanted.value).is_true())
            << "seed " << seed << ": " << wanted.text << " on " << message;
    }
}

// Conjunctions have a form of their own beside the machine: all pairs of kinds, all comparisons.
TEST(Evaluation, AConjunctionMatchesWhenTheMachineSaysTrue) {
    const std::array<std::string, 12> values = {
        "1",     "2",     "-1",     "1.0",           "1.5",  "9223372036854775807",
        "\"1\"", "\"a\"", "\"ab\"", "\"abcdefghi\"", "null", "[1,\"a\"]"};
    const std::array<std::string, 11> literals = {
        "1", "2", "1.0", "1.5", "'1'", "'a'", "'ab'", "'b'", "TRUE", "9223372036854775807", "'abcdefghj'"};
    auto reader = make_reader({});
    FieldValues read;
    EvalContext context;
    for (const std::string& literal : literals) {
        for (const char* sign : {"=", "<>", "<", "<=", ">", ">="}) {
            const std::string term = "/a " + std::string(sign) + " " + literal;
            FieldSet fields;
            auto one = Expression::compile(term);
            auto two = Expression::compile("/b = 1 AND " + term + " AND /b < 2");
            one->bind(fields);
            two->bind(fields);
            for (const std::string& value : values) {
                const std::string message = "{\"a\":" + value + ",\"b\":1}";
                ASSERT_TRUE((*reader)->read(bytes_of(message), fields, read));
                const bool wanted = one->eval(read, context).is_true();
                EXPECT_EQ(one->matches(read, context), wanted) << term << " on " << message;
                EXPECT_EQ(two->matches(read, context), wanted) << term << " on " << message;
            }
        }
    }
}

constexpr std::array kAllocationFree = {
    "/px > 50 AND /sym = 'ABC' AND /qty >= 100",
    "/px * /qty / 3 + 1 > 5 OR /note LIKE '(?i)urgent'",
    "CONCAT(/sym, ':', /px, ':', /tags) = 'x'",
    "UPPER(REPLACE(/note, 'a', 'bb')) BEGINS WITH ('X', /sym)",
    "REGEXP_REPLACE(/note, '(\\w+) (\\w+)', '$2 $1') = 'a'",
    "SHA256(/note) = MD5(/sym) OR CRC32(/sym) > 5",
    "STRFTIME('%F %T', STRPTIME(/time, '%FT%T')) = '2026'",
    "ARRAY_SUM(/tags) + ARRAY_MAX(/legs/qty) > GREATEST(/px, /qty)",
    "/legs/qty IN (1, /px, 3) AND /legs[1]/qty BETWEEN 1 AND 9",
    "TOPIC_NAME() = 'x' OR BOOKMARK() LIKE '^7' OR UNIX_TIMESTAMP() > 5",
};

TEST(Evaluation, AllocatesNothingOnceItHasSeenTheMessages) {
    const std::string message = R"({"sym":"ABC","px":10.5,"qty":100,"note":"an urgent note on a matter",)"
                                R"("time":"2026-11-30T15:00:00",)"
                                R"("tags":[1,2,"3"],"legs":[{"qty":5},{"qty":"6"}]})";
    auto reader = make_reader({});
    FieldSet fields;
    FieldValues values;
    EvalContext context;
    std::vector<Expression> expressions;
    for (const char* text : kAllocationFree) {
        auto compiled = Expression::compile(text);
        ASSERT_TRUE(compiled) << text << "\n" << compiled.error().text;
        compiled->bind(fields);
        expressions.push_back(*compiled);
    }
    const auto run = [&] {
        EXPECT_TRUE((*reader)->read(bytes_of(message), fields, values));
        for (const Expression& expression : expressions) expression.matches(values, context);
    };
    run();
    run();
    if (!pinnace::testing::kAllocationsAreCounted) GTEST_SKIP() << "the sanitizer has operator new";
    const long before = pinnace::testing::watched_allocation_count();
    pinnace::testing::watch_allocations(true);
    for (int i = 0; i < 100; ++i) run();
    pinnace::testing::watch_allocations(false);
    EXPECT_EQ(pinnace::testing::watched_allocation_count(), before);
    // The watch itself sees an allocation.
    pinnace::testing::watch_allocations(true);
    delete new std::string(100, 'x');
    pinnace::testing::watch_allocations(false);
    EXPECT_GT(pinnace::testing::watched_allocation_count(), before);
}

TEST(Evaluation, SeveralExpressionsShareOnePassOverTheMessage) {
    auto first = Expression::compile("/a = 1 AND /b = 2");
    auto second = Expression::compile("/b = 2 OR /c = 9");
    auto third = Expression::compile("TRUE");
    FieldSet fields;
    first->bind(fields);
    second->bind(fields);
    third->bind(fields);
    EXPECT_EQ(fields.slot_count(), 3u);
    auto reader = make_reader({});
    FieldValues values;
    EvalContext context;
    (*reader)->read(bytes_of(R"({"c":9,"a":1,"b":3})"), fields, values);
    EXPECT_FALSE(first->matches(values, context));
    EXPECT_TRUE(second->matches(values, context));
    EXPECT_TRUE(third->matches(values, context));
}

TEST(Evaluation, ASetMayGrowBetweenMessages) {
    auto reader = make_reader({});
    FieldSet fields;
    FieldValues values;
    EvalContext context;
    for (int i = 0; i < 300; ++i) {
        const std::string name = "f" + std::to_string(i);
        auto expression = Expression::compile("/x/" + name + " = 7");
        expression->bind(fields);
        const std::string message = "{\"x\":{\"y\":[1,2],\"" + name + "\":7,\"f0\":1,\"" + name + "\":8}}";
        ASSERT_TRUE((*reader)->read(bytes_of(message), fields, values));
        EXPECT_TRUE(expression->matches(values, context)) << i;
    }
}

TEST(Evaluation, APatternWithoutEndIsStoppedAndCounted) {
    auto expression = Expression::compile("/a LIKE '^(a+)+$'");
    FieldSet fields;
    FieldValues values;
    EvalContext context;
    expression->bind(fields);
    auto reader = make_reader({});
    const std::string message = "{\"a\":\"" + std::string(200, 'a') + "b\"}";
    ASSERT_TRUE((*reader)->read(bytes_of(message), fields, values));
    EXPECT_FALSE(expression->matches(values, context));
    EXPECT_EQ(context.counters.match_limit_count, 1u);
}

TEST(Evaluation, ATextThatGrowsWithoutEndIsNullAndCounted) {
    std::string text = "/a";
    for (int i = 0; i < 8; ++i) text = "REPLACE(" + text + ", 'a', 'aaaaaaaaaaaaaaaaaaaa')";
    auto expression = Expression::compile(text);
    FieldSet fields;
    FieldValues values;
    EvalContext context;
    expression->bind(fields);
    auto reader = make_reader({});
    ASSERT_TRUE((*reader)->read(bytes_of("{\"a\":\"aaaa\"}"), fields, values));
    EXPECT_TRUE(expression->eval(values, context).is_null());
    EXPECT_EQ(context.counters.text_limit_count, 1u);
}

TEST(Evaluation, ResultsOfTextFunctionsLiveUntilTheNextEvaluation) {
    auto expression = Expression::compile("CONCAT(/a, '-', /b)");
    FieldSet fields;
    FieldValues values;
    EvalContext context;
    expression->bind(fields);
    auto reader = make_reader({});
    for (const std::size_t size : {1u, 100u, 5'000u, 100'000u, 10u}) {
        const std::string part(size, 'x');
        const std::string message = "{\"a\":\"" + part + "\",\"b\":7}";
        ASSERT_TRUE((*reader)->read(bytes_of(message), fields, values));
        EXPECT_EQ(expression->eval(values, context).as_text(), part + "-7");
    }
}

}  // namespace
}  // namespace pinnace::expr
