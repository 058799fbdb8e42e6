// SPDX-License-Identifier: Apache-2.0
#include "journal/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/stat.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "journal/format.h"

namespace pinnace::journal {
namespace {

constexpr std::size_t kZeroPieceSize = 1u << 20;
constexpr std::align_val_t kBlockAlignment{kBlockSizeMax};
#ifndef FALLOC_FL_WRITE_ZEROES
#define FALLOC_FL_WRITE_ZEROES 0x80
#endif

std::expected<void, int> checked(int result) {
    if (result < 0) return std::unexpected(errno);
    return {};
}

// What the file system asks of direct access (STATX_DIOALIGN, by the raw call: older headers lack the
// fields).
std::uint32_t direct_block_size(int directory) {
    struct stat status{};
    std::uint32_t size = kBlockSizeMin;
    if (::fstat(directory, &status) == 0 && status.st_blksize > 0) {
        size = std::max(size, static_cast<std::uint32_t>(status.st_blksize));
    }
    // A file system may recommend very large blocks; more than our limit is only a recommendation.
    return size <= kBlockSizeMax && (size & (size - 1)) == 0 ? size : kBlockSizeMin;
}

class DirectoryFiles final : public Files {
 public:
    DirectoryFiles(std::string path, int directory)
        : path_(std::move(path)), directory_(directory), block_size_(direct_block_size(directory)) {}
    ~DirectoryFiles() override { ::close(directory_); }

