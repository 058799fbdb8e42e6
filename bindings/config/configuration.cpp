// SPDX-License-Identifier: Apache-2.0
#include "bindings/config/configuration.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "bindings/config/reader.h"

namespace pinnace::config {
namespace {

constexpr std::size_t kFileSizeMax = 16u << 20;

}  // namespace

bool Loaded::has_errors() const { return std::ranges::any_of(problems, &Problem::is_error); }

std::string Loaded::text(std::string_view file, bool with_warnings) const {
    std::string text;
    for (const Problem& problem : problems)
        if (problem.is_error || with_warnings) text += to_text(problem, file) + "\n";
    return text;
}

Loaded parse(std::string_view text, const Environment& environment) {
    Loaded loaded;
    Document document(text, environment);
    Reader(document, loaded.configuration).read();
    loaded.problems = document.take_problems();
    return loaded;
}

std::expected<Loaded, std::string> load(const std::string& path) {
    const auto close = [](std::FILE* file) { std::fclose(file); };
    const std::unique_ptr<std::FILE, decltype(close)> file(std::fopen(path.c_str(), "rb"), close);
    if (!file) return std::unexpected(fmt::format("{}: {}", path, std::strerror(errno)));
    std::string text;
    char buffer[16'384];
    std::size_t size = 0;
    while ((size = std::fread(buffer, 1, sizeof(buffer), file.get())) > 0 && text.size() <= kFileSizeMax)
        text.append(buffer, size);
    if (std::ferror(file.get()) != 0)
        return std::unexpected(fmt::format("{}: {}", path, std::strerror(errno)));
    if (text.size() > kFileSizeMax)
        return std::unexpected(fmt::format("{}: larger than 16 MiB; is it a configuration?", path));
    return parse(text);
}

EngineOptions engine_options(const Configuration& configuration) {
    EngineOptions options = configuration.engine;
    options.definitions = configuration.definitions;
    return options;
}

}  // namespace pinnace::config
