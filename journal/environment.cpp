// SPDX-License-Identifier: Apache-2.0
#include "journal/environment.h"

#include <fcntl.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "core/check.h"

namespace pinnace::journal {
namespace {

std::int64_t read_clock(clockid_t clock) {
    timespec time{};
    ::clock_gettime(clock, &time);
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// FNV-1a of the kernel's boot id; 0 where there is none, which matches no boot.
std::uint64_t read_boot_id_hash() {
    const int file = ::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    char text[64];
    const ssize_t size = ::read(file, text, sizeof text);
    ::close(file);
    std::uint64_t hash = 0xcbf2'9ce4'8422'2325;
    for (ssize_t i = 0; i < size; ++i) hash = (hash ^ static_cast<std::uint8_t>(text[i])) * 0x100'0000'01b3;
    return size > 0 ? hash : 0;
}

class RealEnvironment final : public Environment {
 public:
    TimeStamp clocks() override {
        return {0, read_clock(CLOCK_BOOTTIME), boot_id_hash_, read_clock(CLOCK_REALTIME)};
    }
    std::int64_t monotonic_ns() override { return read_clock(CLOCK_MONOTONIC); }
    std::uint64_t random() override {
        std::uint64_t value = 0;
        PINNACE_CHECK(::getrandom(&value, sizeof value, 0) == sizeof value);
        return value;
    }

 private:
    std::uint64_t boot_id_hash_ = read_boot_id_hash();
};

}  // namespace

Environment& real_environment() {
    static RealEnvironment environment;
    return environment;
}

TimeStamp read_clocks() { return real_environment().clocks(); }

ContinuedTime continue_time(const TimeStamp& last, const TimeStamp& now) {
    ContinuedTime result;
    if (last.engine_time == 0) {
        result.now = now.wall_time;  // a new journal begins at the wall clock
        return result;
    }
    result.same_boot = last.boot_id_hash != 0 && last.boot_id_hash == now.boot_id_hash;
    const std::int64_t elapsed =
        result.same_boot ? now.boot_time - last.boot_time : now.wall_time - last.wall_time;
    result.elapsed_ns = std::max<std::int64_t>(elapsed, 0);
    result.now = last.engine_time + result.elapsed_ns;
    return result;
}

}  // namespace pinnace::journal
