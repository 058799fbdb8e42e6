// SPDX-License-Identifier: Apache-2.0
#include "bench/floor.h"

#include <sched.h>

#include <array>
#include <atomic>
#include <boost/lockfree/policies.hpp>
#include <boost/lockfree/spsc_queue.hpp>
#include <cstring>
#include <memory>
#include <thread>

#include "bench/ticks.h"

namespace pinnace::bench {

namespace {

// The sides spin without a pause, since that is what is quickest on cores of their own; on one core they must
// yield.
class Spinner {
 public:
    explicit Spinner(const Place& place) : shared_(place.shared()) {}
    void operator()() const {
        if (shared_) sched_yield();
    }

 private:
    bool shared_;
};

// The first tenth of the rounds is not counted.
std::uint64_t warm_up(std::uint64_t count) { return count / 10 + 1; }

// Runs `far` on the dispatcher's core and `near` on the client's.
template <class Near, class Far>
Histogram between(const Place& place, Near near, Far far) {
    Histogram spans;
    std::thread far_thread([&] {
        pin_this_thread(place.dispatcher);
        far();
    });
    std::thread near_thread([&] {
        pin_this_thread(place.client);
        near(spans);
    });
    near_thread.join();
    far_thread.join();
    return spans;
}

struct Line {
    alignas(128) std::atomic<std::uint64_t> word{0};
};

template <std::size_t kSize>
Histogram queue_round_trip_of(const Place& place, std::uint64_t count) {
    struct Element {
        std::array<std::byte, kSize> bytes;
    };
    constexpr std::size_t kCapacity = kSize <= 4096 ? 1024 : 64;
    using Queue = boost::lockfree::spsc_queue<Element, boost::lockfree::capacity<kCapacity>>;
    const auto there = std::make_unique<Queue>();
    const auto back = std::make_unique<Queue>();
    const std::uint64_t rounds = warm_up(count) + count;
    const Spinner spin(place);
    const auto message = std::make_unique<Element>();
    const auto answer = std::make_unique<Element>();
    const auto echo = std::make_unique<Element>();
    return between(
        place,
        [&](Histogram& spans) {
            for (std::uint64_t i = 0; i < rounds; ++i) {
                std::memcpy(message->bytes.data(), &i, sizeof i);
                const std::uint64_t before = ticks();
                while (!there->push(*message)) spin();
                while (!back->pop(*answer)) spin();
                const std::uint64_t span = ticks() - before;
                if (i >= rounds - count) spans.record(span);
            }
        },
        [&] {
            for (std::uint64_t i = 0; i < rounds; ++i) {
                while (!there->pop(*echo)) spin();
                while (!back->push(*echo)) spin();
            }
        });
}

}  // namespace

Histogram cache_line_round_trip(const Place& place, std::uint64_t count) {
    const auto line = std::make_unique<Line>();
    const std::uint64_t rounds = warm_up(count) + count;
    const Spinner spin(place);
    return between(
        place,
        [&](Histogram& spans) {
            for (std::uint64_t i = 0; i < rounds; ++i) {
                const std::uint64_t before = ticks();
                line->word.store(2 * i + 1, std::memory_order_release);
                while (line->word.load(std::memory_order_acquire) != 2 * i + 2) spin();
                const std::uint64_t span = ticks() - before;
                if (i >= rounds - count) spans.record(span);
            }
        },
        [&] {
            for (std::uint64_t i = 0; i < rounds; ++i) {
                while (line->word.load(std::memory_order_acquire) != 2 * i + 1) spin();
                line->word.store(2 * i + 2, std::memory_order_release);
            }
        });
}

Histogram queue_round_trip(const Place& place, std::uint64_t size, std::uint64_t count) {
    if (size <= 64) return queue_round_trip_of<64>(place, count);
    if (size <= 128) return queue_round_trip_of<128>(place, count);
    if (size <= 256) return queue_round_trip_of<256>(place, count);
    if (size <= 512) return queue_round_trip_of<512>(place, count);
    if (size <= 1024) return queue_round_trip_of<1024>(place, count);
    if (size <= 2048) return queue_round_trip_of<2048>(place, count);
    if (size <= 4096) return queue_round_trip_of<4096>(place, count);
    if (size <= 16384) return queue_round_trip_of<16384>(place, count);
    return queue_round_trip_of<kQueueMessageSizeMax>(place, count);
}

Report floor(const Place& place, std::uint64_t size, std::uint64_t count) {
    const Histogram raw = cache_line_round_trip(place, count);
    const std::uint64_t began = monotonic_ns();
    const Histogram queue = queue_round_trip(place, size, count);
    const std::uint64_t took = monotonic_ns() - began;
    Report report("floor", size, count);
    report.set_latency(queue);
    report.set_rate(static_cast<double>(count) * 1e9 / static_cast<double>(took));
    report.add("raw_p50_ns", to_ns(raw.quantile(0.5)));
    report.add("spsc_p50_ns", to_ns(queue.quantile(0.5)));
    report.note(
        "raw: a cache line there and back; spsc: a message through one queue and back through another");
    return report;
}

}  // namespace pinnace::bench
