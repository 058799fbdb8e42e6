// SPDX-License-Identifier: Apache-2.0
// The thread that makes checkpoints: what the last one holds and the segments that ended since, folded
// (rule 21).
//
// 1. Only segments that ended are folded: all in them is durable, and the next one's header proves it. So a
//    checkpoint is never ahead of the journal.
// 2. One is made when the segments since the last one hold as much as it does: what is written for
//    checkpoints is then in proportion to what is written for messages, and what a start reads to what is
//    queued. Or when many segments ended since, however little is in them.
// 3. The newest two are kept, and each was read back before the one before the last went.
// 4. A segment goes when the segments take more than the retention (S6), two checkpoints reach its end, and
//    no message needs a body in it. The oldest one goes first, so that none is missing between two.
// 5. The next one is written into space that was reserved ahead, so that a full disk does not stop it.
//
// Ordering: `journal roll` (rolled -> run).
#pragma once

#include <atomic>
#include <cstdint>
#include <expected>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "core/fold.h"
#include "journal/checkpoint.h"
#include "journal/environment.h"
#include "journal/recovery.h"
#include "journal/sleeper.h"

namespace pinnace::journal {

struct CheckpointerOptions {
    Fold::DedupWindow dedup_window;
    std::uint64_t byte_count_min = 0;     // of batches in segments that ended since the last one
    std::uint64_t segment_count_max = 8;  // that ended since; more are worth one in any case
    std::uint64_t reserve_size_min = 4u << 20;
    std::uint64_t retention = UINT64_MAX;   // bytes of segments that are kept though nobody needs them
    std::int64_t retry_ns = 1'000'000'000;  // after an error
    std::function<void()> on_start;
};

class Checkpointer {
 public:
    // `found` by recovery. `first_segment`: the first one that is there; `active`: the one in use.
    Checkpointer(Files& files, Environment& environment, CheckpointerOptions options, FoundCheckpoints found,
                 std::uint64_t first_segment, std::uint64_t active);
    ~Checkpointer() { stop(); }
    Checkpointer(const Checkpointer&) = delete;
    Checkpointer& operator=(const Checkpointer&) = delete;

    void start();
    void stop();
    // The journal goes on in this segment. The journal thread.
    void rolled(std::uint64_t active) {
        active_.store(active, std::memory_order_release);  // pair: journal roll
        sleeper_.wake();
    }

    // Makes one if it is worth it; false: it is not. What the thread does in a loop.
    std::expected<bool, Error> step();

    // Any thread: the newest one and the latest error, if the latest try failed.
    std::optional<CheckpointHeader> newest() const;
    std::optional<Error> error() const;

 private:
    void run();
    std::expected<std::vector<FoundSegment>, Error> gather() const;
    bool worth_it(const std::vector<FoundSegment>& segments) const;
    std::expected<CheckpointHeader, Error> make(const Survey& survey);
    std::expected<void, Error> drop_old();
    std::expected<void, Error> keep_reserve();
    std::expected<void, Error> release_segments();

    Files& files_;
    Environment& environment_;
    CheckpointerOptions options_;
    FoundCheckpoints known_;            // the thread's
    std::uint64_t first_segment_;       // not in a checkpoint yet
    std::uint64_t oldest_segment_;      // that is there
    std::uint64_t needed_segment_ = 0;  // the oldest one with a body that is needed; 0: not known yet
    std::atomic<std::uint64_t> active_;
    std::atomic<bool> ending_{false};
    Sleeper sleeper_;
    std::thread thread_;
    mutable std::mutex mutex_;
    std::optional<CheckpointHeader> newest_;
    std::optional<Error> error_;
};

}  // namespace pinnace::journal
