// SPDX-License-Identifier: Apache-2.0
#include "shm/memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace pinnace::shm {
namespace {

// Everything that could take pages away from under a reader or write to it, on one descriptor.
void expect_nothing_works(int fd, std::byte* old_mapping, std::size_t size) {
    EXPECT_EQ(ftruncate(fd, 0), -1);
    EXPECT_EQ(errno, EPERM);
    EXPECT_EQ(ftruncate(fd, static_cast<off_t>(size * 2)), -1);
    EXPECT_EQ(errno, EPERM);
    EXPECT_EQ(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(size)), -1);
    EXPECT_EQ(errno, EPERM);
    EXPECT_EQ(fallocate(fd, 0, 0, static_cast<off_t>(size * 2)), -1);
    EXPECT_EQ(write(fd, "x", 1), -1);
    EXPECT_EQ(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
    EXPECT_EQ(errno, EPERM);
    void* readable = mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
    ASSERT_NE(readable, MAP_FAILED);
    EXPECT_EQ(mprotect(readable, size, PROT_READ | PROT_WRITE), -1);
    EXPECT_NE(madvise(readable, size, MADV_REMOVE), 0);
    munmap(readable, size);
    if (old_mapping != nullptr) {
        EXPECT_NE(madvise(old_mapping, size, MADV_REMOVE), 0);
    }
    EXPECT_EQ(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
    // A descriptor of one's own may be opened anew through /proc: the seals hold there too.
    const std::string path = "/proc/self/fd/" + std::to_string(fd);
    const int again = open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (again >= 0) {
        EXPECT_EQ(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, again, 0), MAP_FAILED);
        EXPECT_EQ(write(again, "x", 1), -1);
        EXPECT_EQ(ftruncate(again, 0), -1);
        close(again);
    }
    EXPECT_EQ(truncate(path.c_str(), 0), -1);
}

class MemoryKinds : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Memory, MemoryKinds, testing::Values(false, true));

TEST_P(MemoryKinds, NothingWorksOnARegionThatIsSealedForGood) {
    const std::uint64_t size = 4u << 20;
    MemoryOptions options;
    options.huge_pages = GetParam();
    auto memfd = create_memfd("pinnace-test", size, options);
    ASSERT_TRUE(memfd.has_value()) << memfd.error();
    if (GetParam() && memfd->rung != MemoryRung::huge_pages) GTEST_SKIP() << "no huge pages on this machine";
    auto mapping = Mapping::map(memfd->fd, size, Access::read_write);
    ASSERT_TRUE(mapping.has_value());
    ASSERT_TRUE(seal_for_good(memfd->fd).has_value());
    ASSERT_TRUE(mapping->populate(Access::read_write, false).has_value());
    mapping->data()[size - 1] = std::byte{1};  // the one writer still writes
    expect_nothing_works(memfd->fd.get(), mapping->data(), size);
    EXPECT_EQ(mapping->data()[size - 1], std::byte{1});
    EXPECT_TRUE(check_sealed(memfd->fd, size, true).has_value());
}

TEST(Memory, ANewRegionIsSizedSealedAndReadableByItsOwnerOnly) {
    const mode_t old = umask(0777);
    MemoryOptions options;
    options.huge_pages = false;
    auto memfd = create_memfd("pinnace-test", 10'000, options);
    umask(old);
    ASSERT_TRUE(memfd.has_value());
    struct stat status = {};
    ASSERT_EQ(fstat(memfd->fd.get(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0400u);
    EXPECT_EQ(status.st_size, 12'288);
    EXPECT_EQ(status.st_blocks * 512, 12'288);  // backed already
    EXPECT_EQ(fcntl(memfd->fd.get(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    EXPECT_TRUE(check_sealed(memfd->fd, 10'000, false).has_value());
    EXPECT_FALSE(check_sealed(memfd->fd, 10'000, true).has_value());
    EXPECT_FALSE(check_sealed(memfd->fd, 20'000, false).has_value());
    EXPECT_EQ(ftruncate(memfd->fd.get(), 0), -1);
}

TEST(Memory, WhatIsNoMemfdIsRefused) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const Fd read_end(ends[0]);
    const Fd write_end(ends[1]);
    EXPECT_FALSE(check_sealed(read_end, 1, false).has_value());
    EXPECT_FALSE(identify(read_end).has_value());
    const Fd zero(open("/dev/zero", O_RDWR | O_CLOEXEC));
    EXPECT_FALSE(check_sealed(zero, 1, false).has_value());
    EXPECT_FALSE(Mapping::map(zero, 4096, Access::read_only).has_value());
    const Fd file(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
    EXPECT_FALSE(check_sealed(file, 1, false).has_value());
    EXPECT_FALSE(check_sealed(Fd(), 1, false).has_value());
}

TEST(Memory, AnUnsealedMemfdIsRefused) {
    const Fd fd(memfd_create("pinnace-test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    ASSERT_EQ(ftruncate(fd.get(), 8192), 0);
    EXPECT_FALSE(check_sealed(fd, 8192, false).has_value());
    ASSERT_EQ(fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
    EXPECT_FALSE(check_sealed(fd, 8192, false).has_value());
    ASSERT_EQ(fcntl(fd.get(), F_ADD_SEALS, F_SEAL_GROW), 0);
    EXPECT_TRUE(check_sealed(fd, 8192, false).has_value());
}

TEST(Memory, TooMuchMemoryIsAnErrorThatSaysHowMuch) {
    MemoryOptions options;
    const auto memfd = create_memfd("pinnace-test", std::uint64_t{1} << 60, options);
    ASSERT_FALSE(memfd.has_value());
    EXPECT_NE(memfd.error().find("1152921504606846976 bytes"), std::string::npos) << memfd.error();
}

TEST(Memory, AHoleThatWasMadeBeforeTheSealIsFilledByPopulate) {
    const Fd fd(memfd_create("pinnace-test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    ASSERT_EQ(ftruncate(fd.get(), 1 << 20), 0);
    ASSERT_EQ(ftruncate(fd.get(), 0), 0);
    ASSERT_EQ(ftruncate(fd.get(), 1 << 20), 0);
    ASSERT_TRUE(seal_for_good(fd).has_value());
    auto mapping = Mapping::map(fd, 1 << 20, Access::read_only);
    ASSERT_TRUE(mapping.has_value());
    ASSERT_TRUE(mapping->populate(Access::read_only, false).has_value());
    struct stat status = {};
    ASSERT_EQ(fstat(fd.get(), &status), 0);
    EXPECT_EQ(status.st_blocks * 512, 1 << 20);
}

TEST(Memory, APrefixOfTheAgreedSizeIsNotMapped) {
    MemoryOptions options;
    auto memfd = create_memfd("pinnace-test", 8192, options);
    ASSERT_TRUE(memfd.has_value());
    EXPECT_FALSE(Mapping::map(memfd->fd, 8193, Access::read_only).has_value());
    EXPECT_TRUE(Mapping::map(memfd->fd, 4096, Access::read_only).has_value());
}

}  // namespace
}  // namespace pinnace::shm
