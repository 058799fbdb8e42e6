// SPDX-License-Identifier: Apache-2.0
// The journal as its owner holds it: opened (which recovers), started (which makes its threads), fed, closed.
//
//   auto journal = Journal::open(options, sink);   // every durable record, in order, to the sink
//   (*journal)->start();                           // the journal thread and the one that prepares segments
//   feed.append(...); feed.end_step(); feed.publish(now); journal->wake();   // dispatcher
//   journal->durable()                             // all records up to this index are durable
//   (*journal)->close();                           // everything published is durable, threads are gone
//
// 1. What is reported durable survives loss of power (policy group), always as a prefix of the records.
// 2. After the first error of a write the state is failed for good and durable() stands still (P6); only a
// new start,
//    which recovers, goes on.
// 3. Recovery never changes old bytes and begins a new segment (P2, P5); until open() returns, it changes
// nothing.
// 4. Which thread may call what is said at each function; "dispatcher" is one and the same thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/record.h"
#include "core/types.h"
#include "journal/error.h"
#include "journal/feed.h"
#include "journal/format.h"

namespace pinnace::journal {

// When a record is called durable. Only group exists so far; open() refuses the others.
enum class Policy : std::uint8_t { group = 0, interval = 1, each = 2, none = 3 };

enum class IoChoice : std::uint8_t { automatic, io_uring, pwritev2 };

struct Options {
    std::string directory;                         // made if it is not there (one level)
    std::vector<std::string> names_allowed;        // other files that may lie in it, a socket for example
    std::uint64_t segment_size = 256u << 20;       // at least 4 x message_size_max
    std::uint64_t first_segment_size = 64u << 20;  // of one that must be made before the start
    std::uint32_t message_size_max = 16u << 20;    // bodies of one step together
    std::size_t feed_byte_count = 8u << 20;
    std::uint32_t batch_size_max = 1u << 20;  // a step larger than this is a batch of its own
    std::uint32_t in_flight_max = 2;          // writes at a time
    std::uint32_t spare_count = 2;            // segments prepared ahead
    Policy policy = Policy::group;
    bool checkpoints = true;
    std::uint64_t retention =
        10'000'000'000;  // bytes of segments that are kept though nobody needs them (S6)
    std::function<Duration(std::string_view queue)>
        dedup_window;                       // what checkpoints keep ids for; empty: none
    IoChoice io = IoChoice::automatic;      // PINNACE_NO_IO_URING=1 in the environment forces pwritev2
    std::uint32_t body_request_max = 1024;  // cold reads under way
    // Waiting of the journal thread when there is nothing to do: it yields, then naps, then sleeps until
    // wake().
    std::int64_t idle_yield_ns = 200'000;
    std::int64_t idle_nap_ns = 20'000'000;
    std::int64_t nap_ns = 20'000;
    std::int64_t sleep_max_ns = -1;             // -1: until wake()
    std::int64_t mark_after_ns = 100'000'000;   // idle this long: a mark that says how far all is durable
    std::int64_t lock_wait_ns = 4'000'000'000;  // a killed engine's writes may still be draining
    std::function<void()> on_writer_start;      // run first in the journal thread: pinning, naming
    std::function<void()> on_helper_start;      // the same in the thread that prepares segments
};

// Receives every durable record, in order, during open(). `place` is its batch's. What the view points to is
// valid during the call. The error is a whole sentence; it ends open() with ErrorKind::refused.
class RecordSink {
 public:
    virtual std::expected<void, std::string> record(const RecordView& record, Place place) = 0;
    // A checkpoint turned out not to be whole: what came is void, all of it comes anew.
    virtual void begin_again() = 0;

