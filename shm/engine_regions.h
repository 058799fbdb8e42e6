// SPDX-License-Identifier: Apache-2.0
// EngineRegions: what the engine shares with all sessions: the control page and the delivery log.
#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>

#include "shm/layout.h"
#include "shm/log_writer.h"
#include "shm/memory.h"
#include "shm/wait.h"

namespace pinnace::shm {

struct EngineOptions {
    std::uint64_t epoch = 1;
    std::array<std::uint8_t, 16> engine_id{};
    WaitMode wait_mode = WaitMode::block;
    std::uint64_t message_size_max = 16u << 20;
    std::optional<LogGeometry> log;  // default_log_geometry(message_size_max) if not given
    MemoryOptions memory;
};

// engine time = base_time + ((ticks - base_ticks) * multiplier >> shift)
struct ClockCalibration {
    std::uint64_t base_ticks = 0;
    std::int64_t base_time = 0;
    std::uint64_t multiplier = 0;
    std::uint64_t shift = 0;
    std::uint64_t source = 0;
    friend constexpr bool operator==(const ClockCalibration&, const ClockCalibration&) = default;
};

// Under the page's sequence counter. One writer; read() gives nothing while they change, ask again.
void write_clock(ControlPage& control, const ClockCalibration& calibration);
std::optional<ClockCalibration> read_clock(const ControlPage& control);

class EngineRegions {
 public:
    static std::expected<std::unique_ptr<EngineRegions>, std::string> create(const EngineOptions& options);

    ControlPage& control() { return *reinterpret_cast<ControlPage*>(control_mapping_.data()); }
    LogWriter& log() { return *log_; }  // dispatcher only
    const EngineOptions& options() const { return options_; }
    const LogGeometry& log_geometry() const { return log_->geometry(); }
    MemoryRung rung() const { return rung_; }  // the lowest of all regions

    // For the welcome.
    int control_fd() const { return control_.fd.get(); }
    std::array<int, 3> log_fds() const {
        return {areas_[0].fd.get(), areas_[1].fd.get(), areas_[2].fd.get()};
    }

 private:
    EngineRegions() = default;

    EngineOptions options_;
    Memfd control_;
    Mapping control_mapping_;
    std::array<Memfd, 3> areas_;
    std::array<Mapping, 3> area_mappings_;
    std::unique_ptr<LogWriter> log_;
    MemoryRung rung_ = MemoryRung::huge_pages;
};

}  // namespace pinnace::shm
