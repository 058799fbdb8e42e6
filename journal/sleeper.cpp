// SPDX-License-Identifier: Apache-2.0
#include "journal/sleeper.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace pinnace::journal {

static_assert(sizeof(std::atomic<std::uint32_t>) == 4 && std::atomic<std::uint32_t>::is_always_lock_free);

void Sleeper::wake_asleep() { ::syscall(SYS_futex, &count_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0); }

void Sleeper::wait(std::uint32_t count, std::int64_t timeout_ns) {
    const timespec timeout{timeout_ns / 1'000'000'000, timeout_ns % 1'000'000'000};
    ::syscall(SYS_futex, &count_, FUTEX_WAIT_PRIVATE, count, timeout_ns < 0 ? nullptr : &timeout, nullptr, 0);
}

}  // namespace pinnace::journal
