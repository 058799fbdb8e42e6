// SPDX-License-Identifier: Apache-2.0
// The io_uring backend: one ring, made disabled and enabled by the thread that uses it, so that it can be the
// single issuer. With DEFER_TASKRUN completions are handled only when that thread asks for them, which poll()
// does.
#include <fcntl.h>
#include <liburing.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "core/check.h"
#include "journal/io.h"

namespace pinnace::journal {
namespace {

class UringIo final : public JournalIo {
 public:
    explicit UringIo(std::uint32_t depth) : depth_(depth) {}
    ~UringIo() override {
        if (!made_) return;
        // Buffers must not be freed under requests that still run.
        while (in_flight_ > 0) {
            io_uring_cqe* entry = nullptr;
            if (io_uring_sq_ready(&ring_) > 0 && io_uring_submit(&ring_) < 0) break;
            if (io_uring_wait_cqe(&ring_, &entry) < 0) break;
            io_uring_cqe_seen(&ring_, entry);
            --in_flight_;
        }
        io_uring_queue_exit(&ring_);
    }

    int make(Files::Handle held) {
        // From the best to what every kernel with io_uring knows.
        constexpr std::array<unsigned, 3> kFlags = {
            IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_SUBMIT_ALL,
            IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_COOP_TASKRUN, 0};
        int error = 0;
        for (const unsigned flags : kFlags) {
            error = io_uring_queue_init(depth_ * 2, &ring_, flags | IORING_SETUP_R_DISABLED);
            if (error != -EINVAL) break;
        }
        if (error < 0) return -error;
        made_ = true;
        deferred_ = (ring_.flags & IORING_SETUP_DEFER_TASKRUN) != 0;
        if (held >= 0) io_uring_register_files(&ring_, &held, 1);
        return 0;
    }

    std::expected<void, int> start() override {
        // By hand, since liburing 2.3 declares the function but does not export it.
        if (::syscall(__NR_io_uring_register, ring_.ring_fd, IORING_REGISTER_ENABLE_RINGS, nullptr, 0) < 0) {
            return std::unexpected(errno);
        }
        return {};
    }

    bool submit(const IoRequest& request) override {
        if (in_flight_ >= depth_) return false;
        io_uring_sqe* entry = io_uring_get_sqe(&ring_);
        if (entry == nullptr) return false;
        if (request.sync) {
            io_uring_prep_fsync(entry, request.file, IORING_FSYNC_DATASYNC);
        } else {
            io_uring_prep_write(entry, request.file, request.bytes.data(),
                                static_cast<unsigned>(request.bytes.size()), request.offset);
            entry->rw_flags = request.dsync ? RWF_DSYNC : 0;
        }
        entry->user_data = request.token;
        ++in_flight_;
        // A submit that was not taken whole is taken by the next one; poll() submits as well.
        io_uring_submit(&ring_);
        return true;
    }

    std::size_t poll(std::span<IoResult> results) override {
        if (in_flight_ == 0) return 0;
        if (io_uring_sq_ready(&ring_) > 0) io_uring_submit(&ring_);
        std::size_t count = take(results);
        if (count == 0 && deferred_) {
            io_uring_get_events(&ring_);
            count = take(results);
        }
        return count;
    }

    void wait(std::int64_t timeout_ns) override {
        if (in_flight_ == 0) return;
        __kernel_timespec timeout{.tv_sec = timeout_ns / 1'000'000'000,
                                  .tv_nsec = timeout_ns % 1'000'000'000};
        io_uring_cqe* entry = nullptr;
        // What it says is found again by poll().
        io_uring_wait_cqe_timeout(&ring_, &entry, &timeout);
    }

    std::string_view name() const override { return "io_uring"; }

 private:
    std::size_t take(std::span<IoResult> results) {
        std::size_t count = 0;
        io_uring_cqe* entry = nullptr;
        while (count < results.size() && io_uring_peek_cqe(&ring_, &entry) == 0) {
            results[count++] = {entry->user_data, entry->res};
            io_uring_cqe_seen(&ring_, entry);
            PINNACE_CHECK(in_flight_ > 0);
            --in_flight_;
        }
        return count;
    }

    io_uring ring_{};
    bool made_ = false;
    bool deferred_ = false;
    std::uint32_t depth_;
    std::uint32_t in_flight_ = 0;
};

}  // namespace

std::expected<std::unique_ptr<JournalIo>, int> make_uring_io(std::uint32_t depth, Files::Handle held) {
    auto io = std::make_unique<UringIo>(depth);
    if (const int error = io->make(held); error != 0) return std::unexpected(error);
    return io;
}

}  // namespace pinnace::journal
