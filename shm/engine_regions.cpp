// SPDX-License-Identifier: Apache-2.0
#include "shm/engine_regions.h"

#include <algorithm>
#include <cstring>

#include "shm/words.h"

namespace pinnace::shm {

namespace {

// A region that only this process will ever write: mapped, populated, then sealed for good.
std::expected<void, std::string> make_own(const char* name, std::uint64_t size, const MemoryOptions& options,
                                          Memfd& file, Mapping& mapping) {
    auto made = create_memfd(name, size, options);
    if (!made) return std::unexpected(made.error());
    file = std::move(*made);
    auto mapped = Mapping::map(file.fd, size, Access::read_write);
    if (!mapped) return std::unexpected(mapped.error());
    mapping = std::move(*mapped);
    if (file.rung == MemoryRung::transparent_huge_pages) mapping.advise_huge();
    if (auto done = mapping.populate(Access::read_write, options.lock); !done) return done;
    return seal_for_good(file.fd);
}

}  // namespace

std::expected<std::unique_ptr<EngineRegions>, std::string> EngineRegions::create(
    const EngineOptions& options) {
    std::unique_ptr<EngineRegions> regions(new EngineRegions);
    regions->options_ = options;
    const LogGeometry log = options.log.value_or(default_log_geometry(options.message_size_max));
    if (!is_valid(log) || log.message_size_max < options.message_size_max) {
        return std::unexpected("the sizes of the delivery log do not fit the message size limit");
    }
    MemoryOptions small_pages = options.memory;
    small_pages.huge_pages = false;
    auto made = make_own("pinnace-control", sizeof(ControlPage), small_pages, regions->control_,
                         regions->control_mapping_);
    if (!made) return std::unexpected(made.error());
    constexpr const char* kNames[] = {"pinnace-log-small", "pinnace-log-large", "pinnace-log-reread"};
    const AreaGeometry areas[] = {log.small, log.large, log.reread};
    for (std::size_t i = 0; i < 3; ++i) {
        made = make_own(kNames[i], areas[i].region_size(), options.memory, regions->areas_[i],
                        regions->area_mappings_[i]);
        if (!made) return std::unexpected(made.error());
        regions->rung_ = std::max(regions->rung_, regions->areas_[i].rung);
    }
    regions->log_ =
        std::make_unique<LogWriter>(log, regions->area_mappings_[0].data(), regions->area_mappings_[1].data(),
                                    regions->area_mappings_[2].data());
    ControlPage& control = regions->control();
    control.magic = kControlMagic;
    control.layout_version = kLayoutVersion;
    control.wait_mode = static_cast<std::uint32_t>(options.wait_mode);
    control.epoch = options.epoch;
    std::memcpy(control.engine_id, options.engine_id.data(), sizeof(control.engine_id));
    control.message_size_max = options.message_size_max;
    return regions;
}

// The fields are words that each store whole, so a reader in between gets a mixture that the sequence tells.
void write_clock(ControlPage& control, const ClockCalibration& calibration) {
    const std::uint64_t sequence = load_relaxed(control.clock_sequence);  // relaxed: one writer
    store_relaxed(control.clock_sequence, sequence + 1);                  // relaxed: the fence orders it
    full_fence();                                                         // pair: clock
    store_relaxed(control.clock_base_ticks, calibration.base_ticks);
    store_relaxed(control.clock_base_time, calibration.base_time);
    store_relaxed(control.clock_multiplier, calibration.multiplier);
    store_relaxed(control.clock_shift, calibration.shift);
    store_relaxed(control.clock_source, calibration.source);
    shared(control.clock_sequence).store(sequence + 2, std::memory_order_release);  // pair: clock
}

std::optional<ClockCalibration> read_clock(const ControlPage& control) {
    const std::uint64_t before =
        shared(control.clock_sequence).load(std::memory_order_acquire);  // pair: clock
    if (before == 0 || (before & 1) != 0) return std::nullopt;
    ClockCalibration calibration;
    calibration.base_ticks = load_relaxed(control.clock_base_ticks);
    calibration.base_time = load_relaxed(control.clock_base_time);
    calibration.multiplier = load_relaxed(control.clock_multiplier);
    calibration.shift = load_relaxed(control.clock_shift);
    calibration.source = load_relaxed(control.clock_source);
    copied_fence();
    if (load_relaxed(control.clock_sequence) != before || calibration.shift > 63) return std::nullopt;
    return calibration;
}

}  // namespace pinnace::shm
