// SPDX-License-Identifier: Apache-2.0
#include "bench/raw_append.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

namespace pinnace::bench {

std::expected<RawAppend, std::string> RawAppend::create(const std::string& path) {
    const auto failure = [&](const char* what) {
        return std::unexpected(fmt::format("{}: {}: {}", path, what, std::strerror(errno)));
    };
    const int plain = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (plain < 0) return failure("cannot be made");
    const std::vector<char> zeros(1u << 20, 0);
    for (std::uint64_t at = 0; at < kFileSize; at += zeros.size()) {
        if (write(plain, zeros.data(), zeros.size()) != static_cast<ssize_t>(zeros.size()))
            return failure("cannot be written");
    }
    if (fsync(plain) != 0) return failure("cannot be synced");
    const int direct = open(path.c_str(), O_WRONLY | O_DIRECT | O_CLOEXEC);
    unlink(path.c_str());
    if (direct >= 0) close(plain);
    void* block = nullptr;
    if (posix_memalign(&block, kBlock, kBlock) != 0) return failure("no memory");
    std::memset(block, 'r', kBlock);
    return RawAppend(direct >= 0 ? direct : plain, direct >= 0, std::unique_ptr<void, Free>(block));
}

RawAppend::RawAppend(RawAppend&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      is_direct_(other.is_direct_),
      block_(std::move(other.block_)),
      offset_(other.offset_) {}

RawAppend::~RawAppend() {
    if (fd_ >= 0) close(fd_);
}

bool RawAppend::append(std::string& why) {
    const iovec part{block_.get(), kBlock};
    const ssize_t written = pwritev2(fd_, &part, 1, static_cast<off_t>(offset_), RWF_DSYNC);
    if (written != static_cast<ssize_t>(kBlock)) {
        why = fmt::format("a raw append failed: {}", std::strerror(errno));
        return false;
    }
    offset_ = (offset_ + kBlock) % kFileSize;
    return true;
}

}  // namespace pinnace::bench
