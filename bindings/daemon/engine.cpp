// SPDX-License-Identifier: Apache-2.0
#include "bindings/daemon/engine.h"

#include <fmt/format.h>
#include <sys/prctl.h>

#include <bit>
#include <filesystem>
#include <future>
#include <map>
#include <mutex>
#include <thread>

#include "bindings/daemon/clock.h"
#include "bindings/daemon/control.h"
#include "bindings/daemon/cores.h"
#include "bindings/daemon/dispatcher.h"
#include "bindings/daemon/former_life.h"
#include "bindings/daemon/status.h"
#include "bindings/daemon/waker.h"
#include "core/action.h"
#include "core/check.h"
#include "journal/journal.h"
#include "shm/listener.h"
#include "shm/server_handshake.h"

namespace pinnace {
namespace {

using daemon::Control;
using daemon::CorePlan;
using daemon::Dispatcher;
using daemon::FormerLife;

// Dispatcher, journal thread, and at least one client.
constexpr unsigned kBusyThreadCount = 3;
constexpr std::uint32_t kSessionCountMax = 1024;
constexpr std::uint64_t kBodySizeMax = (std::uint64_t{1} << 30) - (1u << 20);  // four in a segment

std::unexpected<std::string> failure(std::string text) { return std::unexpected(std::move(text)); }

// The element at fault is always named.
std::unexpected<std::string> failure(const Refusal& refusal) {
    const bool named = refusal.text.find(refusal.element) != std::string::npos;
    return failure(named ? refusal.text : refusal.element + ": " + refusal.text);
}

class RecoverySink final : public journal::RecordSink {
 public:
    // `begin_again` makes a new core and gives it.
    RecoverySink(Core& core, FormerLife& former, std::function<Core*()> begin_again)
        : core_(&core), former_(former), begin_again_(std::move(begin_again)) {}

    std::expected<void, std::string> record(const RecordView& record, journal::Place) override {
        switch (static_cast<RecordKind>(record.header.kind)) {
            case RecordKind::session:
                return former_.apply(record);
            case RecordKind::stop:
                if (auto applied = former_.apply(record); !applied) return applied;
                return core_->apply(record);
            default:
                return core_->apply(record);
        }
    }
    void begin_again() override {
        former_.forget();
        core_ = begin_again_();
    }

 private:
    Core* core_;
    FormerLife& former_;
    std::function<Core*()> begin_again_;
};

shm::WaitMode choose_wait(WaitMode wanted, std::size_t core_count) {
    switch (wanted) {
        case WaitMode::spin:
            return shm::WaitMode::spin;
        case WaitMode::yield:
            return shm::WaitMode::yield;
        case WaitMode::block:
            return shm::WaitMode::block;
        case WaitMode::automatic:
            break;
    }
    return core_count < kBusyThreadCount ? shm::WaitMode::block : shm::WaitMode::yield;
}

const char* to_text(shm::WaitMode mode) {
    return mode == shm::WaitMode::spin ? "spin" : mode == shm::WaitMode::yield ? "yield" : "block";
}

shm::AreaGeometry area(std::uint64_t size, std::uint64_t slot_size) {
    return {slot_size, std::bit_ceil(std::max<std::uint64_t>((size + slot_size - 1) / slot_size, 2))};
}

// Messages that actions make may be larger than those of publishers (A2).
std::uint64_t body_size_max(const EngineOptions& options) {
    std::uint64_t made = 0;
    for (const ActionConfig& action : options.definitions.actions)
        made += action_body_size_max(action, options.message_size_max);
    return std::max<std::uint64_t>(options.message_size_max, made);
}

shm::LogGeometry log_geometry(const EngineOptions& options) {
    shm::LogGeometry geometry = shm::default_log_geometry(body_size_max(options));
    const std::uint64_t message = body_size_max(options) + shm::kLogHeaderSize + shm::kLogFrameAlignment;
    geometry.small = area(options.log_small_size, geometry.small.slot_size);
    geometry.large = area(std::max(options.log_large_size, 4 * message), geometry.large.slot_size);
    geometry.reread = area(std::max(options.log_reread_size, 2 * message), geometry.reread.slot_size);
    return geometry;
}

}  // namespace

struct Engine::Parts {
    EngineOptions options;
    EngineReport report;
    CorePlan plan;
    shm::WaitMode wait = shm::WaitMode::block;
    std::optional<FormerLife> former;
    std::unique_ptr<Dispatcher> dispatcher;
    std::unique_ptr<journal::Journal> journal;
    std::unique_ptr<shm::EngineRegions> regions;
    std::unique_ptr<daemon::EngineClock> clock;
    std::optional<shm::DispatcherSleeper> sleeper;
    std::unique_ptr<daemon::Waker> waker;
    std::optional<shm::Admission> admission;
    std::optional<shm::Listener> listener;
    std::unique_ptr<Control> control;
    std::thread dispatcher_thread;
    std::thread control_thread;
    std::atomic<bool> stopped{false};
    std::mutex stop_mutex;
    std::mutex dedup_mutex;
    std::map<std::string, Duration, std::less<>> dedup_windows;  // by queue; checkpoints ask for them

