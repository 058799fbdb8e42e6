// SPDX-License-Identifier: Apache-2.0
#include "journal/journal.h"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <cstring>
#include <semaphore>
#include <thread>

#include "core/check.h"
#include "journal/checkpointer.h"
#include "journal/io.h"
#include "journal/lock.h"
#include "journal/recovery.h"
#include "journal/sleeper.h"
#include "journal/writer.h"

namespace pinnace::journal {
namespace {

constexpr std::int64_t kBusyYieldNs = 2'000'000;
constexpr std::int64_t kIoWaitNs = 1'000'000;

void nap(std::int64_t ns) {
    const timespec time{ns / 1'000'000'000, ns % 1'000'000'000};
    ::nanosleep(&time, nullptr);
}

Error bad_option(std::string text) { return {ErrorKind::bad_option, std::move(text), {}, 0, 0}; }

const char* to_text(Policy policy) {
    switch (policy) {
        case Policy::group:
            return "group";
        case Policy::interval:
            return "interval";
        case Policy::each:
            return "each";
        case Policy::none:
            return "none";
    }
    return "?";
}

// A step has at most this many bytes of bodies; each other byte of it came through the feed, where it took at
// least half of what it takes in a batch.
std::uint64_t step_size_max(const Options& options, const Feed& feed) {
    return std::uint64_t{options.message_size_max} + 2 * std::uint64_t{feed.byte_count()} + kBlockSizeMax;
}

std::expected<void, Error> check(const Options& options, const Feed& feed, std::uint32_t block_size) {
    if (options.policy != Policy::group) {
        return std::unexpected(bad_option(std::string("The journal's policy ") + to_text(options.policy) +
                                          " is not there yet; group is."));
    }
    if (options.in_flight_max == 0 || options.in_flight_max > 64) {
        return std::unexpected(bad_option("The journal's writes under way must be 1 to 64."));
    }
    if (options.segment_size % block_size != 0 || options.segment_size > kSegmentSizeMax) {
        return std::unexpected(bad_option("The journal's segment size must be a multiple of " +
                                          std::to_string(block_size) + " and below 4 GiB."));
    }
    const std::uint64_t messages = 4 * std::uint64_t{options.message_size_max};
    // Beside the largest step: two header blocks and the seal.
    const std::uint64_t step = step_size_max(options, feed) + 16 * std::uint64_t{block_size};
    if (options.segment_size < std::max(messages, step)) {
        return std::unexpected(bad_option("The journal's segment size must be at least " +
                                          std::to_string(std::max(messages, step)) +
                                          ": four of the largest messages, and the largest step."));
    }
    return {};
}

}  // namespace

const char* to_text(State state) {
    switch (state) {
        case State::running:
            return "running";
        case State::slow:
            return "slow";
        case State::stalled:
            return "stalled";
        case State::no_space:
            return "no_space";
        case State::failed:
            return "failed";
    }
    return "?";
}

struct Journal::Parts {
    explicit Parts(const Options& given) : options(given), feed(given.feed_byte_count) {}

    Options options;
    DirectoryLock lock;
    std::unique_ptr<Files> files;
    Feed feed;
    PlaceIndex index;
    Recovered recovered;
    std::unique_ptr<JournalIo> io;
    std::optional<Spares> spares;
    std::optional<Writer> writer;
    std::optional<Checkpointer> checkpointer;
    Sleeper sleeper;
    std::thread thread;
    std::binary_semaphore started{0};
    int start_error = 0;
    std::atomic<bool> stopping{false};

