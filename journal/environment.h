// SPDX-License-Identifier: Apache-2.0
// What the journal takes from the world beside its files: clocks and random numbers, replaceable for
// simulation.
#pragma once

#include <cstdint>

#include "journal/journal.h"

namespace pinnace::journal {

class Environment {
 public:
    virtual ~Environment() = default;
    virtual TimeStamp clocks() = 0;  // engine_time is 0
    virtual std::int64_t monotonic_ns() = 0;
    virtual std::uint64_t random() = 0;
};

Environment& real_environment();

}  // namespace pinnace::journal
