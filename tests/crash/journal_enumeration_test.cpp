// SPDX-License-Identifier: Apache-2.0
// Crash points, enumerated: the real writer and the real recovery on a simulated disk. After every single
// operation the power is lost; subsets of what was not durable, with torn writes, are recovered and
// compared with what had been reported. Recovery itself is interrupted in the same way. A seed has some 1,500
// images; PINNACE_CRASH_IMAGES bounds them, PINNACE_CRASH_SEEDS says how many seeds are tried (8).
#include <cstdlib>
#include <random>
#include <set>

#include "core/record_codec.h"
#include "journal/checkpointer.h"
#include "journal/recovery.h"
#include "tests/crash/sim_disk.h"
#include "tests/journal/support.h"

namespace pinnace::journal::test {
namespace {

constexpr std::uint64_t kSegmentSize = 12 * kBlockSizeMin;
constexpr std::uint64_t kPositionCount = 40;
constexpr std::size_t kEnumeratedMax = 4;  // of more pending operations only some subsets are looked at

std::string body_of(Position position) {
    return std::string(position * 1237 % 5000, static_cast<char>('a' + position % 26));
}

// What the oracle knows: sent in order, and how far it was told that this is durable.
struct Reported {
    Position messages = 0;       // positions 1 to this were reported durable
    std::set<Position> removed;  // their removals were
};

struct Found {
    Position messages = 0;
    std::set<Position> removed;
    bool operator==(const Found&) const = default;
};

constexpr std::uint32_t kTopic = 1;
constexpr std::uint32_t kQueue = 2;

HeadBytes message_head() {
    HeadBytes head;
    put_varint(head, 1);
    QueueEntry entry;
    entry.queue = kQueue;
    put_entry(head, entry);
    return head;
}

// Collects what comes back and holds it against what was sent.
class OracleSink final : public RecordSink {
 public:
    std::expected<void, std::string> record(const RecordView& record, Place) override {
        if (is_kind(record.header, RecordKind::kept)) {
            if (record.header.number != body_of(record.header.position).size())
                return std::unexpected("a size that was not sent");
            kept.insert(record.header.position);
        } else if (is_kind(record.header, RecordKind::resume) && record.header.subject == kNone) {
            found.messages = record.header.position - 1;
            for (Position position = 1; position <= found.messages; ++position)
                if (!kept.contains(position)) found.removed.insert(position);
        } else if (is_kind(record.header, RecordKind::message)) {
            const std::string body(reinterpret_cast<const char*>(record.body.data), record.body.size);
            if (record.header.position != found.messages + 1)
                return std::unexpected("a message out of order");
            if (body != body_of(record.header.position)) return std::unexpected("a body that was not sent");
            found.messages = record.header.position;
        } else if (is_kind(record.header, RecordKind::remove_runs)) {
            const bool whole =
                decode_runs(record.head, record.header.position, [&](Position first, std::uint64_t count) {
                    for (Position p = first; p < first + count; ++p) found.removed.insert(p);
                });
            if (!whole) return std::unexpected("runs that cannot be decoded");
        }
        return {};
    }
    void begin_again() override {
        found = {};
        kept.clear();
    }
    Found found;
    std::set<Position> kept;
};

struct Recovery {
    std::optional<Error> error;
    Found found;
    Begun begun;
    PlaceIndex index;
    FoundCheckpoints checkpoints;
};

Recovery recover(SimDisk& disk) {
    Recovery result;
    SimEnvironment environment;
    const auto surveyed = survey(disk, {});
    if (!surveyed) {
        result.error = surveyed.error();
        return result;
    }
    const auto checkpoints = find_checkpoints(disk, *surveyed);
    if (!checkpoints) {
        result.error = checkpoints.error();
        return result;
    }
    result.checkpoints = *checkpoints;
    OracleSink sink;
    RecordReplay replaying(sink, result.index);
    const auto end = read_back(disk, *surveyed, result.checkpoints, replaying);
    if (!end) {
        result.error = end.error();
        return result;
    }
    auto begun = begin_segment(disk, environment, *surveyed, *end, {kSegmentSize, kSegmentSize});
    if (!begun) {
        result.error = begun.error();
        return result;
    }
    result.found = sink.found;
    result.begun = std::move(*begun);
    return result;
}

class Enumeration {
 public:
    Enumeration(unsigned seed, std::uint64_t image_count_max)
        : random_(seed), image_count_max_(image_count_max), leave_some_(seed % 2 == 0) {}

    // A writer's life on an empty disk, scheduled at random, with a crash after every operation.
    void run() {
        SimDisk disk;
        SimEnvironment environment;
        disk.on_event = [&] { explore(disk, reported_, 0); };
        Recovery begin = recover(disk);
        ASSERT_FALSE(begin.error.has_value()) << begin.error->text;
        write(disk, environment, begin);
    }

    std::uint64_t image_count() const { return image_count_; }
    std::uint64_t torn_count() const { return torn_count_; }
    std::uint64_t crash_point_count() const { return crash_point_count_; }
    std::uint64_t checkpoint_count() const { return checkpoint_count_; }
    bool released() const { return released_; }