    void log(const std::string& line) const {
        if (options.log_line) options.log_line(line);
    }
    void note_dedup_windows(const std::vector<QueueConfig>& queues) {
        const std::lock_guard lock(dedup_mutex);
        for (const QueueConfig& queue : queues) dedup_windows[queue.name] = queue.dedup_window;
    }
    std::expected<void, std::string> define();
    std::expected<void, std::string> make_core();
    std::expected<void, std::string> recover();
    std::expected<void, std::string> share();
    std::expected<void, std::string> run();
    // Runs `apply` in the dispatcher until it says true, and waits for that. Not from the engine's own
    // threads.
    void in_dispatcher(std::function<bool()> apply);
};

std::expected<void, std::string> Engine::Parts::define() {
    auto planned = daemon::plan_cores(options.dispatcher_cpu, options.journal_cpu, kBusyThreadCount,
                                      options.data_directory);
    if (!planned) return failure(planned.error());
    plan = *planned;
    if (!options.pin) {
        plan.dispatcher = options.dispatcher_cpu;
        plan.journal = options.journal_cpu;
    }
    wait = choose_wait(options.wait, plan.allowed.size());
    if (body_size_max(options) > std::max<std::uint64_t>(kBodySizeMax, options.message_size_max))
        return failure(
            fmt::format("what actions publish for one message can have {} bytes, which is too much: "
                        "make the limit of messages smaller",
                        body_size_max(options)));
    if (options.data_directory.empty()) return failure("no data directory is named");
    if (options.socket_path.empty()) options.socket_path = options.data_directory + "/pinnace.sock";
    return make_core();
}

// The dispatcher with a core that knows the definitions and nothing else.
std::expected<void, std::string> Engine::Parts::make_core() {
    CoreOptions core;
    core.ring_entry_count = options.ring_entry_count;
    core.message_count_hint = options.message_count_hint;
    core.dedup_count_max = options.dedup_count_max;
    core.topics_must_be_covered = options.definitions.topics_must_be_covered;
    PumpLimits limits;
    limits.message_size_max = options.message_size_max;
    dispatcher = std::make_unique<Dispatcher>(core, limits);
    if (const auto defined = define_all(dispatcher->pump().core(), options.definitions); !defined)
        return failure(defined.error());
    return {};
}

std::expected<void, std::string> Engine::Parts::recover() {
    former.emplace(options.rejoin_grace);
    RecoverySink sink(dispatcher->pump().core(), *former, [this] {
        const auto made = make_core();
        PINNACE_CHECK(made.has_value());  // the same definitions as before
        return &dispatcher->pump().core();
    });
    journal::Options j;
    j.directory = options.data_directory;
    const std::filesystem::path socket(options.socket_path);
    if (socket.parent_path() == std::filesystem::path(options.data_directory)) {
        j.names_allowed = {socket.filename().string(), socket.filename().string() + ".lock"};
    }
    constexpr std::uint64_t kMiB = 1u << 20;
    j.segment_size = options.segment_size;
    j.first_segment_size = options.first_segment_size;
    if (body_size_max(options) > options.message_size_max)
        j.segment_size = std::max(j.segment_size, (4 * body_size_max(options) / kMiB + 2) * kMiB);
    j.message_size_max = static_cast<std::uint32_t>(body_size_max(options));
    j.feed_byte_count = std::bit_floor(std::min<std::uint64_t>(32u << 20, options.segment_size / 4));
    j.io = options.io_uring ? journal::IoChoice::automatic : journal::IoChoice::pwritev2;
    note_dedup_windows(options.definitions.queues);
    j.dedup_window = [this](std::string_view name) {
        const std::lock_guard lock(dedup_mutex);
        const auto window = dedup_windows.find(name);
        return window == dedup_windows.end() ? Duration{0} : window->second;
    };
    j.on_writer_start = [this] {
        prctl(PR_SET_NAME, "pinnace-journal");
        if (!plan.journal) return;
        if (auto pinned = daemon::pin_this_thread(*plan.journal); !pinned) log(pinned.error());
    };
    std::error_code error;
    std::filesystem::create_directories(options.data_directory, error);
    if (error) {
        return failure(fmt::format("{}: the data directory cannot be made: {}", options.data_directory,
                                   error.message()));
    }
    auto opened = journal::Journal::open(j, sink);
    if (!opened) return failure(opened.error().text);
    journal = std::move(*opened);
    const journal::Recovered& recovered = journal->recovered();
    report.epoch = recovered.incarnation;
    report.record_count = recovered.record_count;
    report.clean = recovered.created || recovered.last_kind == RecordKind::stop;
    report.journal_io = journal->status().io;
    for (const std::string& remark : recovered.remarks) log(remark);
    if (recovered.torn_tail) {
        report.torn_tail =
            fmt::format("{} bytes at {}:{} that were never reported durable", recovered.torn_tail->byte_count,
                        recovered.torn_tail->file, recovered.torn_tail->offset);
        log("the journal's torn end was cut: " + report.torn_tail);
    }
    const journal::ContinuedTime time = journal::continue_time(recovered.time, journal::read_clocks());
    if (!recovered.created && !time.same_boot) {
        log(fmt::format("the machine was started anew: engine time goes on by the wall clock, {} ms later",
                        time.elapsed_ns / 1'000'000));
    }
    const Time now =
        options.manual_clock ? std::max(*options.manual_clock, recovered.time.engine_time) : time.now;
    clock = std::make_unique<daemon::EngineClock>(now, options.manual_clock.has_value());
    return {};
}

std::expected<void, std::string> Engine::Parts::share() {
    shm::EngineOptions r;
    r.epoch = report.epoch;
    const auto& uuid = journal->recovered().uuid;
    static_assert(sizeof uuid == sizeof r.engine_id);
    std::memcpy(r.engine_id.data(), &uuid, sizeof uuid);
    r.wait_mode = wait;
    r.message_size_max = options.message_size_max;
    r.log = log_geometry(options);
    auto made = shm::EngineRegions::create(r);
    if (!made) return failure("the delivery log cannot be made: " + made.error());
    regions = std::move(*made);
    auto bed = shm::DispatcherSleeper::create(&regions->control().dispatcher_sleep);
    if (!bed) return failure(bed.error());
    sleeper.emplace(std::move(*bed));
    // A spinning dispatcher must not make the system call that wakes a client.
    if (wait == shm::WaitMode::spin) waker = std::make_unique<daemon::Waker>();
    shm::AdmissionLimits limits;
    limits.session_count_max = kSessionCountMax;
    limits.session_count_max_per_user = options.session_count_max_per_user;
    limits.largest.delivery_count = std::bit_ceil(std::uint64_t{options.ring_entry_count});
    admission.emplace(*regions, limits);
    auto listening = shm::Listener::create(options.socket_path);
    if (!listening) return failure(listening.error());
    listener.emplace(std::move(*listening));
    return {};
}

std::expected<void, std::string> Engine::Parts::run() {
    if (auto started = journal->start(); !started) return failure(started.error().text);
    Dispatcher::World world;
    world.regions = regions.get();
    world.journal = journal.get();
    world.clock = clock.get();
    world.sleeper = &*sleeper;
    world.waker = waker.get();
    world.wait = wait;
    world.tell_control = [this] { control->wake(); };
    dispatcher->attach(world);
    Core& core = dispatcher->pump().core();
    core.set_epoch(report.epoch);
    core.recovered(clock->now(), report.clean);
    dispatcher->log().end_step(core.now());
    dispatcher->log().publish();
    for (QueueId queue = 0; queue < core.queue_count(); ++queue)
        report.message_count += core.status(queue).depth;

    daemon::ControlOptions c;
    c.log_line = options.log_line;
    c.status = [this] { return daemon::make_status(report, *dispatcher, *journal, control->sessions()); };
    control = std::make_unique<Control>(*dispatcher, *admission, *listener, *sleeper, *clock, waker.get(),
                                        std::move(*former), std::move(c));
    std::promise<std::expected<void, std::string>> pinned;
    auto pinning = pinned.get_future();
    dispatcher_thread = std::thread([this, &pinned] {
        prctl(PR_SET_NAME, "pinnace-dispatch");
        pinned.set_value(plan.dispatcher ? daemon::pin_this_thread(*plan.dispatcher)
                                         : std::expected<void, std::string>{});
        dispatcher->run();
    });
    control_thread = std::thread([this] {
        prctl(PR_SET_NAME, "pinnace-control");
        control->run();
    });
    if (auto done = pinning.get(); !done) return failure(done.error());
    return {};
}

std::expected<std::unique_ptr<Engine>, std::string> Engine::start(const EngineOptions& options) {
    auto parts = std::make_unique<Parts>();
    parts->options = options;
    for (auto step : {&Parts::define, &Parts::recover, &Parts::share}) {
        if (auto done = (*parts.*step)(); !done) return failure(done.error());
    }
    EngineReport& report = parts->report;
    report.data_directory = parts->options.data_directory;
    report.socket_path = parts->options.socket_path;
    report.memory_rung = shm::to_text(parts->regions->rung());
    report.wait = to_text(parts->wait);
    report.clock = parts->clock->source();
    report.dispatcher_cpu = parts->plan.dispatcher;
    report.journal_cpu = parts->plan.journal;
    std::unique_ptr<Engine> engine(new Engine(std::move(parts)));
    if (auto running = engine->parts_->run(); !running) return failure(running.error());
    return engine;
}

Engine::Engine(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Engine::~Engine() {
    if (auto stopped = stop(); !stopped) parts_->log(stopped.error());
}

const EngineReport& Engine::report() const { return parts_->report; }

std::expected<void, std::string> Engine::stop() {
    const std::lock_guard lock(parts_->stop_mutex);
    if (parts_->stopped.exchange(true, std::memory_order_relaxed)) return {};  // relaxed: under the mutex
    if (!parts_->dispatcher_thread.joinable()) return {};
    parts_->control->post([this] { parts_->control->stop(); });
    parts_->control_thread.join();
    parts_->dispatcher_thread.join();
    parts_->control.reset();  // sessions end here: their clients see the socket close
    parts_->listener.reset();
    if (auto closed = parts_->journal->close(); !closed) {
        return failure("the journal could not be closed in order: " + closed.error().text);
    }
    return {};
}

bool Engine::failed() const { return parts_->journal->state() == journal::State::failed; }

void Engine::Parts::in_dispatcher(std::function<bool()> apply) {
    std::promise<void> done;
    control->post(
        [this, &done, apply = std::move(apply)] { control->command(apply, [&done] { done.set_value(); }); });
    done.get_future().wait();
}

std::string Engine::status_json() {
    std::string text;
    parts_->in_dispatcher([&] {
        text = daemon::make_status(parts_->report, *parts_->dispatcher, *parts_->journal,
                                   parts_->control->sessions());
        return true;
    });
    return text;
}

std::expected<void, std::string> Engine::extend(const Definitions& added,
                                                const std::vector<QueueConfig>& changed) {
    std::expected<void, std::string> done;
    parts_->note_dedup_windows(added.queues);
    parts_->in_dispatcher([&] {
        Dispatcher& dispatcher = *parts_->dispatcher;
        Core& core = dispatcher.pump().core();
        const auto note = [&](const auto& outcome) {
            if (!outcome && done) done = failure(outcome.error().text);
        };
        for (const expr::MessageType& type : added.message_types) note(core.define_message_type(type));
        for (const TopicConfig& topic : added.topics) note(core.define_topic(topic));
        for (const QueueConfig& queue : added.queues) note(core.add_queue(queue));
        for (const QueueConfig& queue : changed)
            if (const QueueId id = core.find_queue(queue.name); id != kNone) core.change_limits(id, queue);
        dispatcher.log().end_step(core.now());
        return true;
    });
    return done;
}

void Engine::set_clock(Time now) {
    for (;;) {
        Time due = kNever;
        run_in_dispatcher([&] { due = parts_->dispatcher->pump().core().next_due(); });
        if (due > now) break;
        parts_->clock->set(due);
        settle();
    }
    parts_->clock->set(now);
    settle();
}

std::size_t Engine::session_count() const { return parts_->control->sessions().size(); }

void Engine::run_in_dispatcher(std::function<void()> task) {
    parts_->in_dispatcher([&task] {
        task();
        return true;
    });
}

void Engine::settle() {
    Dispatcher& dispatcher = *parts_->dispatcher;
    // Twice: what a command of the first pass set off is settled by the second.
    for (int pass = 0; pass < 2; ++pass) {
        parts_->in_dispatcher([&dispatcher, started = false]() mutable {
            if (!started) {
                started = true;
                dispatcher.start_settling();
                return false;
            }
            return dispatcher.settled();
        });
    }
}

}  // namespace pinnace
