// SPDX-License-Identifier: Apache-2.0
#include "shm/untrusted.h"

#include <array>

namespace pinnace::shm {

namespace {

constexpr std::array<const char*, 17> kTexts = {
    "no violation",
    "a frame of an unknown type",
    "a frame with impossible flags",
    "a frame larger than the ring allows",
    "padding that does not end with the lap",
    "fragments that do not fit together",
    "a batch larger than the limit",
    "a message larger than the limit",
    "an impossible commit word",
    "an impossible cursor",
    "an unknown verb or flag",
    "a list of acknowledgments that is too long",
    "an acknowledgment that refers to a publish that cannot be",
    "a pin over too many slots",
    "a delivery that points outside of the log",
    "a malformed or unexpected message",
    "an impossible mark",
};

}  // namespace

std::string Violation::text() const {
    const auto index = static_cast<std::size_t>(kind);
    const char* what = index < kTexts.size() ? kTexts[index] : "an unknown violation";
    return std::string(what) + " (at " + std::to_string(where) + ": " + std::to_string(value) + ")";
}

}  // namespace pinnace::shm
