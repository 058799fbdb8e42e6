// SPDX-License-Identifier: Apache-2.0
#include "shm/memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

// Newer than some C libraries that we build with.
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MFD_HUGE_2MB
#define MFD_HUGE_2MB (21U << 26)
#endif

namespace pinnace::shm {

namespace {

constexpr std::uint64_t kHugePageSize = 2u << 20;
constexpr std::uint64_t kSizeMax = std::uint64_t{1}
                                   << 46;  // nothing of ours; keeps sums of sizes from wrapping
constexpr int kSealsBefore = F_SEAL_SHRINK | F_SEAL_GROW;
constexpr int kSealsForGood = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;

std::uint64_t round_up_to(std::uint64_t size, std::uint64_t unit) { return (size + unit - 1) / unit * unit; }

// A kernel that does not know a flag refuses the whole call: drop that flag only, never the sealing.
int memfd_create_known(const char* name, unsigned flags) {
    const int fd = memfd_create(name, flags | MFD_NOEXEC_SEAL);
    if (fd >= 0 || errno != EINVAL) return fd;
    return memfd_create(name, flags);
}

// memfds live on a mount of the kernel's own, so this knob decides, not the one of /dev/shm.
bool has_transparent_huge_pages() {
    std::ifstream file("/sys/kernel/mm/transparent_hugepage/shmem_enabled");
    std::string word;
    while (file >> word) {
        if (word == "[always]" || word == "[within_size]" || word == "[advise]" || word == "[force]")
            return true;
    }
    return false;
}

// What the machine could still give, in bytes. Asked before anything is backed: fallocate() takes pages until
// there are none, and then it is not this process alone that suffers.
std::uint64_t available_memory() {
    std::ifstream file("/proc/meminfo");
    std::string word;
    while (file >> word) {
        std::uint64_t kilobytes = 0;
        if (word == "MemAvailable:" && file >> kilobytes) return kilobytes * 1024;
    }
    return UINT64_MAX;
}

std::expected<Memfd, std::string> try_memfd(const char* name, std::uint64_t size, unsigned flags,
                                            MemoryRung rung) {
    Memfd memfd;
    memfd.fd = Fd(memfd_create_known(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | flags));
    if (!memfd.fd) return std::unexpected(errno_text("memfd_create"));
    memfd.size = round_up_to(size, (flags & MFD_HUGETLB) != 0 ? kHugePageSize : 4096);
    memfd.rung = rung;
    const int fd = memfd.fd.get();
    if (ftruncate(fd, static_cast<off_t>(memfd.size)) != 0) return std::unexpected(errno_text("ftruncate"));
    int result = 0;
    do {
        result = fallocate(fd, 0, 0, static_cast<off_t>(memfd.size));
    } while (result != 0 && errno == EINTR);
    if (result != 0) return std::unexpected(errno_text("fallocate"));
    if (fchmod(fd, 0400) != 0) return std::unexpected(errno_text("fchmod"));
    if (fcntl(fd, F_ADD_SEALS, kSealsBefore) != 0) return std::unexpected(errno_text("F_ADD_SEALS"));
    return memfd;
}

}  // namespace

std::string errno_text(const char* what) {
    return std::string(what) + ": " + std::generic_category().message(errno);
}

void Fd::reset() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

const char* to_text(MemoryRung rung) {
    switch (rung) {
        case MemoryRung::huge_pages:
            return "huge pages";
        case MemoryRung::transparent_huge_pages:
            return "transparent huge pages";
        case MemoryRung::small_pages:
            break;
    }
    return "small pages";
}

std::expected<Memfd, std::string> create_memfd(const char* name, std::uint64_t size,
                                               const MemoryOptions& options) {
    if (options.huge_pages && size >= kHugePageSize && size <= kSizeMax) {
        auto memfd = try_memfd(name, size, MFD_HUGETLB | MFD_HUGE_2MB, MemoryRung::huge_pages);
        if (memfd) return memfd;
    }
    if (size > std::min(available_memory(), kSizeMax)) {
        return std::unexpected("cannot have " + std::to_string(size) + " bytes of shared memory for " + name +
                               ": more than the machine has left");
    }
    const bool is_transparent = options.huge_pages && size >= kHugePageSize && has_transparent_huge_pages();
    auto memfd = try_memfd(name, size, 0,
                           is_transparent ? MemoryRung::transparent_huge_pages : MemoryRung::small_pages);
    if (!memfd) {
        return std::unexpected("cannot have " + std::to_string(size) + " bytes of shared memory for " + name +
                               ": " + memfd.error());
    }
    return memfd;
}

std::expected<void, std::string> seal_for_good(const Fd& fd) {
    if (fcntl(fd.get(), F_ADD_SEALS, kSealsForGood) != 0) return std::unexpected(errno_text("F_ADD_SEALS"));
    const int seals = fcntl(fd.get(), F_GET_SEALS);
    if (seals < 0) return std::unexpected(errno_text("F_GET_SEALS"));
    if ((seals & kSealsForGood) != kSealsForGood) return std::unexpected("the seals did not hold");
    return {};
}

std::expected<FileIdentity, std::string> identify(const Fd& fd) {
    struct stat status = {};
    if (fstat(fd.get(), &status) != 0) return std::unexpected(errno_text("fstat"));
    if (!S_ISREG(status.st_mode)) return std::unexpected("not a region of memory");
    return FileIdentity{status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size)};
}

