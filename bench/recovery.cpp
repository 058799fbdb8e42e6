// SPDX-License-Identifier: Apache-2.0
#include "bench/recovery.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>
#include <vector>

#include "core/check.h"
#include "core/core.h"
#include "journal/checkpoint_format.h"
#include "journal/journal.h"
#include "journal/segment.h"

namespace pinnace::bench {
namespace {

constexpr std::size_t kMessagesPerStep = 100;

using Failed = std::unexpected<std::string>;

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The core's records go to a journal, if there is one.
class Recording final : public Effects {
 public:
    journal::Feed* feed = nullptr;
    RecordIndex last = 0;

    RecordIndex record(const RecordHeader& header, std::span<const std::byte> head,
                       const BodyRef& body) override {
        if (feed == nullptr) return ++last;
        return last = feed->append(header, head, body.data, body.size);
    }
    bool deliver(const Delivery&) override { return true; }
    void expired(const Expired&) override {}
    void subscription_ended(SubscriptionId, std::string_view) override {}
    const std::byte* body(Position, const BodyRef&) override { return nullptr; }
};

struct Life final : journal::RecordSink {
    Recording effects;
    Core core;
    std::unique_ptr<journal::Journal> journal;

    explicit Life(std::uint32_t message_count) : core(effects, {.message_count_hint = message_count}) {}
    std::expected<void, std::string> record(const RecordView& record, journal::Place) override {
        return core.apply(record);
    }
    void begin_again() override { PINNACE_CHECK(false); }  // a checkpoint that was just made is whole
    std::expected<void, std::string> begin(const journal::Options& options) {
        QueueConfig queue;
        queue.name = "bench";
        if (auto defined = core.define_queue(queue); !defined) return Failed(defined.error().text);
        if (auto finished = core.finish_definitions(); !finished) return Failed(finished.error().text);
        auto opened = journal::Journal::open(options, *this);
        if (!opened) return Failed(opened.error().text);
        journal = std::move(*opened);
        core.set_epoch(journal->recovered().incarnation);
        return {};
    }
};

class Directory {
 public:
    explicit Directory(const std::string& given) : path_(given) {
        if (!given.empty()) return;
        const char* below = ::getenv("TMPDIR");
        path_ = std::string(below == nullptr ? "/tmp" : below) + "/pinnace-bench-XXXXXX";
        if (::mkdtemp(path_.data()) == nullptr) path_.clear();
        fresh_ = true;
    }
    ~Directory() {
        std::error_code ignored;  // what is left is only in the way
        if (fresh_ && !path_.empty()) std::filesystem::remove_all(path_, ignored);
    }
    Directory(const Directory&) = delete;
    Directory& operator=(const Directory&) = delete;
    const std::string& path() const { return path_; }

    // In order of the names.
    template <class Wanted>
    std::vector<std::string> files(Wanted&& wanted) const {
        std::vector<std::string> found;
        for (const auto& entry : std::filesystem::directory_iterator(path_))
            if (wanted(entry.path().filename().string())) found.push_back(entry.path().string());
        std::ranges::sort(found);
        return found;
    }