 protected:
    ~RecordSink() = default;
};

// What was cut from the end of the journal: it had never been reported durable.
struct TornTail {
    std::string file;
    std::uint64_t offset = 0;       // the journal ends here
    std::uint64_t batch_count = 0;  // whole batches found behind it
    std::uint64_t byte_count = 0;   // from offset to the end of the last batch found, or of what is not zero
};

// The times that the last batch carried (rule 22). All zero in a new journal.
struct TimeStamp {
    Time engine_time = 0;
    std::int64_t boot_time = 0;
    std::uint64_t boot_id_hash = 0;
    std::int64_t wall_time = 0;
};

struct Recovered {
    bool created = false;  // the directory held no journal
    Uuid uuid;
    std::uint32_t incarnation = 0;  // of the life that begins now, counted from 1
    std::uint64_t record_count = 0;
    std::uint64_t batch_count = 0;
    std::uint64_t byte_count = 0;  // read
    std::uint64_t segment_count = 0;
    std::uint64_t checkpoint_generation = 0;    // 0: none was used
    std::uint64_t checkpoint_record_count = 0;  // of it; record_count counts those behind it
    std::vector<std::string> remarks;           // on what was not whole and could be done without
    RecordKind last_kind = RecordKind::none;    // stop: the former life ended in order
    Position last_position = 0;                 // the highest one of a message
    TimeStamp time;
    std::optional<TornTail> torn_tail;
};

// Engine time at a start: goes on by BOOTTIME within one boot, else by the wall clock, never back (rule 22).
struct ContinuedTime {
    Time now = 0;
    bool same_boot = false;
    std::int64_t elapsed_ns = 0;
};
ContinuedTime continue_time(const TimeStamp& last, const TimeStamp& now);
// The clocks now; engine_time is 0.
TimeStamp read_clocks();

enum class State : std::uint32_t {
    running = 0,
    slow = 1,      // a write has been under way for more than 1 s
    stalled = 2,   // for more than 5 s
    no_space = 3,  // no segment could be prepared: take no new messages; acknowledgments have the rest
    failed = 4,    // for good
};
const char* to_text(State state);

struct Status {
    State state = State::running;
    int os_error = 0;
    std::string_view io;  // "io_uring", or "pwritev2 (why)"
    RecordIndex durable = 0;
    std::uint64_t segment_number = 0;
    std::uint64_t batch_count = 0;
    std::uint64_t byte_count = 0;  // written, padding included
    std::uint64_t segment_count = 0;
    std::uint64_t spare_count = 0;
    std::uint64_t checkpoint_generation = 0;  // of the newest one; 0: there is none
    std::uint64_t checkpoint_size = 0;
    std::uint64_t checkpoint_segment = 0;  // the last segment that it reaches
    std::string checkpoint_error;          // of the latest try, if that failed
};

// A body that is no longer in the log (rule 16). Only records that are durable can be asked for.
struct BodyRequest {
    Position position = 0;
    std::uint32_t size = 0;            // as the core knows it; another size on disk is damage
    std::byte* destination = nullptr;  // `size` bytes, the journal's until the reply
    std::uint64_t token = 0;           // comes back in the reply
};

struct BodyReply {
    std::uint64_t token = 0;
    Position position = 0;
    bool readable = false;
    int os_error = 0;  // of the read; 0 with !readable: not there, or damaged
    Place place;       // of its batch, where known
};

class Journal {
 public:
    static std::expected<std::unique_ptr<Journal>, Error> open(const Options& options, RecordSink& sink);
    // Without close(): the threads end after the writes under way; what was published and not durable may be
    // lost.
    ~Journal();
    Journal(const Journal&) = delete;
    Journal& operator=(const Journal&) = delete;

    const Recovered& recovered() const;

    // Any thread, once. Errors: threads or the io_uring could not be made.
    std::expected<void, Error> start();
    // After start(), by the dispatcher: waits until all that was published is durable, writes a mark, ends
    // the threads. The directory stays locked until the destructor.
    std::expected<void, Error> close();

    // --- Dispatcher; no system call in any of these but wake()
    Feed& feed();
    // Free bytes of the feed (Feed::room).
    std::size_t room() const;
    // All records up to this index are durable. Pairs with the journal thread: what it wrote before can be
    // seen.
    RecordIndex durable() const;
    State state() const;
    int os_error() const;
    // To be called after a publish or a request: wakes the journal thread if it sleeps, which it only does
    // after long idleness; costs one locked instruction otherwise.
    void wake();
    // False: too many are under way.
    bool request_body(const BodyRequest& request);
    bool next_body(BodyReply& reply);

    // --- Any thread
    Status status() const;

 private:
    struct Parts;
    explicit Journal(std::unique_ptr<Parts> parts);
    std::unique_ptr<Parts> parts_;
};

}  // namespace pinnace::journal
