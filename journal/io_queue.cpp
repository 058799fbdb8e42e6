// SPDX-License-Identifier: Apache-2.0
#include "journal/io_queue.h"

#include <cerrno>

#include "core/check.h"

namespace pinnace::journal {

void IoQueue::write(std::uint32_t slot, Files::Handle file, std::uint64_t offset,
                    std::span<const std::byte> bytes, bool dsync) {
    begin(slot, IoRequest{file, 0, false, dsync, offset, bytes});
}

void IoQueue::sync(std::uint32_t slot, Files::Handle file) {
    begin(slot, IoRequest{file, 0, true, false, 0, {}});
}

void IoQueue::begin(std::uint32_t slot, const IoRequest& request) {
    Slot& entry = slots_[slot];
    PINNACE_CHECK(!entry.busy);
    const std::uint32_t generation = entry.generation + 1;
    entry = Slot{request, generation, 0, 0, true, false};
    entry.request.token = (std::uint64_t{generation} << 32) | slot;
    ++busy_count_;
    entry.submitted = io_.submit(entry.request);
}

void IoQueue::submit_waiting() {
    for (Slot& slot : slots_) {
        if (slot.busy && !slot.submitted) slot.submitted = io_.submit(slot.request);
    }
}

std::span<const IoDone> IoQueue::poll() {
    done_.clear();
    if (busy_count_ == 0) return done_;
    const std::size_t count = io_.poll(results_);
    for (std::size_t i = 0; i < count; ++i) judge(results_[i]);
    if (busy_count_ > 0) submit_waiting();
    return done_;
}

void IoQueue::judge(const IoResult& result) {
    const auto number = static_cast<std::uint32_t>(result.token);
    const auto generation = static_cast<std::uint32_t>(result.token >> 32);
    if (number >= slots_.size() || !slots_[number].busy || !slots_[number].submitted ||
        slots_[number].generation != generation) {
        ++stale_count_;
        return;
    }
    Slot& slot = slots_[number];
    slot.submitted = false;
    if (result.result < 0) {
        const int error = -result.result;
        if (!passes(error) || ++slot.tries > kTriesMax) return finish(number, error);
        ++retry_count_;
        return;
    }
    if (slot.request.sync) return finish(number, 0);
    const auto written = static_cast<std::size_t>(result.result);
    if (written > slot.request.bytes.size()) return finish(number, EIO);
    if (written == slot.request.bytes.size()) return finish(number, 0);
    if (written == 0 && ++slot.empty_writes > 1) return finish(number, EIO);
    if (written > 0) slot.empty_writes = 0;
    // Less than a block counts as a try, so that a disk that takes nothing whole does not keep us for ever.
    const std::size_t whole = written / block_size_ * block_size_;
    if (whole == 0 && ++slot.tries > kTriesMax) return finish(number, EIO);
    slot.request.offset += whole;
    slot.request.bytes = slot.request.bytes.subspan(whole);
    ++retry_count_;
}

void IoQueue::finish(std::uint32_t slot, int os_error) {
    slots_[slot].busy = false;
    --busy_count_;
    done_.push_back({slot, os_error});
}

}  // namespace pinnace::journal
