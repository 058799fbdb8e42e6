// SPDX-License-Identifier: Apache-2.0
// Any text as a configuration: it is read, or refused with places inside of the text. A good one is written,
// reads back without an error, and is written the same again.
#include <cstdint>
#include <string>
#include <string_view>

#include "bindings/config/configuration.h"
#include "core/check.h"

namespace pinnace::config {
namespace {

std::optional<std::string> environment(std::string_view name) {
    if (name == "A") return "<Queue>${A}";
    return std::nullopt;
}

void run(std::string_view text) {
    const Loaded loaded = parse(text, environment);
    for (const Problem& problem : loaded.problems) {
        PINNACE_CHECK(problem.place.line >= 1 && problem.place.column >= 1);
        PINNACE_CHECK(problem.place.line <= text.size() + 1 && problem.place.column <= text.size() + 1);
        PINNACE_CHECK(!problem.text.empty());
    }
    if (loaded.has_errors()) return;
    const std::string written = write(loaded.configuration);
    const Loaded again = parse(written, environment);
    PINNACE_CHECK(!again.has_errors());
    PINNACE_CHECK(write(again.configuration) == written);
}

}  // namespace
}  // namespace pinnace::config

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    pinnace::config::run({reinterpret_cast<const char*>(data), size});
    return 0;
}