    std::expected<std::vector<std::string>, int> list() override {
        const int copy = ::openat(directory_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (copy < 0) return std::unexpected(errno);
        DIR* stream = ::fdopendir(copy);
        if (stream == nullptr) {
            const int error = errno;
            ::close(copy);
            return std::unexpected(error);
        }
        std::vector<std::string> names;
        errno = 0;
        while (const dirent* entry = ::readdir(stream)) {
            const std::string_view name = entry->d_name;
            if (name != "." && name != "..") names.emplace_back(name);
        }
        const int error = errno;
        ::closedir(stream);
        if (error != 0) return std::unexpected(error);
        std::sort(names.begin(), names.end());
        return names;
    }

    std::expected<Handle, int> open(const std::string& name, Access access) override {
        if (access == Access::direct) return open_direct(name, O_RDWR);
        const int file = ::openat(directory_, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (file < 0) return std::unexpected(errno);
        ::posix_fadvise(file, 0, 0, POSIX_FADV_SEQUENTIAL);
        return file;
    }

    std::expected<Handle, int> create(const std::string& name) override {
        return open_direct(name, O_RDWR | O_CREAT | O_EXCL);
    }

    void close(Handle file) override { ::close(file); }

    std::expected<std::uint64_t, int> size(Handle file) override {
        struct stat status{};
        if (::fstat(file, &status) < 0) return std::unexpected(errno);
        if (!S_ISREG(status.st_mode)) return std::unexpected(EINVAL);
        return static_cast<std::uint64_t>(status.st_size);
    }

    std::expected<std::size_t, int> read(Handle file, std::uint64_t offset,
                                         std::span<std::byte> to) override {
        std::size_t done = 0;
        while (done < to.size()) {
            const ssize_t result =
                ::pread(file, to.data() + done, to.size() - done, static_cast<off_t>(offset + done));
            if (result < 0 && errno == EINTR) continue;
            if (result < 0) return std::unexpected(errno);
            if (result == 0) break;
            done += static_cast<std::size_t>(result);
        }
        return done;
    }

    std::expected<void, int> write(Handle file, std::uint64_t offset,
                                   std::span<const std::byte> from) override {
        std::size_t done = 0;
        while (done < from.size()) {
            const ssize_t result =
                ::pwrite(file, from.data() + done, from.size() - done, static_cast<off_t>(offset + done));
            if (result < 0 && errno == EINTR) continue;
            if (result < 0) return std::unexpected(errno);
            if (result == 0) return std::unexpected(EIO);
            // Direct access goes on at a whole block.
            const std::size_t end = done + static_cast<std::size_t>(result);
            const std::size_t whole = end == from.size() ? end : end / kBlockSizeMin * kBlockSizeMin;
            if (whole == done) return std::unexpected(EIO);
            done = whole;
        }
        return {};
    }

    std::expected<void, int> fill_with_zeros(Handle file, std::uint64_t size, const Pace& pace) override {
        // Extents must be written, not only reserved: else each first write is a journal commit of the file
        // system.
        if (!pace && ::fallocate(file, FALLOC_FL_WRITE_ZEROES, 0, static_cast<off_t>(size)) == 0) return {};
        if (!pace && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)) return std::unexpected(errno);
        // Reserving first keeps the file in few extents and finds a full disk before the long work.
        if (::fallocate(file, 0, 0, static_cast<off_t>(size)) < 0 && errno != EOPNOTSUPP && errno != EINVAL) {
            return std::unexpected(errno);
        }
        const BlockBuffer zeros(kZeroPieceSize);
        std::memset(zeros.bytes().data(), 0, kZeroPieceSize);
        for (std::uint64_t offset = 0; offset < size; offset += kZeroPieceSize) {
            if (pace) pace(offset);
            const std::size_t piece =
                static_cast<std::size_t>(std::min<std::uint64_t>(kZeroPieceSize, size - offset));
            if (const auto written = write(file, offset, zeros.bytes().first(piece)); !written)
                return written;
        }
        return {};
    }

    std::expected<void, int> reserve(Handle file, std::uint64_t size) override {
        if (::fallocate(file, 0, 0, static_cast<off_t>(size)) == 0) return {};
        // A file system that cannot do it finds a full disk when it writes.
        if (errno == EOPNOTSUPP) return {};
        return std::unexpected(errno);
    }

    std::expected<void, int> sync(Handle file) override { return checked(::fsync(file)); }

    std::expected<void, int> rename(const std::string& from, const std::string& to) override {
        return checked(::renameat(directory_, from.c_str(), directory_, to.c_str()));
    }

    std::expected<void, int> remove(const std::string& name) override {
        return checked(::unlinkat(directory_, name.c_str(), 0));
    }

    std::expected<void, int> sync_directory() override { return checked(::fsync(directory_)); }

    std::uint32_t block_size() const override { return block_size_; }
    std::string path(std::string_view name) const override { return path_ + "/" + std::string(name); }

 private:
    std::expected<Handle, int> open_direct(const std::string& name, int flags) {
        const int common = flags | O_CLOEXEC | O_NOFOLLOW;
        int file = ::openat(directory_, name.c_str(), common | O_DIRECT, 0600);
        // Some file systems know no direct access: the same bytes then go through the page cache.
        if (file < 0 && errno == EINVAL) file = ::openat(directory_, name.c_str(), common & ~O_EXCL, 0600);
        if (file < 0) return std::unexpected(errno);
        return file;
    }

    std::string path_;
    int directory_;
    std::uint32_t block_size_;
};

}  // namespace

std::expected<std::unique_ptr<Files>, int> open_directory(const std::string& path) {
    if (::mkdir(path.c_str(), 0700) < 0 && errno != EEXIST) return std::unexpected(errno);
    return open_existing_directory(path);
}

std::expected<std::unique_ptr<Files>, int> open_existing_directory(const std::string& path) {
    const int directory = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) return std::unexpected(errno);
    return std::make_unique<DirectoryFiles>(path, directory);
}

BlockBuffer::BlockBuffer(std::size_t size)
    : data_(static_cast<std::byte*>(::operator new(size, kBlockAlignment))), size_(size) {}

void BlockBuffer::Free::operator()(std::byte* data) const { ::operator delete(data, kBlockAlignment); }

}  // namespace pinnace::journal