 private:
    void write(SimDisk& disk, SimEnvironment& environment, Recovery& begin) {
        Feed feed(16u << 10);
        SimIo io(disk);
        SimSpares spares(disk, environment, begin.begun.recovered.uuid, begin.begun.next_segment_number,
                         kSegmentSize);
        WriterOptions options;
        options.batch_size_max = 2 * kBlockSizeMin;
        options.batch_eager_size = 1;
        options.in_flight_max = 3;
        options.step_size_max = 4 * kBlockSizeMin;
        CheckpointerOptions folding;
        folding.dedup_window = [](std::string_view) { return Duration{0}; };
        folding.retention = 0;
        Checkpointer checkpointer(disk, environment, folding, begin.checkpoints, 1,
                                  begin.begun.start.segment.segment_number);
        options.on_roll = [&](std::uint64_t number) { checkpointer.rolled(number); };
        Writer writer(feed, io, disk, spares, begin.index, environment, options, begin.begun.start);
        std::deque<std::string> bodies;
        std::vector<std::pair<bool, Position>> sent;  // by record index: is a message, position
        Position position = 0;
        define(feed, sent);
        while (reported_.messages < kPositionCount && !::testing::Test::HasFailure()) {
            switch (random_() % 5) {
                case 0:
                    if (position < kPositionCount && feed.room() > 4096) step(feed, bodies, sent, position);
                    break;
                case 1:
                    writer.poll_once();
                    break;
                case 2:
                    if (const std::size_t count = io.under_way_count(); count > 0)
                        io.finish(random_() % count);
                    break;
                case 3:
                    spares.step();
                    break;
                case 4: {
                    const auto made = checkpointer.step();
                    ASSERT_TRUE(made.has_value()) << made.error().text;
                    if (*made) ++checkpoint_count_;
                    break;
                }
            }
            report(writer.durable(), sent);
        }
        released_ = !disk.live().names.contains(segment_name(1));
        writer.close();
        while (!writer.closed() && !::testing::Test::HasFailure()) {
            writer.poll_once();
            spares.step();
            if (io.under_way_count() > 0) io.finish(0);
        }
        disk.on_event = {};
        writer.drain();
    }

    void define(Feed& feed, std::vector<std::pair<bool, Position>>& sent) {
        HeadBytes head;
        put_topic_definition(head, {.name = "t", .message_type = "json"});
        feed.append(record(RecordKind::define_topic, kTopic, 0), head, nullptr, 0);
        head.clear();
        put_queue_definition(head, {.name = "q", .recovery_point = "epoch"});
        feed.append(record(RecordKind::define_queue, kQueue, 0), head, nullptr, 0);
        sent.insert(sent.end(), 2, {false, 0});
        feed.end_step();
    }

    // All of them sooner or later, so that segments are released; or some stay.
    std::vector<Position> removed_with(Position position) const {
        if (leave_some_) return position / 2 % 3 == 1 ? std::vector{position / 2} : std::vector<Position>{};
        return position > 4 ? std::vector{position - 4} : std::vector<Position>{};
    }

    // One to three records that belong together.
    void step(Feed& feed, std::deque<std::string>& bodies, std::vector<std::pair<bool, Position>>& sent,
              Position& position) {
        bodies.push_back(body_of(++position));
        const auto bytes = as_bytes(bodies.back());
        feed.append(record(RecordKind::message, kTopic, position), message_head(), bytes.data(),
                    static_cast<std::uint32_t>(bytes.size()));
        sent.emplace_back(true, position);
        for (const Position removed : removed_with(position)) {
            feed.append(record(RecordKind::remove, kQueue, removed), {}, nullptr, 0);
            sent.emplace_back(false, removed);
        }
        feed.end_step();
        // Nobody would publish the last step but this.
        if (position == kPositionCount || random_() % 3 != 0) feed.publish(static_cast<Time>(position));
    }

    void report(RecordIndex durable, const std::vector<std::pair<bool, Position>>& sent) {
        for (; reported_index_ < durable; ++reported_index_) {
            const auto& [message, position] = sent[reported_index_];
            if (message) {
                reported_.messages = position;
            } else if (position != 0) {
                reported_.removed.insert(position);
            }
        }
    }

    // Crashes now: every subset of what is pending if these are few, else some; each write whole or torn.
    void explore(const SimDisk& disk, const Reported& reported, int depth) {
        if (::testing::Test::HasFailure() || image_count_ >= image_count_max_) return;
        ++crash_point_count_;
        const std::deque<SimOp>& pending = disk.pending();
        const std::size_t count = pending.size();
        const bool all = count <= kEnumeratedMax;
        const std::uint64_t subsets = std::uint64_t{1} << (all ? count : kEnumeratedMax);
        for (std::uint64_t i = 0; i < subsets; ++i) {
            const std::uint64_t subset = all ? i : random_();
            image(disk, pending, subset, false, reported, depth);
            if (subset != 0) image(disk, pending, subset, true, reported, depth);
        }
    }