std::expected<void, std::string> check_sealed(const Fd& fd, std::uint64_t size, bool for_good) {
    const int wanted = for_good ? kSealsForGood : kSealsBefore;
    const int seals = fcntl(fd.get(), F_GET_SEALS);  // fails for everything that is not a memfd
    if (seals < 0) return std::unexpected("not a region of memory");
    if ((seals & wanted) != wanted) return std::unexpected("a region without its seals");
    const auto file = identify(fd);
    if (!file) return std::unexpected(file.error());
    if (file->size < size) return std::unexpected("a region that is smaller than agreed");
    return {};
}

Mapping::~Mapping() {
    if (data_ != nullptr) munmap(data_, size_);
}

std::expected<Mapping, std::string> Mapping::map(const Fd& fd, std::uint64_t size, Access access) {
    const auto file = identify(fd);
    if (!file) return std::unexpected(file.error());
    if (file->size < size || size == 0) return std::unexpected("a region that is smaller than agreed");
    Mapping mapping;
    // The whole file: a mapping of huge pages can only be undone in whole huge pages.
    const int protection = access == Access::read_write ? PROT_READ | PROT_WRITE : PROT_READ;
    void* data = mmap(nullptr, file->size, protection, MAP_SHARED, fd.get(), 0);
    if (data == MAP_FAILED) return std::unexpected(errno_text("mmap"));
    mapping.data_ = static_cast<std::byte*>(data);
    mapping.size_ = file->size;
    return mapping;
}

std::expected<void, std::string> Mapping::populate(Access access, bool lock) {
    const int advice = access == Access::read_write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;
    int result = 0;
    do {
        result = madvise(data_, size_, advice);
    } while (result != 0 && (errno == EINTR || errno == EAGAIN));
    if (result != 0 && errno == EINVAL) {
        // A kernel before 5.14: fallocate has backed the file; touch it, so that at least no fault comes
        // later.
        for (std::uint64_t at = 0; at < size_; at += 4096) {
            static_cast<void>(*static_cast<volatile const std::byte*>(data_ + at));
        }
    } else if (result != 0) {
        return std::unexpected(errno_text("madvise(populate)"));
    }
    is_locked_ = lock && mlock(data_, size_) == 0;
    return {};
}

void Mapping::hide() {
    madvise(data_, size_, MADV_DONTDUMP);
    madvise(data_, size_, MADV_DONTFORK);
}

void Mapping::advise_huge() { madvise(data_, size_, MADV_HUGEPAGE); }

}  // namespace pinnace::shm
