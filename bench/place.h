// SPDX-License-Identifier: Apache-2.0
// Place: which cores a benchmark's threads run on, and what machine that is.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace pinnace::bench {

// Where the two busy sides run. `shared`: they had to get one core, which makes every figure one of the
// scheduler.
struct Place {
    unsigned client = 0;
    unsigned dispatcher = 0;
    bool shared() const { return client == dispatcher; }
};

// OS indexes of the cores that this process may use.
std::vector<unsigned> allowed_cores();

// From "CLIENT,DISPATCHER", or, if that is empty, the dispatcher where the engine puts it, on the last
// allowed core that the disk under `data_directory` (empty: under $TMPDIR) leaves alone, and the client on
// the first of the others. A named core that cannot be had is an error.
std::expected<Place, std::string> choose_place(std::string_view cpus, const std::string& data_directory = "");

// Binds the calling thread; false: it may not run there.
bool pin_this_thread(unsigned core);

// One line about the machine, to stand above the figures.
std::string environment();

}  // namespace pinnace::bench