    void image(const SimDisk& disk, const std::deque<SimOp>& pending, std::uint64_t subset, bool torn,
               const Reported& reported, int depth) {
        DiskImage image = disk.durable();
        for (std::size_t i = 0; i < pending.size(); ++i) {
            if ((subset >> i & 1) == 0) continue;
            if (!torn || pending[i].kind != SimOp::Kind::write) {
                apply(image, pending[i]);
                continue;
            }
            // A front, a back, or sectors at random.
            const std::size_t sectors = pending[i].bytes.size() / kSectorSize;
            const std::uint64_t form = random_() % 3;
            const std::size_t cut = random_() % (sectors + 1);
            apply(image, pending[i], [&](std::size_t sector) {
                return form == 0 ? sector < cut : form == 1 ? sector >= cut : random_() % 2 == 0;
            });
        }
        ++image_count_;
        check(image, reported, depth);
    }

    void check(const DiskImage& image, const Reported& reported, int depth) {
        SimDisk disk(image);
        // Some recoveries are interrupted as well, and some of those once more; less is never found again.
        const bool interrupt = depth < 2 && random_() % 40 == 0;
        if (interrupt) disk.on_event = [&] { explore(disk, reported, depth + 1); };
        const Recovery recovered = recover(disk);
        disk.on_event = {};
        ASSERT_FALSE(recovered.error.has_value()) << recovered.error->text << " at depth " << depth;
        ASSERT_GE(recovered.found.messages, reported.messages);
        ASSERT_TRUE(recovered.checkpoints.remarks.empty()) << recovered.checkpoints.remarks.front();
        for (const Position position : reported.removed)
            ASSERT_TRUE(recovered.found.removed.contains(position));
        // What is still queued can be read.
        for (Position position = 1; position <= recovered.found.messages; ++position) {
            if (recovered.found.removed.contains(position)) continue;
            const auto place = recovered.index.find(position);
            ASSERT_TRUE(place.has_value()) << position;
            ASSERT_TRUE(disk.live().names.contains(segment_name(place->segment_number()))) << position;
        }
        // An acknowledgment is never there without its message (rule 8).
        if (!recovered.found.removed.empty()) {
            ASSERT_LE(*recovered.found.removed.rbegin(), recovered.found.messages);
        }
        if (recovered.begun.recovered.torn_tail) ++torn_count_;
        // I7: recovering what was recovered gives the same, also when all that was pending by then is lost.
        for (const DiskImage* again : {&disk.live(), &disk.durable()}) {
            SimDisk second(*again);
            const Recovery repeated = recover(second);
            ASSERT_FALSE(repeated.error.has_value()) << repeated.error->text;
            ASSERT_EQ(repeated.found, recovered.found);
            ASSERT_FALSE(repeated.begun.recovered.torn_tail.has_value());
        }
    }

    std::mt19937_64 random_;
    std::uint64_t image_count_max_;
    bool leave_some_;
    std::uint64_t image_count_ = 0;
    std::uint64_t torn_count_ = 0;
    std::uint64_t crash_point_count_ = 0;
    std::uint64_t checkpoint_count_ = 0;
    bool released_ = false;  // segments
    Reported reported_;
    RecordIndex reported_index_ = 0;
};

TEST(CrashPoints, EveryOneOfThemIsRecoveredToWhatWasReported) {
    const char* limit = std::getenv("PINNACE_CRASH_IMAGES");
    const char* given = std::getenv("PINNACE_SEED");
    const unsigned first = given == nullptr ? 1 : static_cast<unsigned>(std::strtoul(given, nullptr, 0));
    const std::uint64_t image_count_max = limit == nullptr ? 20'000 : std::strtoull(limit, nullptr, 10);
    const char* seeds = std::getenv("PINNACE_CRASH_SEEDS");
    const unsigned seed_count =
        seeds == nullptr ? 8 : static_cast<unsigned>(std::strtoul(seeds, nullptr, 10));
    std::uint64_t checkpoint_count = 0;
    unsigned released_count = 0;
    for (unsigned seed = first; seed != first + seed_count; ++seed) {
        Enumeration enumeration(seed, image_count_max);
        ASSERT_NO_FATAL_FAILURE(enumeration.run()) << "seed " << seed;
        ASSERT_FALSE(HasFailure()) << "seed " << seed;
        EXPECT_GT(enumeration.torn_count(), 0u);
        checkpoint_count += enumeration.checkpoint_count();
        released_count += enumeration.released() ? 1 : 0;
        std::printf("seed %u: %llu crash points, %llu images, %llu torn ends, %llu checkpoints\n", seed,
                    static_cast<unsigned long long>(enumeration.crash_point_count()),
                    static_cast<unsigned long long>(enumeration.image_count()),
                    static_cast<unsigned long long>(enumeration.torn_count()),
                    static_cast<unsigned long long>(enumeration.checkpoint_count()));
    }
    if (seed_count < 8) return;
    EXPECT_GT(checkpoint_count, seed_count);
    EXPECT_GT(released_count, 0u);
}

}  // namespace
}  // namespace pinnace::journal::test