    std::expected<void, Error> open(RecordSink& sink);
    void run();
    void idle(std::int64_t& idle_since);
    void stop();
};

std::expected<void, Error> Journal::Parts::open(RecordSink& sink) {
    auto opened = open_directory(options.directory);
    if (!opened) {
        return std::unexpected(Error{ErrorKind::io,
                                     "The data directory " + options.directory +
                                         " cannot be opened: " + std::strerror(opened.error()) + ".",
                                     options.directory, 0, opened.error()});
    }
    files = std::move(*opened);
    if (const auto good = check(options, feed, files->block_size()); !good) return good;
    auto taken = DirectoryLock::take(options.directory, options.lock_wait_ns);
    if (!taken) return std::unexpected(taken.error());
    lock = std::move(*taken);
    const auto found = survey(*files, options.names_allowed);
    if (!found) return std::unexpected(found.error());
    auto checkpoints = find_checkpoints(*files, *found);
    if (!checkpoints) return std::unexpected(checkpoints.error());
    RecordReplay replaying(sink, index);
    const auto end = read_back(*files, *found, *checkpoints, replaying);
    if (!end) return std::unexpected(end.error());
    auto made_io = make_io(options.io, options.in_flight_max + 2, lock.file());
    if (!made_io) return std::unexpected(made_io.error());
    io = std::move(*made_io);
    Environment& environment = real_environment();
    const std::uint64_t needed =
        std::max(4 * std::uint64_t{options.message_size_max}, 2 * step_size_max(options, feed));
    const std::uint64_t first_size =
        std::min(options.segment_size, align_up(std::max(options.first_segment_size, needed), kBlockSizeMax));
    auto begun = begin_segment(*files, environment, *found, *end, {options.segment_size, first_size});
    if (!begun) return std::unexpected(begun.error());
    recovered = begun->recovered;
    recovered.remarks = checkpoints->remarks;
    spares.emplace(*files, environment,
                   SparesOptions{.uuid = recovered.uuid,
                                 .next_segment_number = begun->next_segment_number,
                                 .capacity = options.segment_size,
                                 .block_size = files->block_size(),
                                 .incarnation = recovered.incarnation,
                                 .spare_count = options.spare_count,
                                 .on_start = options.on_helper_start,
                                 .fill = [this] { return writer->segment_fill(); }},
                   std::move(begun->spares));
    const std::uint64_t batch_size = std::min<std::uint64_t>(options.batch_size_max, first_size / 8);
    WriterOptions writing;
    writing.batch_size_max = static_cast<std::uint32_t>(align_up(batch_size, files->block_size()));
    writing.in_flight_max = options.in_flight_max;
    writing.step_size_max = static_cast<std::uint32_t>(step_size_max(options, feed));
    writing.body_request_max = options.body_request_max;
    writing.mark_after_ns = options.mark_after_ns;
    if (options.checkpoints) {
        const std::uint64_t active = begun->start.segment.segment_number;
        const std::uint64_t first =
            found->active.empty() ? active : found->active.front().header.segment_number;
        CheckpointerOptions folding;
        folding.dedup_window = options.dedup_window;
        if (!folding.dedup_window) folding.dedup_window = [](std::string_view) { return Duration{0}; };
        folding.retention = options.retention;
        folding.on_start = options.on_helper_start;
        checkpointer.emplace(*files, environment, std::move(folding), std::move(*checkpoints), first, active);
        writing.on_roll = [this](std::uint64_t number) { checkpointer->rolled(number); };
    }
    writer.emplace(feed, *io, *files, *spares, index, environment, writing, begun->start);
    return {};
}

void Journal::Parts::run() {
    if (options.on_writer_start) options.on_writer_start();
    if (const auto begun = io->start(); !begun) start_error = begun.error();
    started.release();
    if (start_error != 0) return;
    std::int64_t idle_since = 0;
    // Relaxed: nothing else is read because of it.
    while (!writer->closed() && !stopping.load(std::memory_order_relaxed)) {
        if (writer->poll_once()) {
            idle_since = 0;
        } else {
            idle(idle_since);
        }
    }
    writer->drain();
}

// While something is under way the thread yields: it may share its core with those who wait for it. Naps and
// sleep come when nothing has happened for long, or the disk is slow.
void Journal::Parts::idle(std::int64_t& idle_since) {
    const std::int64_t now = real_environment().monotonic_ns();
    if (idle_since == 0) idle_since = now;
    const std::int64_t idle_ns = now - idle_since;
    if (writer->busy()) {
        if (idle_ns < kBusyYieldNs) {
            ::sched_yield();
        } else {
            writer->wait_for_io(kIoWaitNs);
        }
    } else if (idle_ns < options.idle_yield_ns) {
        ::sched_yield();
    } else if (idle_ns < options.idle_nap_ns || writer->pending()) {
        nap(options.nap_ns);
    } else {
        std::int64_t timeout = writer->next_mark_ns();
        if (timeout < 0 || (options.sleep_max_ns >= 0 && options.sleep_max_ns < timeout))
            timeout = options.sleep_max_ns;
        // Relaxed: whoever sets it wakes us afterwards.
        sleeper.sleep_unless(
            timeout, [this] { return writer->has_work() || stopping.load(std::memory_order_relaxed); });
    }
}

void Journal::Parts::stop() {
    // Relaxed: see run() and idle().
    stopping.store(true, std::memory_order_relaxed);
    sleeper.wake();
    if (thread.joinable()) thread.join();
    if (spares) spares->stop();
    if (checkpointer) checkpointer->stop();
}

std::expected<std::unique_ptr<Journal>, Error> Journal::open(const Options& options, RecordSink& sink) {
    auto parts = std::make_unique<Parts>(options);
    if (const auto opened = parts->open(sink); !opened) return std::unexpected(opened.error());
    return std::unique_ptr<Journal>(new Journal(std::move(parts)));
}

Journal::Journal(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Journal::~Journal() { parts_->stop(); }

const Recovered& Journal::recovered() const { return parts_->recovered; }

std::expected<void, Error> Journal::start() {
    PINNACE_CHECK(!parts_->thread.joinable());
    parts_->thread = std::thread([parts = parts_.get()] { parts->run(); });
    parts_->started.acquire();
    if (parts_->start_error != 0) {
        parts_->thread.join();
        return std::unexpected(Error{
            ErrorKind::io,
            std::string("The journal's thread cannot begin: ") + std::strerror(parts_->start_error) + ".",
            {},
            0,
            parts_->start_error});
    }
    parts_->spares->start();
    if (parts_->checkpointer) parts_->checkpointer->start();
    return {};
}

std::expected<void, Error> Journal::close() {
    PINNACE_CHECK(parts_->thread.joinable());
    parts_->writer->close();
    parts_->sleeper.wake();
    parts_->thread.join();
    parts_->spares->stop();
    if (parts_->checkpointer) parts_->checkpointer->stop();
    if (state() != State::failed) return {};
    return std::unexpected(Error{ErrorKind::io,
                                 "The journal has failed: " + std::string(std::strerror(os_error())) +
                                     "; what was not reported durable may be lost.",
                                 parts_->options.directory, 0, os_error()});
}

Feed& Journal::feed() { return parts_->feed; }
std::size_t Journal::room() const { return parts_->feed.room(); }
RecordIndex Journal::durable() const { return parts_->writer->durable(); }
State Journal::state() const { return parts_->writer->state(); }
int Journal::os_error() const { return parts_->writer->os_error(); }
void Journal::wake() { parts_->sleeper.wake(); }
bool Journal::request_body(const BodyRequest& request) { return parts_->writer->request_body(request); }
bool Journal::next_body(BodyReply& reply) { return parts_->writer->next_body(reply); }

Status Journal::status() const {
    const Writer& writer = *parts_->writer;
    Status status;
    status.state = writer.state();
    status.os_error = writer.os_error();
    status.io = parts_->io->name();
    status.durable = writer.durable();
    status.segment_number = writer.segment_number();
    status.batch_count = writer.batch_count();
    status.byte_count = writer.byte_count();
    status.segment_count = writer.segment_count();
    status.spare_count = parts_->spares->ready_count();
    if (parts_->checkpointer) {
        if (const auto newest = parts_->checkpointer->newest()) {
            status.checkpoint_generation = newest->generation;
            status.checkpoint_size = newest->size;
            status.checkpoint_segment = newest->segment_number;
        }
        if (const auto error = parts_->checkpointer->error()) status.checkpoint_error = error->text;
    }
    // The writer may be held up inside of the kernel, so others look at the time as well.
    const std::int64_t oldest = writer.oldest_submit_ns();
    const std::int64_t age = oldest == 0 ? 0 : real_environment().monotonic_ns() - oldest;
    if (status.state < State::no_space && age > WriterOptions{}.slow_after_ns) {
        status.state = age > WriterOptions{}.stalled_after_ns ? State::stalled : State::slow;
    }
    return status;
}

}  // namespace pinnace::journal
