// SPDX-License-Identifier: Apache-2.0
// FormerLife: the clients that an engine had when it died, from the journal's session records, and how
// long the next engine waits for them (C4): until each has come back or is dead, at the latest until the
// grace is over.
//
// A client is known by its ring's key, which survives adoption. Threads: made before the threads start;
// then control's, but for over(), which any thread may ask.
#pragma once

#include <atomic>
#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <string>

#include "core/record.h"

namespace pinnace::daemon {

// Which process a pid names: pids are given out again, start times tell.
struct ProcessIdentity {
    std::int32_t pid = 0;
    std::uint32_t reserved = 0;
    std::uint64_t start_time = 0;  // in clock ticks since boot, field 22 of /proc/PID/stat; 0: not visible
};
static_assert(sizeof(ProcessIdentity) == 16);

ProcessIdentity identify_process(std::int32_t pid);

// A session's beginning or end as a record of the journal.
RecordHeader session_record(std::uint64_t key, bool begins, Time now);

class FormerLife {
 public:
    // Recovery: session records in order; `stop` records empty the list.
    std::expected<void, std::string> apply(const RecordView& record);

    // Recovery begins anew.
    void forget() { missing_.clear(); }

    explicit FormerLife(std::int64_t grace_ns) : grace_ns_(grace_ns) {}

    // The threads start: waits from now on, unless nobody is missing (an orderly stop leaves nobody).
    void wait_from(std::int64_t now_ns);
    // The client with this key is back.
    void is_back(std::uint64_t key);
    // Looks which of the missing are dead, and at the time. Control thread.
    void check(std::int64_t now_ns);
    bool over() const { return over_->load(std::memory_order_acquire); }  // pair: former life over

 private:
    void end() { over_->store(true, std::memory_order_release); }  // pair: former life over

    std::map<std::uint64_t, ProcessIdentity> missing_;
    std::int64_t grace_ns_;
    std::int64_t deadline_ns_ = 0;
    std::unique_ptr<std::atomic<bool>> over_ = std::make_unique<std::atomic<bool>>(false);
};

}  // namespace pinnace::daemon
