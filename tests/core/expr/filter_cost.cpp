// SPDX-License-Identifier: Apache-2.0
// What a filter of three terms costs: run it under callgrind, or let it measure time.
//
//     filter_cost FILE.jsonl [rounds]     prints ns a message: one validating parse, the same and the filter
//     valgrind --tool=callgrind --toggle-collect='measured_filter*' filter_cost FILE.jsonl 1
//
// The three kinds are measured_parse, measured_filter (json) and measured_struct.
#include <simdjson.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "core/expr/expression.h"
#include "core/expr/reader.h"

namespace pinnace::expr {
namespace {

constexpr const char* kJsonFilter = "/type = 'l2update' AND /product_id = 'BAND-GBP' AND /time > '2021'";
constexpr const char* kStructFilter = "/px > 50.5 AND /qty >= 100 AND /sym = 'ABC'";

struct Filter {
    Filter(const char* text, const MessageType& type)
        : expression(*Expression::compile(text)), reader(*make_reader(type)) {
        expression.bind(fields);
    }
    Expression expression;
    std::unique_ptr<MessageReader> reader;
    FieldSet fields;
    FieldValues values;
    EvalContext context;

    bool matches(std::span<const std::byte> body) {
        reader->read(body, fields, values);
        return expression.matches(values, context);
    }
};

}  // namespace

__attribute__((noinline)) std::size_t measured_parse(simdjson::dom::parser& parser, const char* body,
                                                     std::size_t size) {
    return parser.parse(body, size, false).error() == simdjson::SUCCESS ? 1 : 0;
}

__attribute__((noinline)) std::size_t measured_filter(Filter& filter, std::span<const std::byte> body) {
    return filter.matches(body) ? 1 : 0;
}

// Not the same code as above, or the two would be one function.
__attribute__((noinline)) std::size_t measured_struct(Filter& filter, std::span<const std::byte> body) {
    return filter.matches(body) ? 2 : 0;
}

namespace {

template <class Work>
void run(const char* name, std::size_t count, int rounds, Work work) {
    double best = 1e300;
    std::size_t result = 0;
    for (int round = 0; round < rounds; ++round) {
        const auto begin = std::chrono::steady_clock::now();
        result = 0;
        for (std::size_t i = 0; i < count; ++i) result += work(i);
        const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - begin;
        best = std::min(best, time.count() / static_cast<double>(count));
    }
    std::printf("%-10s %8.1f ns a message, %zu of %zu\n", name, best, result, count);
}

}  // namespace

int main_of(int argc, char** argv) {
    if (argc < 2) return 2;
    const int rounds = argc > 2 ? std::atoi(argv[2]) : 5;
    std::ifstream file(argv[1]);
    std::vector<simdjson::padded_string> lines;
    for (std::string line; std::getline(file, line);) lines.emplace_back(line);
    const auto body = [&](std::size_t i) {
        return std::as_bytes(std::span(lines[i].data(), lines[i].size()));
    };

    simdjson::dom::parser parser;
    Filter json(kJsonFilter, {});
    // The first run of each grows its memory.
    for (std::size_t i = 0; i < lines.size(); ++i) {
        (void)parser.parse(lines[i].data(), lines[i].size(), false).error();
        json.matches(body(i));
    }
    run("parse", lines.size(), rounds,
        [&](std::size_t i) { return measured_parse(parser, lines[i].data(), lines[i].size()); });
    run("json", lines.size(), rounds, [&](std::size_t i) { return measured_filter(json, body(i)); });

    Filter fixed(kStructFilter,
                 {.format = "struct", .layout = {"/px = <d", "/qty = q", "/id = Q", "/sym = 8s"}});
    struct Trade {
        double px = 60;
        std::int64_t qty = 500;
        std::uint64_t id = 7;
        char sym[8] = {'A', 'B', 'C', 0, 0, 0, 0, 0};
    };
    const std::vector<Trade> orders(lines.size());
    fixed.matches(std::as_bytes(std::span(&orders[0], 1)));
    run("struct", orders.size(), rounds,
        [&](std::size_t i) { return measured_struct(fixed, std::as_bytes(std::span(&orders[i], 1))); });
    return 0;
}

}  // namespace pinnace::expr

int main(int argc, char** argv) { return pinnace::expr::main_of(argc, argv); }
