// SPDX-License-Identifier: Apache-2.0
#include "journal/spares.h"

#include <chrono>

namespace pinnace::journal {

Spares::Spares(Files& files, Environment& environment, const SparesOptions& options, std::deque<Spare> ready)
    : files_(files),
      environment_(environment),
      options_(options),
      ready_(std::move(ready)),
      next_segment_number_(options.next_segment_number) {
    ready_count_.store(ready_.size(), std::memory_order_relaxed);  // relaxed: no other thread yet
}

Spares::~Spares() {
    stop();
    for (const Spare& spare : ready_) files_.close(spare.file);
}

void Spares::start() {
    thread_ = std::thread([this] { run(); });
}

void Spares::stop() {
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
}

std::optional<Spare> Spares::take() {
    // Relaxed: only spares the lock while there is nothing.
    if (ready_count_.load(std::memory_order_relaxed) == 0) return std::nullopt;
    std::optional<Spare> spare;
    {
        const std::lock_guard lock(mutex_);
        spare = ready_.front();
        ready_.pop_front();
        ready_count_.store(ready_.size(), std::memory_order_relaxed);  // relaxed: see above
    }
    changed_.notify_all();
    return spare;
}

// Relaxed in both: states to show and to act on soon, nothing else is read because of them.
bool Spares::out_of_space() const {
    return out_of_space_.load(std::memory_order_relaxed) && ready_count() == 0;
}
std::uint64_t Spares::ready_count() const { return ready_count_.load(std::memory_order_relaxed); }

std::optional<Error> Spares::error() const {
    const std::lock_guard lock(mutex_);
    return error_;
}

bool Spares::prepare_one() {
    {
        const std::lock_guard lock(mutex_);
        if (ready_.size() >= options_.spare_count) return false;
    }
    double seen = -1;
    SegmentPlan plan{.uuid = options_.uuid,
                     .segment_number = next_segment_number_,
                     .capacity = options_.capacity,
                     .block_size = options_.block_size,
                     .incarnation = options_.incarnation,
                     .epoch = environment_.random(),
                     .wall_time = environment_.clocks().wall_time,
                     .pace = {}};
    if (options_.fill) {
        plan.pace = [this, &seen](std::uint64_t done) {
            keep_pace(static_cast<double>(done) / static_cast<double>(options_.capacity), seen);
        };
    }
    auto header = prepare_segment(files_, plan);
    std::optional<Error> error;
    Files::Handle file = -1;
    if (!header) {
        error = header.error();
    } else if (const auto opened = files_.open(segment_name(plan.segment_number), Access::direct)) {
        file = *opened;
    } else {
        error = file_error(files_, segment_name(plan.segment_number), "cannot be opened", opened.error());
    }
    // Relaxed: see out_of_space().
    out_of_space_.store(error && error->kind == ErrorKind::no_space, std::memory_order_relaxed);
    const std::lock_guard lock(mutex_);
    error_ = error;
    if (error) return false;
    ++next_segment_number_;
    ready_.push_back({*header, file});
    ready_count_.store(ready_.size(), std::memory_order_relaxed);  // relaxed: see take()
    return true;
}

// `done` of this spare; `seen`: of the segment in use, when it was looked at last.
void Spares::keep_pace(double done, double& seen) {
    constexpr auto kRest = std::chrono::milliseconds(10);
    std::unique_lock lock(mutex_);
    while (!ending_) {
        const double fill = options_.fill();
        const double wanted = 2 * fill - 0.8;  // begun at two fifths, done at nine tenths
        if (done <= wanted) return;
        if (fill == seen) return;  // the writer rests
        seen = fill;
        changed_.wait_for(lock, kRest, [this] { return ending_; });
    }
}

void Spares::run() {
    if (options_.on_start) options_.on_start();
    while (true) {
        const bool made = prepare_one();
        std::unique_lock lock(mutex_);
        if (ending_) return;
        if (made) continue;
        const auto wanted = [this] { return ending_ || ready_.size() < options_.spare_count; };
        if (error_) {
            // Space may come back without any word to us.
            changed_.wait_for(lock, std::chrono::nanoseconds(options_.retry_ns), [this] { return ending_; });
        } else {
            changed_.wait(lock, wanted);
        }
        if (ending_) return;
    }
}

}  // namespace pinnace::journal
