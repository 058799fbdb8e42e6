// SPDX-License-Identifier: Apache-2.0
// Segments as files: their names, their headers, and how a new one is prepared and put to use.
//
// 1. A segment gets its name j-*.seg only when its size, its zeros and a prepared header are durable. So a
// file of
//    that name without a whole header is damage, never what a crash left.
// 2. Between prepared and active lies one write of both header copies. It is made only when the end of the
// segment
//    before it is durable, since the header proves that end.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>

#include "journal/environment.h"
#include "journal/error.h"
#include "journal/files.h"
#include "journal/format.h"

namespace pinnace::journal {

std::string segment_name(std::uint64_t segment_number);
// Under this name a segment is prepared; never data.
std::string preparing_name(std::uint64_t segment_number);
std::optional<std::uint64_t> parse_segment_name(std::string_view name);
bool is_preparing_name(std::string_view name);

// How one of the two copies of a header looks.
enum class CopyVerdict : std::uint8_t { active, prepared, newer, bad };
inline constexpr std::size_t kCopyVerdictCount = 4;
CopyVerdict read_segment_header(std::span<const std::byte> bytes, SegmentHeader& header);

// Reads both copies and decides (recovery_table.h); checks the name's number and the file's size.
std::expected<SegmentHeader, Error> read_segment(Files& files, const std::string& name, Files::Handle file);

// Both blocks of a header as they are written.
void encode_header_blocks(SegmentHeader header, std::span<std::byte> blocks);
inline std::size_t header_blocks_size(std::uint32_t block_size) {
    return std::size_t{kHeaderBlockCount} * block_size;
}

struct SegmentPlan {
    Uuid uuid;
    std::uint64_t segment_number = 0;
    std::uint64_t capacity = 0;
    std::uint32_t block_size = kBlockSizeMin;
    std::uint32_t incarnation = 0;
    std::uint64_t epoch = 0;
    std::int64_t wall_time = 0;
    Files::Pace pace = {};  // see Files::fill_with_zeros
};

// Makes a prepared segment under its final name, durable in all parts. What was begun is removed on an error.
std::expected<SegmentHeader, Error> prepare_segment(Files& files, const SegmentPlan& plan);

// Puts a prepared segment to use, and waits until that is durable.
std::expected<void, Error> activate_segment(Files& files, Files::Handle file, const SegmentHeader& header);

// "NAME: what: errno's text", with the kind that fits the errno.
Error file_error(const Files& files, std::string_view name, std::string_view what, int os_error,
                 std::uint64_t offset = 0);
Error damage(const Files& files, std::string_view name, std::uint64_t offset, std::string what);

}  // namespace pinnace::journal
