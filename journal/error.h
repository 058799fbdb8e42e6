// SPDX-License-Identifier: Apache-2.0
// What the journal says when the world is not as it should be: one sentence for a person, and its parts for
// tests.
#pragma once

#include <cstdint>
#include <string>

namespace pinnace::journal {

enum class ErrorKind : std::uint8_t {
    in_use,      // another engine holds the directory
    foreign,     // a file that is not ours, or of another engine
    damaged,     // bytes that were durable are not what was written (S4)
    newer,       // written by a newer version
    bad_option,  // the caller asked for what cannot be
    no_space,    // ENOSPC, EDQUOT
    io,          // any other error of the system
    refused,     // the caller's sink refused a record
};

struct Error {
    ErrorKind kind = ErrorKind::io;
    std::string text;          // a whole sentence that names file and offset where they matter
    std::string file;          // empty: none
    std::uint64_t offset = 0;  // in `file`
    int os_error = 0;          // errno, 0: none
};

}  // namespace pinnace::journal
