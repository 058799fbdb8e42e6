// SPDX-License-Identifier: Apache-2.0
#include "bench/filter.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>

#include "bench/ticks.h"
#include "core/expr/expression.h"
#include "core/expr/reader.h"

namespace pinnace::bench {

struct CompiledFilter {
    CompiledFilter(expr::Expression compiled, std::unique_ptr<expr::MessageReader> made)
        : expression(std::move(compiled)), reader(std::move(made)) {
        expression.bind(fields);
    }

    expr::Expression expression;
    std::unique_ptr<expr::MessageReader> reader;
    expr::FieldSet fields;
    expr::FieldValues values;
    expr::EvalContext context;
};

[[gnu::noinline]] bool measured_filter(CompiledFilter& filter, std::span<const std::byte> body) {
    filter.reader->read(body, filter.fields, filter.values);
    filter.context.facts.size = body.size();
    return filter.expression.matches(filter.values, filter.context);
}

namespace {

struct Trade {
    double price;
    std::int64_t quantity;
    std::uint64_t id;
    char symbol[8];
};

Trade trade_of(std::size_t index) {
    Trade trade{.price = 40.25 + static_cast<double>(index % 23),
                .quantity = static_cast<std::int64_t>(50 + index % 300),
                .id = 1'000'000 + index,
                .symbol = {}};
    std::memcpy(trade.symbol, index % 3 == 0 ? "BAND-GBP" : "DASH-BTC", sizeof trade.symbol);
    return trade;
}

std::string_view symbol_of(const Trade& trade) { return {trade.symbol, sizeof trade.symbol}; }

template <class Number>
void put_big_endian(std::string& out, Number number) {
    for (std::size_t byte = sizeof number; byte-- > 0;)
        out += static_cast<char>(static_cast<std::uint64_t>(number) >> (8 * byte) & 0xff);
}

std::string json_of(const Trade& trade) {
    return fmt::format(R"({{"type":"l2update","product_id":"{}","changes":[["buy","{}","{}"]],)"
                       R"("time":"2021-05-31T21:44:57.123456Z"}})",
                       symbol_of(trade), trade.price, trade.quantity);
}

std::string msgpack_of(const Trade& trade) {
    std::string out = "\x84\xa5price\xcb";
    put_big_endian(out, std::bit_cast<std::uint64_t>(trade.price));
    out += "\xa8quantity\xcd";
    put_big_endian(out, static_cast<std::uint16_t>(trade.quantity));
    out += "\xa2id\xcf";
    put_big_endian(out, trade.id);
    out += "\xa6symbol";
    out += static_cast<char>(0xa0 + symbol_of(trade).size());
    return out += symbol_of(trade);
}

std::string composite_of(const Trade& trade) {
    const std::string header = json_of(trade);
    std::string out;
    put_big_endian(out, static_cast<std::uint32_t>(header.size()));
    return out + header + std::string(200, '\x7f');
}

std::string message_of(std::string_view type, const Trade& trade) {
    if (type == "json") return json_of(trade);
    if (type == "composite") return composite_of(trade);
    if (type == "msgpack") return msgpack_of(trade);
    if (type == "struct") return {reinterpret_cast<const char*>(&trade), sizeof trade};
    if (type == "fix")
        return fmt::format(
            "8=FIX.4.4\x01"
            "9=120\x01"
            "35=D\x01"
            "34={}\x01"
            "55={}\x01"
            "54=1\x01"
            "38={}\x01"
            "44={}\x01"
            "10=123\x01",
            trade.id, symbol_of(trade), trade.quantity, trade.price);
    if (type == "nvfix")
        return fmt::format("id={}\x01symbol={}\x01side=buy\x01quantity={}\x01price={}\x01", trade.id,
                           symbol_of(trade), trade.quantity, trade.price);
    if (type == "xml")
        return fmt::format(
            "<trade><id>{}</id><symbol>{}</symbol><quantity>{}</quantity><price>{}</price>"
            "</trade>",
            trade.id, symbol_of(trade), trade.quantity, trade.price);
    return std::string(static_cast<std::size_t>(trade.quantity), '\x01');
}

std::string_view filter_of(std::string_view type) {
    if (type == "json" || type == "composite")
        return "/type = 'l2update' AND /product_id = 'BAND-GBP' AND /time > '2021'";
    if (type == "fix") return "/44 > 50.5 AND /38 >= 100 AND /55 = 'BAND-GBP'";
    if (type == "xml") return "/trade/price > 50.5 AND /trade/quantity >= 100 AND /trade/symbol = 'BAND-GBP'";
    if (type == "binary") return "MESSAGE_SIZE() > 60 AND MESSAGE_SIZE() < 300 AND MESSAGE_SIZE() <> 100";
    return "/price > 50.5 AND /quantity >= 100 AND /symbol = 'BAND-GBP'";
}

expr::MessageType type_of(std::string_view type) {
    expr::MessageType result{.name = std::string(type), .format = std::string(type)};
    if (type == "struct") result.layout = {"/price = <d", "/quantity = q", "/id = Q", "/symbol = 8s"};
    return result;
}

// The fastest of the passes so far, in nanoseconds a message.
template <class Work>
double pass(std::size_t count, double best, Work&& work) {
    const std::uint64_t begin = ticks();
    for (std::size_t index = 0; index < count; ++index) work(index);
    return std::min(best, static_cast<double>(to_ns(ticks() - begin)) / static_cast<double>(count));
}

}  // namespace

std::string FilterFigures::to_json() const {
    std::string out = fmt::format(R"({{"type":"{}","messages":{},"matches":{},"ns_per_message":{:.1f})", type,
                                  messages, matches, ns_per_message);
    if (parse_ns != 0)
        out += fmt::format(R"(,"parse_ns":{:.1f},"ratio":{:.2f})", parse_ns, ns_per_message / parse_ns);
    return out + "}";
}

std::string FilterFigures::to_text() const {
    std::string out = fmt::format("{:<10} {:>8.1f} ns a message, {} of {} match {}", type, ns_per_message,
                                  matches, messages, filter);
    if (parse_ns != 0)
        out += fmt::format("\n{:<10} {:>8.1f} ns for simdjson's parse alone: {:.2f} times that", "", parse_ns,
                           ns_per_message / parse_ns);
    return out;
}

std::vector<std::string> filter_messages(std::string_view type, std::size_t count) {
    std::vector<std::string> messages;
    for (std::size_t index = 0; index < count; ++index) messages.push_back(message_of(type, trade_of(index)));
    return messages;
}

std::expected<FilterFigures, std::string> filter(std::string_view type,
                                                 const std::vector<std::string>& messages, int rounds) {
    FilterFigures figures{
        .type = std::string(type), .filter = std::string(filter_of(type)), .messages = messages.size()};
    if (messages.empty()) return std::unexpected("there are no messages");
    auto expression = expr::Expression::compile(figures.filter);
    if (!expression) return std::unexpected(expression.error().text);
    auto reader = expr::make_reader(type_of(type));
    if (!reader) return std::unexpected(reader.error());
    CompiledFilter compiled(std::move(*expression), std::move(*reader));
    std::vector<simdjson::padded_string> bodies;
    for (const std::string& message : messages) bodies.emplace_back(message);
    // A first pass grows the memory of both, and counts.
    simdjson::dom::parser parser;
    const bool is_json = type == "json";
    const auto body = [&](std::size_t index) {
        return std::as_bytes(std::span(bodies[index].data(), bodies[index].size()));
    };
    const auto parse = [&](std::size_t index) {
        return parser.parse(bodies[index].data(), bodies[index].size(), false).error() == simdjson::SUCCESS;
    };
    for (std::size_t index = 0; index < messages.size(); ++index) {
        if (is_json && !parse(index)) return std::unexpected(fmt::format("message {} is no JSON", index + 1));
        figures.matches += measured_filter(compiled, body(index)) ? 1 : 0;
    }
    if (compiled.reader->malformed_count() != 0)
        return std::unexpected(fmt::format("a message is no {}", type));
    constexpr double kNone = std::numeric_limits<double>::max();
    double best = kNone;
    double best_parse = kNone;
    for (int round = 0; round < rounds; ++round) {
        if (is_json) best_parse = pass(messages.size(), best_parse, parse);
        best = pass(messages.size(), best,
                    [&](std::size_t index) { return measured_filter(compiled, body(index)); });
    }
    figures.ns_per_message = best;
    if (is_json) figures.parse_ns = best_parse;
    return figures;
}

}  // namespace pinnace::bench
