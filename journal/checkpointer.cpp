// SPDX-License-Identifier: Apache-2.0
#include "journal/checkpointer.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "journal/open_file.h"

namespace pinnace::journal {
namespace {

Error fold_error(const SegmentReader& reader, const std::string& text) {
    return {ErrorKind::refused, "A record of " + reader.name() + " cannot be folded: " + text, reader.name(),
            0, 0};
}

// Both passes of a fold over batches. `ending`: the engine stops and will not wait for it.
class FoldReplay final : public BatchSink {
 public:
    FoldReplay(Fold& fold, const std::atomic<bool>& ending) : fold_(fold), ending_(ending) {}

    // From here on what is left goes to `writer`.
    void begin_keeping(CheckpointWriter& writer) {
        writer_ = &writer;
        places_.clear();
        next_place_ = 0;
    }

    std::expected<void, Error> batch(const SegmentReader& reader, const BatchView& batch,
                                     Place place) override {
        if (batch.header().type != BatchType::data) return {};
        place_ = place;
        return each(reader, batch, false);
    }
    void places(std::span<const PlaceEntry> places) override {
        places_.erase(places_.begin(), places_.begin() + static_cast<std::ptrdiff_t>(next_place_));
        next_place_ = 0;
        places_.insert(places_.end(), places.begin(), places.end());
    }
    std::expected<void, Error> kept(const SegmentReader& reader, const BatchView& batch) override {
        return each(reader, batch, true);
    }

    void begin_again() override {}  // a fold ends with the first error

    // The oldest segment with a body that is needed, after the second pass.
    std::uint64_t needed_segment() const { return needed_; }

 private:
    std::expected<void, Error> each(const SegmentReader& reader, const BatchView& batch,
                                    bool from_checkpoint) {
        // Relaxed: nothing else is read because of it.
        if (ending_.load(std::memory_order_relaxed))
            return std::unexpected(Error{ErrorKind::refused, "The engine stops.", {}, 0, 0});
        std::string refusal;
        batch.each([&](const BatchRecord& record) {
            RecordView view{record.header, record.head(), {}};
            view.body.size = static_cast<std::uint32_t>(record.body().size());
            if (writer_ == nullptr) {
                if (auto noted = fold_.note(view); !noted) refusal = std::move(noted.error());
            } else {
                const Place place = from_checkpoint ? place_of(record.header.position) : place_;
                writer_->next_place(place);
                if (fold_.keep(view, *writer_)) needed_ = std::min(needed_, place.segment_number());
            }
            return refusal.empty();
        });
        if (!refusal.empty()) return std::unexpected(fold_error(reader, refusal));
        return {};
    }

    // Positions grow, so that what was passed is not looked at again.
    Place place_of(Position position) {
        while (next_place_ + 1 < places_.size() && places_[next_place_ + 1].position <= position)
            ++next_place_;
        return next_place_ < places_.size() ? places_[next_place_].place : Place{};
    }

