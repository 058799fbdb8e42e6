// SPDX-License-Identifier: Apache-2.0
// Lines on stdout that are known to have been written before anything is made of it.
#pragma once

#include <cstdio>
#include <string_view>

#include "bindings/cli/command.h"

namespace pinnace::cli {

inline void put_line(std::string_view line) {
    std::fwrite(line.data(), 1, line.size(), stdout);
    std::fputc('\n', stdout);
}

// Throws if it could not be written.
inline void flush_output() {
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
        throw CommandError{"the output could not be written"};
}

}  // namespace pinnace::cli
