// SPDX-License-Identifier: Apache-2.0
// The backend for where io_uring is not allowed: a few threads that call pwritev2. Requests and results pass
// under a mutex; the writer looks at a counter before it takes it, so that polling costs nothing.
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "journal/io.h"

namespace pinnace::journal {
namespace {

class PwriteIo final : public JournalIo {
 public:
    PwriteIo(std::uint32_t depth, std::string_view why)
        : name_(why.empty() ? "pwritev2" : "pwritev2 (" + std::string(why) + ")"), depth_(depth) {}

    ~PwriteIo() override {
        {
            const std::lock_guard lock(mutex_);
            ending_ = true;
        }
        requested_.notify_all();
        for (std::thread& thread : threads_) thread.join();
    }

    std::expected<void, int> start() override {
        for (std::uint32_t i = 0; i < depth_; ++i) threads_.emplace_back([this] { run(); });
        return {};
    }

    bool submit(const IoRequest& request) override {
        if (in_flight_ >= depth_) return false;
        ++in_flight_;
        {
            const std::lock_guard lock(mutex_);
            requests_.push_back(request);
        }
        requested_.notify_one();
        return true;
    }

    std::size_t poll(std::span<IoResult> results) override {
        if (result_count_.load(std::memory_order_acquire) == 0) return 0;  // pair: pwrite results
        const std::lock_guard lock(mutex_);
        std::size_t count = 0;
        while (count < results.size() && !results_.empty()) {
            results[count++] = results_.front();
            results_.pop_front();
        }
        in_flight_ -= static_cast<std::uint32_t>(count);
        result_count_.store(results_.size(), std::memory_order_release);  // pair: pwrite results
        return count;
    }

    void wait(std::int64_t timeout_ns) override {
        std::unique_lock lock(mutex_);
        if (in_flight_ == 0) return;
        finished_.wait_for(lock, std::chrono::nanoseconds(timeout_ns), [this] { return !results_.empty(); });
    }

    std::string_view name() const override { return name_; }

 private:
    static std::int32_t perform(const IoRequest& request) {
        if (request.sync) return ::fdatasync(request.file) < 0 ? -errno : 0;
        const iovec part{const_cast<std::byte*>(request.bytes.data()), request.bytes.size()};
        const ssize_t result = ::pwritev2(request.file, &part, 1, static_cast<off_t>(request.offset),
                                          request.dsync ? RWF_DSYNC : 0);
        return result < 0 ? -errno : static_cast<std::int32_t>(result);
    }

    void run() {
        std::unique_lock lock(mutex_);
        while (true) {
            requested_.wait(lock, [this] { return ending_ || !requests_.empty(); });
            if (requests_.empty()) return;
            const IoRequest request = requests_.front();
            requests_.pop_front();
            lock.unlock();
            const IoResult result{request.token, perform(request)};
            lock.lock();
            results_.push_back(result);
            result_count_.store(results_.size(), std::memory_order_release);  // pair: pwrite results
            finished_.notify_one();
        }
    }

    std::string name_;
    std::uint32_t depth_;
    std::uint32_t in_flight_ = 0;  // of the calling thread alone
    std::vector<std::thread> threads_;
    std::mutex mutex_;
    std::condition_variable requested_;
    std::condition_variable finished_;
    std::deque<IoRequest> requests_;
    std::deque<IoResult> results_;
    std::atomic<std::size_t> result_count_{0};
    bool ending_ = false;
};

}  // namespace

std::unique_ptr<JournalIo> make_pwrite_io(std::uint32_t depth, std::string_view why) {
    return std::make_unique<PwriteIo>(depth, why);
}

}  // namespace pinnace::journal
