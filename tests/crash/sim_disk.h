// SPDX-License-Identifier: Apache-2.0
// A simulated disk: one directory whose files, sizes and names each become durable by themselves, and what
// may be left of them after a loss of power. Also the journal's I/O, clocks and spares on it, step by step.
//
// 1. A write is durable when it is done with dsync, or after a sync of its file. A size likewise. Names are
//    durable after sync_directory. Nothing else is.
// 2. After a crash any subset of what was not durable may be there; a write in part, by sectors of 512 bytes.
// 3. A write that is under way has not happened for readers, but may be there after a crash.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "journal/environment.h"
#include "journal/files.h"
#include "journal/io.h"
#include "journal/spares.h"

namespace pinnace::journal::test {

inline constexpr std::size_t kSectorSize = 512;

using Bytes = std::vector<std::byte>;

// What a disk holds when everything on it is durable.
struct DiskImage {
    std::map<int, Bytes> files;
    std::map<std::string, int> names;
};

// One thing that is not durable yet.
struct SimOp {
    enum class Kind { write, size, create, rename, remove } kind = Kind::write;
    int file = 0;
    std::uint64_t offset = 0;  // or the size
    Bytes bytes;
    std::string name;
    std::string to;
    bool under_way = false;
    std::uint64_t token = 0;
    bool dsync = false;
};

// Does `op` to an image; of a write only the sectors of which `keep` says so.
void apply(DiskImage& image, const SimOp& op, const std::function<bool(std::size_t sector)>& keep = {});

class SimDisk final : public Files {
 public:
    SimDisk() = default;
    // A disk that was found after a crash.
    explicit SimDisk(const DiskImage& image) : live_(image), durable_(image) {
        if (!image.files.empty()) next_file_ = image.files.rbegin()->first + 1;
    }

    const DiskImage& durable() const { return durable_; }
    const std::deque<SimOp>& pending() const { return pending_; }
    const DiskImage& live() const { return live_; }

    // Called after each change of what a crash could leave.
    std::function<void()> on_event;

    // --- Writes under way
    void begin_write(int file, std::uint64_t offset, std::span<const std::byte> bytes, bool dsync,
                     std::uint64_t token);
    std::size_t under_way_count() const;
    // The i-th of them happens; returns its token.
    std::uint64_t finish_write(std::size_t i);

    // --- Files
    std::expected<std::vector<std::string>, int> list() override;
    std::expected<Handle, int> open(const std::string& name, Access access) override;
    std::expected<Handle, int> create(const std::string& name) override;
    void close(Handle) override {}
    std::expected<std::uint64_t, int> size(Handle file) override { return live_.files.at(file).size(); }
    std::expected<std::size_t, int> read(Handle file, std::uint64_t offset, std::span<std::byte> to) override;
    std::expected<void, int> write(Handle file, std::uint64_t offset,
                                   std::span<const std::byte> from) override;
    std::expected<void, int> fill_with_zeros(Handle file, std::uint64_t size, const Pace& pace) override;
    std::expected<void, int> reserve(Handle, std::uint64_t) override { return {}; }
    std::expected<void, int> sync(Handle file) override;
    std::expected<void, int> rename(const std::string& from, const std::string& to) override;
    std::expected<void, int> remove(const std::string& name) override;
    std::expected<void, int> sync_directory() override;
    std::uint32_t block_size() const override { return kBlockSizeMin; }
    std::string path(std::string_view name) const override { return "disk/" + std::string(name); }

 private:
    void happen(SimOp op);
    void event() {
        if (on_event) on_event();
    }

    DiskImage live_;
    DiskImage durable_;
    std::deque<SimOp> pending_;
    int next_file_ = 1;
};

// The journal's I/O on a SimDisk: writes happen when the scheduler says so, in any order.
class SimIo final : public JournalIo {
 public:
    explicit SimIo(SimDisk& disk) : disk_(disk) {}
    std::expected<void, int> start() override { return {}; }
    bool submit(const IoRequest& request) override;
    std::size_t poll(std::span<IoResult> results) override;
    void wait(std::int64_t) override {}
    std::string_view name() const override { return "simulated"; }
    std::size_t under_way_count() const { return disk_.under_way_count(); }
    void finish(std::size_t i);

 private:
    SimDisk& disk_;
    std::map<std::uint64_t, std::int32_t> sizes_;
    std::deque<IoResult> results_;
};

class SimEnvironment final : public Environment {
 public:
    TimeStamp clocks() override { return {0, ++now_, 1, now_}; }
    std::int64_t monotonic_ns() override { return ++now_; }
    std::uint64_t random() override { return state_ = state_ * 6364136223846793005u + 1442695040888963407u; }

 private:
    std::int64_t now_ = 1;
    std::uint64_t state_ = 1;
};

// Prepares a spare when the scheduler says so.
class SimSpares final : public SpareSource {
 public:
    SimSpares(SimDisk& disk, Environment& environment, const Uuid& uuid, std::uint64_t next,
              std::uint64_t capacity)
        : disk_(disk), environment_(environment), uuid_(uuid), next_(next), capacity_(capacity) {}
    void step();
    std::optional<Spare> take() override;
    bool out_of_space() const override { return false; }
    std::uint64_t ready_count() const override { return ready_.size(); }
    void add(const Spare& spare) { ready_.push_back(spare); }

 private:
    SimDisk& disk_;
    Environment& environment_;
    Uuid uuid_;
    std::uint64_t next_;
    std::uint64_t capacity_;
    std::deque<Spare> ready_;
};

}  // namespace pinnace::journal::test
