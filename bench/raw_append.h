// SPDX-License-Identifier: Apache-2.0
// RawAppend: what the disk takes for one durable write: 4 KiB after 4 KiB by O_DIRECT and RWF_DSYNC into a
// file that was written out before, as the journal's segments are. The file has no name once it is open.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <expected>
#include <memory>
#include <string>

namespace pinnace::bench {

class RawAppend {
 public:
    static std::expected<RawAppend, std::string> create(const std::string& path);
    RawAppend(RawAppend&& other) noexcept;
    RawAppend& operator=(RawAppend&&) = delete;
    ~RawAppend();

    bool append(std::string& why);
    // False: this file system takes no O_DIRECT; the writes go through the page cache.
    bool is_direct() const { return is_direct_; }

 private:
    static constexpr std::uint64_t kBlock = 4096;
    static constexpr std::uint64_t kFileSize = 16u << 20;
    struct Free {
        void operator()(void* memory) const { std::free(memory); }
    };
    RawAppend(int fd, bool is_direct, std::unique_ptr<void, Free> block)
        : fd_(fd), is_direct_(is_direct), block_(std::move(block)) {}

    int fd_;
    bool is_direct_;
    std::unique_ptr<void, Free> block_;
    std::uint64_t offset_ = 0;
};

}  // namespace pinnace::bench