 private:
    std::string path_;
    bool fresh_ = false;
};

// Out of the page cache.
void forget(const Directory& directory) {
    for (const std::string& path : directory.files([](const std::string&) { return true; })) {
        const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
        if (file < 0) continue;
        ::fdatasync(file);
        ::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
        ::close(file);
    }
}

std::expected<double, std::string> read_plainly(const std::vector<std::string>& paths) {
    std::vector<std::byte> buffer(1u << 20);
    const double begin = now();
    for (const std::string& path : paths) {
        const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
        if (file < 0) return Failed(path + " cannot be opened");
        ssize_t size = 1;
        while (size > 0) size = ::read(file, buffer.data(), buffer.size());
        ::close(file);
        if (size < 0) return Failed(path + " cannot be read");
    }
    return now() - begin;
}

std::expected<std::uint64_t, std::string> publish_all(const RecoveryChoice& choice,
                                                      const journal::Options& options) {
    Life life(0);
    if (auto begun = life.begin(options); !begun) return Failed(begun.error());
    journal::Journal& journal = *life.journal;
    if (auto started = journal.start(); !started) return Failed(started.error().text);
    life.effects.feed = &journal.feed();
    life.core.recovered(1, true);
    journal.feed().end_step();
    journal.feed().publish(life.core.now());
    journal.wake();
    const std::vector<std::byte> body(choice.size, std::byte{'m'});
    std::vector<PublishMessage> messages(kMessagesPerStep);
    for (PublishMessage& message : messages) {
        message.topic = life.core.find_topic("bench");
        message.body = {kCold, choice.size, body.data()};
    }
    std::vector<PublishResult> results(kMessagesPerStep);
    for (std::uint64_t left = choice.message_count; left > 0;) {
        const std::size_t count = std::min<std::uint64_t>(left, kMessagesPerStep);
        while (journal.room() < count * 256) {
            if (journal.state() == journal::State::failed) return Failed("the journal has failed");
            std::this_thread::yield();
        }
        PublishRequest request;
        request.messages = std::span(messages).first(count);
        life.core.publish(request, std::span(results).first(count));
        life.core.durable(journal.durable());
        if (results[0].answer == Answer::would_block) continue;  // for positions (rule 12)
        if (results[0].answer != Answer::ok) return Failed("a message was refused");
        journal.feed().end_step();
        journal.feed().publish(life.core.now());
        journal.wake();
        left -= count;
    }
    if (auto closed = journal.close(); !closed) return Failed(closed.error().text);
    return journal.status().byte_count;
}

// How long it takes, and that all are back.
std::expected<double, std::string> recover(const RecoveryChoice& choice, const journal::Options& options,
                                           bool from_checkpoint) {
    const double begin = now();
    Life life(0);
    if (auto begun = life.begin(options); !begun) return Failed(begun.error());
    life.core.recovered(life.core.now(), false);
    const double end = now();
    if (const std::uint64_t depth = life.core.status(0).depth; depth != choice.message_count)
        return Failed(fmt::format("{} messages are back and not {}", depth, choice.message_count));
    if (from_checkpoint != (life.journal->recovered().checkpoint_generation != 0))
        return Failed(from_checkpoint ? "no checkpoint was used" : "a checkpoint was used");
    return end - begin;
}

std::expected<std::uint64_t, std::string> make_checkpoint(journal::Options options) {
    options.checkpoints = true;
    Life life(0);
    if (auto begun = life.begin(options); !begun) return Failed(begun.error());
    if (auto started = life.journal->start(); !started) return Failed(started.error().text);
    journal::Status status = life.journal->status();
    while (status.checkpoint_generation == 0) {
        if (!status.checkpoint_error.empty()) return Failed(status.checkpoint_error);
        std::this_thread::yield();
        status = life.journal->status();
    }
    if (auto closed = life.journal->close(); !closed) return Failed(closed.error().text);
    return status.checkpoint_size;
}

}  // namespace

std::expected<RecoveryReport, std::string> recovery(const RecoveryChoice& choice) {
    const Directory directory(choice.data_directory);
    if (directory.path().empty()) return Failed("no directory can be made for the journal");
    journal::Options options;
    options.directory = directory.path();
    options.segment_size = choice.segment_size;
    options.first_segment_size = choice.segment_size;
    options.message_size_max = 1u << 20;
    options.checkpoints = false;
    RecoveryReport report;
    report.messages = choice.message_count;
    report.payload_bytes = choice.message_count * choice.size;
    const auto written = publish_all(choice, options);
    if (!written) return Failed(written.error());
    report.journal_bytes = *written;

    const auto is_segment = [](const std::string& name) {
        return journal::parse_segment_name(name).has_value();
    };
    auto segments = directory.files(is_segment);
    segments.resize(segments.size() - std::min<std::size_t>(segments.size() - 1, options.spare_count));
    forget(directory);
    const auto raw = read_plainly(segments);
    if (!raw) return Failed(raw.error());
    report.raw_read_seconds = *raw;
    forget(directory);
    const auto whole = recover(choice, options, false);
    if (!whole) return Failed(whole.error());
    report.seconds = *whole;

    const auto checkpoint_size = make_checkpoint(options);
    if (!checkpoint_size) return Failed(checkpoint_size.error());
    report.checkpoint_bytes = *checkpoint_size;
    forget(directory);
    const auto read = read_plainly(directory.files(
        [](const std::string& name) { return journal::parse_checkpoint_name(name).has_value(); }));
    if (!read) return Failed(read.error());
    report.checkpoint_read_seconds = *read;
    forget(directory);
    const auto from_checkpoint = recover(choice, options, true);
    if (!from_checkpoint) return Failed(from_checkpoint.error());
    report.checkpoint_seconds = *from_checkpoint;
    return report;
}

std::string RecoveryReport::to_json() const {
    return fmt::format(
        R"({{"bench":"recovery","messages":{},"payload_bytes":{},"journal_bytes":{},"seconds":{:.3f},)"
        R"("raw_read_seconds":{:.3f},"checkpoint_bytes":{},"checkpoint_seconds":{:.3f},)"
        R"("checkpoint_read_seconds":{:.3f}}})",
        messages, payload_bytes, journal_bytes, seconds, raw_read_seconds, checkpoint_bytes,
        checkpoint_seconds, checkpoint_read_seconds);
}

std::string RecoveryReport::to_text() const {
    const auto ratio = [](double a, double b) { return b > 0 ? a / b : 0; };
    return fmt::format(
        "recovery of {} messages, {} bytes of payload\n"
        "  journal     {} bytes, {:.2f} times the payload\n"
        "  from it     {:.3f} s; a plain read takes {:.3f} s: {:.2f} times\n"
        "  checkpoint  {} bytes\n"
        "  from it     {:.3f} s; a plain read takes {:.3f} s: {:.2f} times",
        messages, payload_bytes, journal_bytes,
        ratio(static_cast<double>(journal_bytes), static_cast<double>(payload_bytes)), seconds,
        raw_read_seconds, ratio(seconds, raw_read_seconds), checkpoint_bytes, checkpoint_seconds,
        checkpoint_read_seconds, ratio(checkpoint_seconds, checkpoint_read_seconds));
}

}  // namespace pinnace::bench
