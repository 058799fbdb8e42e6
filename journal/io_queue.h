// SPDX-License-Identifier: Apache-2.0
// Writes that are done when all their bytes are: continues short ones, tries again what passes, and gives
// every request exactly one outcome. The same for all backends.
//
// 1. A slot has at most one request; its token carries a generation, so that a late result of a former
// request is
//    recognised, counted and ignored.
// 2. A short write goes on at the last whole block before its end, as a new write with the same durability.
// 3. Nothing is tried for ever: kTriesMax errors that pass, or two writes of nothing in a row, are an error.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "journal/io.h"

namespace pinnace::journal {

struct IoDone {
    std::uint32_t slot = 0;
    int os_error = 0;  // 0: all bytes are written, with the durability asked for
};

class IoQueue {
 public:
    static constexpr std::uint32_t kTriesMax = 100;

    IoQueue(JournalIo& io, std::uint32_t slot_count, std::uint32_t block_size)
        : io_(io), block_size_(block_size), slots_(slot_count), results_(slot_count * 2) {}

    void write(std::uint32_t slot, Files::Handle file, std::uint64_t offset, std::span<const std::byte> bytes,
               bool dsync);
    void sync(std::uint32_t slot, Files::Handle file);
    // Outcomes that are there.
    std::span<const IoDone> poll();
    bool busy() const { return busy_count_ > 0; }
    void wait(std::int64_t timeout_ns) { io_.wait(timeout_ns); }

    std::uint64_t retry_count() const { return retry_count_; }
    std::uint64_t stale_count() const { return stale_count_; }

 private:
    struct Slot {
        IoRequest request;
        std::uint32_t generation = 0;
        std::uint32_t tries = 0;
        std::uint32_t empty_writes = 0;
        bool busy = false;
        bool submitted = false;
    };

    void begin(std::uint32_t slot, const IoRequest& request);
    void submit_waiting();
    void judge(const IoResult& result);
    void finish(std::uint32_t slot, int os_error);

    JournalIo& io_;
    std::uint32_t block_size_;
    std::vector<Slot> slots_;
    std::vector<IoResult> results_;
    std::vector<IoDone> done_;
    std::uint32_t busy_count_ = 0;
    std::uint64_t retry_count_ = 0;
    std::uint64_t stale_count_ = 0;
};

}  // namespace pinnace::journal
