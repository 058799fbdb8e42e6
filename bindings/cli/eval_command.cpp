// SPDX-License-Identifier: Apache-2.0
// pinnace eval EXPRESSION [FILE]: what an expression gives for messages, a line of JSON for each.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include "bindings/cli/command.h"
#include "bindings/config/configuration.h"
#include "core/expr/convert.h"
#include "core/expr/expression.h"
#include "core/expr/reader.h"

namespace pinnace::cli {
namespace {

struct Options {
    std::string expression;
    std::string path = "-";
    std::string type = "json";
    std::string config;
    bool whole = false;
};

// The message type by its name: of the configuration, or a built-in one.
expr::MessageType find_type(const Options& options) {
    if (!options.config.empty()) {
        const auto loaded = config::load(options.config);
        if (!loaded) throw CommandError{loaded.error()};
        if (loaded->has_errors()) {
            fmt::print(stderr, "{}", loaded->text(options.config, false));
            throw CommandError{fmt::format("{}: it has errors", options.config)};
        }
        const auto& types = loaded->configuration.definitions.message_types;
        const auto found = std::ranges::find(types, options.type, &expr::MessageType::name);
        if (found != types.end()) return *found;
    }
    if (!expr::is_built_in_format(options.type)) {
        throw CommandError{
            fmt::format("--type {}: no such message type; struct and composite types come from --config",
                        options.type),
            kWrongUsage};
    }
    expr::MessageType type;
    type.name = type.format = options.type;
    return type;
}

class Evaluation {
 public:
    Evaluation(const expr::Expression& expression, expr::MessageReader& reader)
        : expression_(expression), reader_(reader) {
        expression_.bind(fields_);
    }
    void message(std::string_view body) {
        reader_.read(std::as_bytes(std::span(body)), fields_, values_);
        context_.facts.size = body.size();
        context_.facts.now_ns =
            std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
        fmt::print("{}\n", expr::json_of(expression_.eval(values_, context_)));
    }

 private:
    expr::Expression expression_;
    expr::MessageReader& reader_;
    expr::FieldSet fields_;
    expr::FieldValues values_;
    expr::EvalContext context_;
};

// Each line without its end, or all of it.
void each_message(std::FILE* file, bool whole, Evaluation& evaluation) {
    std::string text;
    char buffer[65'536];
    while (const std::size_t size = std::fread(buffer, 1, sizeof(buffer), file)) {
        text.append(buffer, size);
        if (whole) continue;
        std::size_t begin = 0;
        for (std::size_t end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
            const bool carriage = end > begin && text[end - 1] == '\r';
            evaluation.message(std::string_view(text).substr(begin, end - begin - (carriage ? 1 : 0)));
        }
        text.erase(0, begin);
    }
    if (whole || !text.empty()) evaluation.message(text);
}

int evaluate(const Options& options) {
    auto reader = expr::make_reader(find_type(options));
    if (!reader) throw CommandError{reader.error()};
    const auto expression = expr::Expression::compile(options.expression);
    if (!expression) {
        // With the text and a mark under the place, in lines of their own.
        fmt::print(stderr, "{}\n", expression.error().text);
        throw CommandError{"the expression does not compile"};
    }
    if (!expression->fields().empty() && !(*reader)->has_fields())
        throw CommandError{fmt::format("messages of type {} have no fields", options.type)};
    const auto close = [](std::FILE* file) {
        if (file != stdin) std::fclose(file);
    };
    const std::unique_ptr<std::FILE, decltype(close)> file(
        options.path == "-" ? stdin : std::fopen(options.path.c_str(), "rb"));
    if (!file) throw CommandError{fmt::format("{}: {}", options.path, std::strerror(errno))};
    Evaluation evaluation(*expression, **reader);
    each_message(file.get(), options.whole, evaluation);
    if (std::ferror(file.get()) != 0)
        throw CommandError{fmt::format("{}: {}", options.path, std::strerror(errno))};
    if ((*reader)->malformed_count() != 0)
        fmt::print(stderr,
                   "pinnace eval: messages that are not well-formed, so that all their fields are NULL: {}\n",
                   (*reader)->malformed_count());
    return kDone;
}

std::function<int()> declare(CLI::App& app) {
    auto options = std::make_shared<Options>();
    app.add_option("EXPRESSION", options->expression, "the expression or filter")->required();
    app.add_option("FILE", options->path, "messages, a line each; - is standard input")
        ->capture_default_str();
    app.add_option("--type", options->type, "the messages' type")->type_name("T")->capture_default_str();
    app.add_option("--config", options->config, "a configuration that defines the type")->type_name("FILE");
    app.add_flag("--whole", options->whole, "all of FILE is one message");
    return [options] { return evaluate(*options); };
}

const Registration kRegistration({"eval", "tries an expression on messages", declare, {}});

}  // namespace
}  // namespace pinnace::cli