    Fold& fold_;
    const std::atomic<bool>& ending_;
    CheckpointWriter* writer_ = nullptr;
    Place place_;
    std::vector<PlaceEntry> places_;
    std::size_t next_place_ = 0;
    std::uint64_t needed_ = UINT64_MAX;
};

}  // namespace

Checkpointer::Checkpointer(Files& files, Environment& environment, CheckpointerOptions options,
                           FoundCheckpoints found, std::uint64_t first_segment, std::uint64_t active)
    : files_(files),
      environment_(environment),
      options_(std::move(options)),
      known_(std::move(found)),
      first_segment_(first_segment),
      oldest_segment_(first_segment),
      active_(active) {
    if (known_.whole.empty()) return;
    newest_ = known_.whole.back();
    first_segment_ = newest_->segment_number + 1;
}

void Checkpointer::start() {
    thread_ = std::thread([this] { run(); });
}

void Checkpointer::stop() {
    ending_.store(true, std::memory_order_relaxed);  // relaxed: wake() orders it
    sleeper_.wake();
    if (thread_.joinable()) thread_.join();
}

std::optional<CheckpointHeader> Checkpointer::newest() const {
    const std::lock_guard lock(mutex_);
    return newest_;
}

std::optional<Error> Checkpointer::error() const {
    const std::lock_guard lock(mutex_);
    return error_;
}

// Those that are in no checkpoint yet, and the one in use, whose header ends them.
std::expected<std::vector<FoundSegment>, Error> Checkpointer::gather() const {
    std::vector<FoundSegment> segments;
    const std::uint64_t active = active_.load(std::memory_order_acquire);  // pair: journal roll
    for (std::uint64_t number = first_segment_; number <= active; ++number) {
        const std::string name = segment_name(number);
        const auto opened = files_.open(name, Access::direct);
        if (!opened) return std::unexpected(file_error(files_, name, "cannot be opened", opened.error()));
        const OpenFile file(files_, *opened);
        const auto header = read_segment(files_, name, file.get());
        if (!header) return std::unexpected(header.error());
        segments.push_back({name, *header});
    }
    return segments;
}

bool Checkpointer::worth_it(const std::vector<FoundSegment>& segments) const {
    if (segments.size() < 2) return false;
    if (segments.size() > options_.segment_count_max) return true;
    std::uint64_t byte_count = 0;
    for (std::size_t i = 1; i < segments.size(); ++i) byte_count += segments[i].header.previous_end.offset();
    const std::uint64_t last_size = known_.whole.empty() ? 0 : known_.whole.back().size;
    return byte_count >= std::max(options_.byte_count_min, last_size);
}

std::expected<bool, Error> Checkpointer::step() {
    if (const auto dropped = drop_old(); !dropped) return std::unexpected(dropped.error());
    auto segments = gather();
    if (!segments) return std::unexpected(segments.error());
    if (!worth_it(*segments)) return false;
    Survey survey;
    survey.active = std::move(*segments);
    const auto made = make(survey);
    if (!made) return std::unexpected(made.error());
    ++known_.next_generation;
    first_segment_ = made->segment_number + 1;
    known_.whole.push_back(*made);
    {
        const std::lock_guard lock(mutex_);
        newest_ = *made;
    }
    if (const auto dropped = drop_old(); !dropped) return std::unexpected(dropped.error());
    if (const auto released = release_segments(); !released) return std::unexpected(released.error());
    return true;
}

std::expected<CheckpointHeader, Error> Checkpointer::make(const Survey& survey) {
    const CheckpointHeader* last = known_.whole.empty() ? nullptr : &known_.whole.back();
    Fold fold(options_.dedup_window);
    FoldReplay replaying(fold, ending_);
    const auto pass = [&]() -> std::expected<JournalEnd, Error> {
        if (last != nullptr) {
            if (const auto loaded = load_checkpoint(files_, *last, replaying); !loaded)
                return std::unexpected(loaded.error());
        }
        return replay(files_, survey, last, Extent::ended, replaying);
    };
    if (const auto noted = pass(); !noted) return std::unexpected(noted.error());
    CheckpointWriter writer(files_, environment_.random());
    fold.begin(writer);
    replaying.begin_keeping(writer);
    const auto end = pass();
    if (!end) return std::unexpected(end.error());
    fold.end(writer);
    needed_segment_ = 0;  // until this one is known to be whole

    const SegmentHeader& covered = survey.active[survey.active.size() - 2].header;
    CheckpointHeader header;
    header.uuid = covered.uuid;
    header.generation = known_.next_generation;
    header.segment_number = covered.segment_number;
    header.segment_epoch = covered.epoch;
    header.end = end->end;
    header.batch_sequence = end->chain.batch_sequence;
    header.record_sequence = end->chain.record_sequence;
    header.chain = end->chain.chain;
    header.incarnation = end->recovered.incarnation;
    header.engine_time = std::max(end->recovered.time.engine_time, fold.now());
    header.boot_time = end->recovered.time.boot_time;
    header.boot_id_hash = end->recovered.time.boot_id_hash;
    header.wall_time = end->recovered.time.wall_time;
    header.last_position = end->recovered.last_position;
    header.last_kind = static_cast<std::uint32_t>(end->recovered.last_kind);
    const auto made = writer.finish(header);
    if (!made) return made;
    const auto whole = read_checkpoint(files_, made->generation, nullptr);
    if (whole) needed_segment_ = replaying.needed_segment();
    return whole;
}

// A start that has to fall back to the older checkpoint reads all that is behind that one.
std::expected<void, Error> Checkpointer::release_segments() {
    if (known_.whole.size() < 2) return {};
    const std::uint64_t reached = known_.whole[known_.whole.size() - 2].segment_number;
    std::vector<std::uint64_t> sizes;  // from the oldest one on
    std::uint64_t total = 0;
    for (std::uint64_t number = oldest_segment_; number < first_segment_; ++number) {
        const std::string name = segment_name(number);
        const auto opened = files_.open(name, Access::direct);
        if (!opened) return std::unexpected(file_error(files_, name, "cannot be opened", opened.error()));
        const OpenFile file(files_, *opened);
        const auto size = files_.size(file.get());
        if (!size) return std::unexpected(file_error(files_, name, "cannot be read", size.error()));
        sizes.push_back(*size);
        total += *size;
    }
    for (const std::uint64_t size : sizes) {
        if (total <= options_.retention || oldest_segment_ > reached || oldest_segment_ >= needed_segment_)
            return {};
        const std::string name = segment_name(oldest_segment_);
        auto done = files_.remove(name);
        // One after the other: else a crash could leave one before one that is gone.
        if (done) done = files_.sync_directory();
        if (!done) return std::unexpected(file_error(files_, name, "cannot be removed", done.error()));
        ++oldest_segment_;
        total -= size;
    }
    return {};
}

// Those that are not needed, or of no use, become room for the next one.
std::expected<void, Error> Checkpointer::drop_old() {
    constexpr std::size_t kKept = 2;
    const auto drop = [&](std::uint64_t generation) -> std::expected<void, Error> {
        const std::string name = checkpoint_name(generation);
        auto done = files_.rename(name, kCheckpointReserveName);
        if (done) done = files_.sync_directory();
        if (done) return {};
        return std::unexpected(file_error(files_, name, "cannot be renamed", done.error()));
    };
    while (known_.whole.size() > kKept) {
        if (const auto done = drop(known_.whole.front().generation); !done) return done;
        known_.whole.erase(known_.whole.begin());
    }
    // Whoever looks into what is wrong with one has time until there are two others.
    while (known_.whole.size() == kKept && !known_.broken.empty()) {
        if (const auto done = drop(known_.broken.back()); !done) return done;
        known_.broken.pop_back();
    }
    return keep_reserve();
}

// What was queued may grow by a quarter until the next one.
std::expected<void, Error> Checkpointer::keep_reserve() {
    const std::uint64_t last_size = known_.whole.empty() ? 0 : known_.whole.back().size;
    const std::uint64_t size =
        align_up(std::max(options_.reserve_size_min, last_size + last_size / 4), kBlockSizeMax);
    auto opened = files_.open(kCheckpointReserveName, Access::direct);
    if (!opened && opened.error() == ENOENT) opened = files_.create(kCheckpointReserveName);
    if (!opened)
        return std::unexpected(
            file_error(files_, kCheckpointReserveName, "cannot be opened", opened.error()));
    const OpenFile file(files_, *opened);
    // A full disk: it has the room that it has.
    const auto reserved = files_.reserve(file.get(), size);
    if (!reserved && reserved.error() != ENOSPC && reserved.error() != EDQUOT)
        return std::unexpected(
            file_error(files_, kCheckpointReserveName, "cannot be reserved", reserved.error()));
    return {};
}

void Checkpointer::run() {
    if (options_.on_start) options_.on_start();
    std::uint64_t seen = 0;
    // Relaxed: wake() orders it.
    while (!ending_.load(std::memory_order_relaxed)) {
        const std::uint64_t active = active_.load(std::memory_order_acquire);  // pair: journal roll
        const auto made = step();
        {
            const std::lock_guard lock(mutex_);
            error_ = made ? std::nullopt : std::optional(made.error());
        }
        seen = active;
        if (made && *made) continue;
        sleeper_.sleep_unless(made ? -1 : options_.retry_ns, [&] {
            // Relaxed: wake() orders it.
            return ending_.load(std::memory_order_relaxed) ||
                   (made && active_.load(std::memory_order_acquire) != seen);  // pair: journal roll
        });
    }
}

}  // namespace pinnace::journal
