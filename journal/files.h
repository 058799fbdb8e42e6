// SPDX-License-Identifier: Apache-2.0
// The one directory of the journal as an interface, so that a simulated disk can stand in. Errors are errno
// values.
//
// What is relied on: write + sync makes bytes and size durable; create, rename and remove are durable after
// sync_directory; no other order is assumed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pinnace::journal {

enum class Access : std::uint8_t {
    read,    // through the page cache, in order from the front
    direct,  // read and write, past the page cache where that can be had: memory, offset and size in whole
             // blocks
};

class Files {
 public:
    using Handle = int;
    virtual ~Files() = default;

    virtual std::expected<std::vector<std::string>, int> list() = 0;  // sorted
    virtual std::expected<Handle, int> open(const std::string& name, Access access) = 0;
    // A new file; EEXIST if there is one. Opened as for Access::direct.
    virtual std::expected<Handle, int> create(const std::string& name) = 0;
    virtual void close(Handle file) = 0;
    virtual std::expected<std::uint64_t, int> size(Handle file) = 0;
    // Fewer bytes than asked for only at the end of the file.
    virtual std::expected<std::size_t, int> read(Handle file, std::uint64_t offset,
                                                 std::span<std::byte> to) = 0;
    // All bytes or an error.
    virtual std::expected<void, int> write(Handle file, std::uint64_t offset,
                                           std::span<const std::byte> from) = 0;
    // Gives a new file its size, with room on the disk for each byte, all written as zeros.
    // `pace`, if given, is called before each piece with how many bytes are done, and may wait: a disk that
    // is busy with zeros writes nothing else.
    using Pace = std::function<void(std::uint64_t)>;
    virtual std::expected<void, int> fill_with_zeros(Handle file, std::uint64_t size, const Pace& pace) = 0;
    // Room on the disk for that many bytes, whatever is written in them so far; the file's size grows to it.
    virtual std::expected<void, int> reserve(Handle file, std::uint64_t size) = 0;
    virtual std::expected<void, int> sync(Handle file) = 0;
    virtual std::expected<void, int> rename(const std::string& from, const std::string& to) = 0;
    virtual std::expected<void, int> remove(const std::string& name) = 0;
    virtual std::expected<void, int> sync_directory() = 0;
    // What direct access wants offsets and sizes to be multiples of; at most 65536.
    virtual std::uint32_t block_size() const = 0;
    // For texts: the path of a file.
    virtual std::string path(std::string_view name) const = 0;
};

// The directory `path` of the real file system; made if it is not there.
std::expected<std::unique_ptr<Files>, int> open_directory(const std::string& path);
// The same, but it must be there.
std::expected<std::unique_ptr<Files>, int> open_existing_directory(const std::string& path);

// Memory for direct access: aligned to a block, not touched yet.
class BlockBuffer {
 public:
    BlockBuffer() = default;
    explicit BlockBuffer(std::size_t size);
    std::span<std::byte> bytes() const { return {data_.get(), size_}; }

 private:
    struct Free {
        void operator()(std::byte* data) const;
    };
    std::unique_ptr<std::byte[], Free> data_;
    std::size_t size_ = 0;
};

}  // namespace pinnace::journal
