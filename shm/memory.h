// SPDX-License-Identifier: Apache-2.0
// Memory that two processes share: descriptors, memfds, seals and mappings, each failure as an error, never
// SIGBUS.
//
// A memfd is made sized and fully backed (ENOSPC comes back here), sealed against shrinking and growing
// before it leaves the process, and sealed against further writing mappings once its one writer has mapped it
// (architecture rule 2). Nothing has a name, so nothing is left after a crash.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <utility>

namespace pinnace::shm {

// A file descriptor that is closed at the end of its owner's life.
class Fd {
 public:
    Fd() = default;
    explicit Fd(int fd) : fd_(fd) {}
    Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Fd& operator=(Fd&& other) noexcept {
        Fd(std::move(other)).swap(*this);
        return *this;
    }
    ~Fd() { reset(); }

    int get() const { return fd_; }
    explicit operator bool() const { return fd_ >= 0; }
    int release() { return std::exchange(fd_, -1); }
    void reset();

 private:
    void swap(Fd& other) noexcept { std::swap(fd_, other.fd_); }
    int fd_ = -1;
};

// How a region is backed, best first. Reported by status.
enum class MemoryRung : std::uint8_t { huge_pages, transparent_huge_pages, small_pages };
const char* to_text(MemoryRung rung);

struct MemoryOptions {
    bool huge_pages = true;  // try them for regions of at least 2 MiB
    bool lock = true;        // mlock, best effort
};

struct Memfd {
    Fd fd;
    std::uint64_t size = 0;  // of the file: what was wanted, rounded up to whole pages of its kind
    MemoryRung rung = MemoryRung::small_pages;
};

// Size wanted and reached, with SHRINK and GROW sealed, mode 0400. The name shows in /proc/PID/maps only.
std::expected<Memfd, std::string> create_memfd(const char* name, std::uint64_t size,
                                               const MemoryOptions& options);

// No more writing mappings from now on, nor write(2), nor holes; and no further seals. Verified by reading
// the seals.
std::expected<void, std::string> seal_for_good(const Fd& fd);
// A descriptor from a peer: it must be sealed against shrinking and growing (`for_good`: fully) and have the
// size.
std::expected<void, std::string> check_sealed(const Fd& fd, std::uint64_t size, bool for_good);
// Size of the file behind a descriptor, and what tells it from every other one.
struct FileIdentity {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::uint64_t size = 0;
    auto operator<=>(const FileIdentity&) const = default;
};
std::expected<FileIdentity, std::string> identify(const Fd& fd);

enum class Access : std::uint8_t { read_only, read_write };

class Mapping {
 public:
    Mapping() = default;
    Mapping(Mapping&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
    Mapping& operator=(Mapping&& other) noexcept {
        Mapping moved(std::move(other));
        std::swap(data_, moved.data_);
        std::swap(size_, moved.size_);
        return *this;
    }
    ~Mapping();

    static std::expected<Mapping, std::string> map(const Fd& fd, std::uint64_t size, Access access);
    // Makes every page present, as an error where a touch would have raised SIGBUS; then locks, best effort.
    std::expected<void, std::string> populate(Access access, bool lock);
    // Keeps the content out of core dumps and of forked children (clients).
    void hide();
    // Asks for transparent huge pages, where the region's rung says so.
    void advise_huge();

    std::byte* data() const { return data_; }
    std::uint64_t size() const { return size_; }
    bool is_locked() const { return is_locked_; }
    explicit operator bool() const { return data_ != nullptr; }

 private:
    std::byte* data_ = nullptr;
    std::uint64_t size_ = 0;
    bool is_locked_ = false;
};

// "what: reason of errno"
std::string errno_text(const char* what);

}  // namespace pinnace::shm
