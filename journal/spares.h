// SPDX-License-Identifier: Apache-2.0
// Segments prepared ahead, by a thread of their own: the writer finds the next one ready and never waits for
// the file system (a roll needs neither a rename nor a directory sync).
//
// Zeros and messages share the disk, and a flush waits for both. While the writer writes, a spare is begun
// when
// two fifths of the segment in use are written and done at nine tenths; while it rests, spares are made at
// once.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "journal/environment.h"
#include "journal/segment.h"

namespace pinnace::journal {

// A prepared segment and its open file.
struct Spare {
    SegmentHeader header;
    Files::Handle file = -1;
};

// Where the writer gets its next segment; the simulator has one without a thread.
class SpareSource {
 public:
    // The next segment in order, if it is ready; the caller then owns the file. Never waits for the disk.
    virtual std::optional<Spare> take() = 0;
    // The disk is full, and no spare is ready.
    virtual bool out_of_space() const = 0;
    virtual std::uint64_t ready_count() const = 0;

 protected:
    ~SpareSource() = default;
};

struct SparesOptions {
    Uuid uuid;
    std::uint64_t next_segment_number = 0;  // the first one that has to be made
    std::uint64_t capacity = 0;
    std::uint32_t block_size = kBlockSizeMin;
    std::uint32_t incarnation = 0;
    std::uint32_t spare_count = 2;
    std::int64_t retry_ns = 250'000'000;  // after an error: a full disk, mostly
    std::function<void()> on_start;
    // How much of the segment in use is written, from 0 to 1; empty: a spare is made as fast as it can be.
    std::function<double()> fill;
};

class Spares final : public SpareSource {
 public:
    // `ready` are those that recovery found, in order, just before next_segment_number.
    Spares(Files& files, Environment& environment, const SparesOptions& options, std::deque<Spare> ready);
    ~Spares();
    void start();
    void stop();

    std::optional<Spare> take() override;
    bool out_of_space() const override;
    std::uint64_t ready_count() const override;
    // Prepares one if one is missing; false: nothing to do, or an error. What the thread does in a loop.
    bool prepare_one();
    // The latest error, if the latest try failed.
    std::optional<Error> error() const;

 private:
    void run();
    void keep_pace(double done, double& seen);

    Files& files_;
    Environment& environment_;
    SparesOptions options_;
    std::thread thread_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Spare> ready_;
    std::optional<Error> error_;
    std::uint64_t next_segment_number_;
    bool ending_ = false;
    // Relaxed: a hint for the writer, which looks again.
    std::atomic<std::uint64_t> ready_count_{0};
    std::atomic<bool> out_of_space_{false};
};

}  // namespace pinnace::journal
