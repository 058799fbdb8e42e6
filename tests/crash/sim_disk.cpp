// SPDX-License-Identifier: Apache-2.0
#include "tests/crash/sim_disk.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/check.h"
#include "journal/segment.h"

namespace pinnace::journal::test {

void apply(DiskImage& image, const SimOp& op, const std::function<bool(std::size_t sector)>& keep) {
    switch (op.kind) {
        case SimOp::Kind::write: {
            Bytes& bytes = image.files[op.file];
            bytes.resize(std::max(bytes.size(), static_cast<std::size_t>(op.offset) + op.bytes.size()));
            for (std::size_t at = 0; at < op.bytes.size(); at += kSectorSize) {
                if (keep && !keep(at / kSectorSize)) continue;
                const std::size_t size = std::min(kSectorSize, op.bytes.size() - at);
                std::memcpy(bytes.data() + op.offset + at, op.bytes.data() + at, size);
            }
            break;
        }
        case SimOp::Kind::size:
            image.files[op.file].resize(static_cast<std::size_t>(op.offset));
            break;
        case SimOp::Kind::create:
            image.files[op.file];
            image.names[op.name] = op.file;
            break;
        case SimOp::Kind::rename:
            if (const auto found = image.names.find(op.name); found != image.names.end()) {
                image.names[op.to] = found->second;
                image.names.erase(op.name);
            }
            break;
        case SimOp::Kind::remove:
            image.names.erase(op.name);
            break;
    }
}

void SimDisk::happen(SimOp op) {
    apply(live_, op);
    pending_.push_back(std::move(op));
    event();
}

void SimDisk::begin_write(int file, std::uint64_t offset, std::span<const std::byte> bytes, bool dsync,
                          std::uint64_t token) {
    SimOp op;
    op.file = file;
    op.offset = offset;
    op.bytes.assign(bytes.begin(), bytes.end());
    op.under_way = true;
    op.dsync = dsync;
    op.token = token;
    pending_.push_back(std::move(op));
    event();
}

std::size_t SimDisk::under_way_count() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(pending_, [](const SimOp& op) { return op.under_way; }));
}

std::uint64_t SimDisk::finish_write(std::size_t i) {
    auto op = pending_.begin();
    for (;; ++op) {
        if (op->under_way && i-- == 0) break;
    }
    const std::uint64_t token = op->token;
    op->under_way = false;
    apply(live_, *op);
    if (op->dsync) {
        apply(durable_, *op);
        pending_.erase(op);
    }
    event();
    return token;
}

std::expected<std::vector<std::string>, int> SimDisk::list() {
    std::vector<std::string> names;
    for (const auto& [name, file] : live_.names) names.push_back(name);
    return names;
}

std::expected<Files::Handle, int> SimDisk::open(const std::string& name, Access) {
    const auto found = live_.names.find(name);
    if (found == live_.names.end()) return std::unexpected(ENOENT);
    return found->second;
}

std::expected<Files::Handle, int> SimDisk::create(const std::string& name) {
    if (live_.names.contains(name)) return std::unexpected(EEXIST);
    SimOp op;
    op.kind = SimOp::Kind::create;
    op.file = next_file_++;
    op.name = name;
    const int file = op.file;
    happen(std::move(op));
    return file;
}

std::expected<std::size_t, int> SimDisk::read(Handle file, std::uint64_t offset, std::span<std::byte> to) {
    const Bytes& bytes = live_.files.at(file);
    if (offset >= bytes.size()) return std::size_t{0};
    const std::size_t size =
        std::min<std::size_t>(to.size(), bytes.size() - static_cast<std::size_t>(offset));
    std::memcpy(to.data(), bytes.data() + offset, size);
    return size;
}

std::expected<void, int> SimDisk::write(Handle file, std::uint64_t offset, std::span<const std::byte> from) {
    SimOp op;
    op.file = file;
    op.offset = offset;
    op.bytes.assign(from.begin(), from.end());
    happen(std::move(op));
    return {};
}

std::expected<void, int> SimDisk::fill_with_zeros(Handle file, std::uint64_t size, const Pace&) {
    SimOp op;
    op.kind = SimOp::Kind::size;
    op.file = file;
    op.offset = size;
    happen(std::move(op));
    return {};
}

std::expected<void, int> SimDisk::sync(Handle file) {
    std::erase_if(pending_, [&](const SimOp& op) {
        const bool of_file = op.kind == SimOp::Kind::write || op.kind == SimOp::Kind::size;
        if (!of_file || op.file != file || op.under_way) return false;
        apply(durable_, op);
        return true;
    });
    event();
    return {};
}

std::expected<void, int> SimDisk::rename(const std::string& from, const std::string& to) {
    if (!live_.names.contains(from)) return std::unexpected(ENOENT);
    SimOp op;
    op.kind = SimOp::Kind::rename;
    op.name = from;
    op.to = to;
    happen(std::move(op));
    return {};
}

std::expected<void, int> SimDisk::remove(const std::string& name) {
    if (!live_.names.contains(name)) return std::unexpected(ENOENT);
    SimOp op;
    op.kind = SimOp::Kind::remove;
    op.name = name;
    happen(std::move(op));
    return {};
}

std::expected<void, int> SimDisk::sync_directory() {
    std::erase_if(pending_, [&](const SimOp& op) {
        if (op.kind == SimOp::Kind::write || op.kind == SimOp::Kind::size) return false;
        apply(durable_, op);
        return true;
    });
    event();
    return {};
}

bool SimIo::submit(const IoRequest& request) {
    PINNACE_CHECK(!request.sync);
    sizes_[request.token] = static_cast<std::int32_t>(request.bytes.size());
    disk_.begin_write(request.file, request.offset, request.bytes, request.dsync, request.token);
    return true;
}

void SimIo::finish(std::size_t i) {
    const std::uint64_t token = disk_.finish_write(i);
    results_.push_back({token, sizes_.at(token)});
    sizes_.erase(token);
}

std::size_t SimIo::poll(std::span<IoResult> results) {
    std::size_t count = 0;
    for (; count < results.size() && !results_.empty(); ++count) {
        results[count] = results_.front();
        results_.pop_front();
    }
    return count;
}

void SimSpares::step() {
    if (!ready_.empty()) return;
    const auto header = prepare_segment(disk_, {.uuid = uuid_,
                                                .segment_number = next_,
                                                .capacity = capacity_,
                                                .block_size = disk_.block_size(),
                                                .incarnation = 1,
                                                .epoch = environment_.random(),
                                                .wall_time = 0});
    PINNACE_CHECK(header.has_value());
    ready_.push_back({*header, *disk_.open(segment_name(next_), Access::direct)});
    ++next_;
}

std::optional<Spare> SimSpares::take() {
    if (ready_.empty()) return std::nullopt;
    const Spare spare = ready_.front();
    ready_.pop_front();
    return spare;
}

}  // namespace pinnace::journal::test
