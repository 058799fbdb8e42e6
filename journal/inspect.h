// SPDX-License-Identifier: Apache-2.0
// Looks at a journal that nobody uses, without changing anything: verify checks every byte, dump shows the
// records. Both go on behind damage, which recovery does not.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "journal/error.h"
#include "journal/journal.h"

namespace pinnace::journal {

// Receives lines without their ends.
using PrintLine = std::function<void(std::string_view line)>;

enum class FindingKind : std::uint8_t {
    damage,   // a start would be refused, or records are lost
    torn,     // the torn end that a crash left; a start cuts it
    warning,  // bytes that should be zero, one bad copy of two: nothing is lost
};

struct Finding {
    FindingKind kind = FindingKind::damage;
    std::string file;
    std::uint64_t offset = 0;
    std::string what;
};

struct VerifyResult {
    std::uint64_t segment_count = 0;
    std::uint64_t spare_count = 0;
    std::uint64_t checkpoint_count = 0;  // whole ones
    std::uint64_t batch_count = 0;
    std::uint64_t record_count = 0;
    std::uint64_t byte_count = 0;  // in batches
    std::vector<Finding> findings;
    bool damaged() const;
};

// A line for each finding, then a summary. An error only if the directory cannot be looked at at all.
std::expected<VerifyResult, Error> verify(const std::string& directory, const PrintLine& print);

struct DumpOptions {
    bool batches = true;             // a line for each batch
    std::size_t body_size_max = 64;  // bytes of a body that are shown
    Position first = 0;              // only records of positions first to last
    Position last = UINT64_MAX;
};

std::expected<VerifyResult, Error> dump(const std::string& directory, const DumpOptions& options,
                                        const PrintLine& print);

// "message", "remove", ...; a number for what this version does not know.
std::string kind_name(std::uint16_t kind);

}  // namespace pinnace::journal
