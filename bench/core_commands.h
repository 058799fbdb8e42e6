// SPDX-License-Identifier: Apache-2.0
// The subcommands of `pinnace bench` that measure the core alone, without an engine.
#pragma once

#include <CLI/App.hpp>
#include <functional>

namespace pinnace::cli {

std::function<int()> declare_depth(CLI::App& app);
std::function<int()> declare_filter(CLI::App& app);

}  // namespace pinnace::cli
