// SPDX-License-Identifier: Apache-2.0
// How the journal thread writes without waiting: one interface, several backends, the same results (one suite
// of tests runs on all). Backends report raw results; io_queue.h deals with short writes and with errors that
// pass.
//
// 1. One thread calls, from start() on. The number of requests under way is at most `depth`.
// 2. Requests are not ordered among each other; the writer waits where order matters.
// 3. The bytes of a request stay untouched until its result was polled, whatever happens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "journal/files.h"
#include "journal/journal.h"

namespace pinnace::journal {

struct IoRequest {
    Files::Handle file = -1;
    std::uint64_t token = 0;  // comes back with the result
    bool sync = false;        // fdatasync of the file; the rest does not count
    bool dsync = false;       // the write is durable when it is done (RWF_DSYNC)
    std::uint64_t offset = 0;
    std::span<const std::byte> bytes;
};

struct IoResult {
    std::uint64_t token = 0;
    std::int32_t result = 0;  // bytes written, or minus errno
};

class JournalIo {
 public:
    virtual ~JournalIo() = default;
    // In the thread that will call the rest.
    virtual std::expected<void, int> start() = 0;
    // False: not now; a result must be polled first, or it must be tried again.
    virtual bool submit(const IoRequest& request) = 0;
    // Results that are there; does not wait.
    virtual std::size_t poll(std::span<IoResult> results) = 0;
    // Waits until there may be a result, at most this long.
    virtual void wait(std::int64_t timeout_ns) = 0;
    // "io_uring", or "pwritev2 (why)".
    virtual std::string_view name() const = 0;
};

// Results of these errno values pass: the request is tried again, a bounded number of times.
bool passes(int os_error);

// Ring of io_uring. `held` is a file that stays referenced until all requests have ended, even after a kill:
// the lock.
std::expected<std::unique_ptr<JournalIo>, int> make_uring_io(std::uint32_t depth, Files::Handle held);
// `depth` threads with pwritev2. `why` stands in the name.
std::unique_ptr<JournalIo> make_pwrite_io(std::uint32_t depth, std::string_view why);
// As the choice and the environment say; automatic falls back to pwritev2.
std::expected<std::unique_ptr<JournalIo>, Error> make_io(IoChoice choice, std::uint32_t depth,
                                                         Files::Handle held);

}  // namespace pinnace::journal
