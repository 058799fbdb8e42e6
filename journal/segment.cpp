// SPDX-License-Identifier: Apache-2.0
#include "journal/segment.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "core/check.h"
#include "journal/checkpoint_format.h"
#include "journal/crc32c.h"
#include "journal/recovery_table.h"

namespace pinnace::journal {
namespace {

constexpr std::size_t kNumberDigits = 16;

std::string numbered(const char* prefix, std::uint64_t number, const char* suffix) {
    char text[40];
    std::snprintf(text, sizeof text, "%s%016llx%s", prefix, static_cast<unsigned long long>(number), suffix);
    return text;
}

std::optional<std::uint64_t> parse_numbered(std::string_view prefix, std::string_view name,
                                            std::string_view suffix) {
    if (!name.starts_with(prefix) || !name.ends_with(suffix)) return std::nullopt;
    const std::string_view digits = name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
    if (digits.size() != kNumberDigits) return std::nullopt;
    std::uint64_t number = 0;
    for (const char digit : digits) {
        const std::size_t value = std::string_view("0123456789abcdef").find(digit);
        if (value == std::string_view::npos) return std::nullopt;
        number = number << 4 | value;
    }
    return number;
}

bool geometry_is_possible(const SegmentHeader& header) {
    const std::uint32_t block = header.block_size;
    return header.header_size == sizeof(SegmentHeader) && block >= kBlockSizeMin && block <= kBlockSizeMax &&
           (block & (block - 1)) == 0 && header.capacity % block == 0 &&
           header.capacity > header_blocks_size(block) && header.capacity <= kSegmentSizeMax &&
           header.segment_number != 0 && header.segment_number <= 0xffff'ffff;
}

// A newer header may be longer; that its checksum is its last four bytes holds for all versions.
bool whole_header_matches(std::span<const std::byte> bytes, std::uint32_t size) {
    if (size < sizeof(SegmentHeader) || size > bytes.size()) return false;
    std::uint32_t crc = 0;
    std::memcpy(&crc, bytes.data() + size - sizeof crc, sizeof crc);
    return crc == mask_crc(crc32c(0, bytes.data(), size - sizeof crc));
}

// Writes a file of zeros with a prepared header, synced, not yet under its final name.
std::expected<void, int> write_prepared(Files& files, Files::Handle file, const SegmentHeader& header,
                                        const Files::Pace& pace) {
    if (const auto filled = files.fill_with_zeros(file, header.capacity, pace); !filled) return filled;
    const BlockBuffer blocks(header_blocks_size(header.block_size));
    encode_header_blocks(header, blocks.bytes());
    if (const auto written = files.write(file, 0, blocks.bytes()); !written) return written;
    return files.sync(file);
}

}  // namespace

std::string segment_name(std::uint64_t segment_number) { return numbered("j-", segment_number, ".seg"); }
std::string preparing_name(std::uint64_t segment_number) { return numbered("new-", segment_number, ".seg"); }
std::string checkpoint_name(std::uint64_t generation) { return numbered("checkpoint-", generation, ".ckp"); }
std::optional<std::uint64_t> parse_segment_name(std::string_view name) {
    return parse_numbered("j-", name, ".seg");
}
std::optional<std::uint64_t> parse_checkpoint_name(std::string_view name) {
    return parse_numbered("checkpoint-", name, ".ckp");
}
bool is_preparing_name(std::string_view name) { return parse_numbered("new-", name, ".seg").has_value(); }

CopyVerdict read_segment_header(std::span<const std::byte> bytes, SegmentHeader& header) {
    if (bytes.size() < sizeof(SegmentHeader)) return CopyVerdict::bad;
    SegmentHeader found;
    std::memcpy(&found, bytes.data(), sizeof found);
    if (found.magic != kSegmentMagic || !whole_header_matches(bytes, found.header_size))
        return CopyVerdict::bad;
    if (found.reader_version_min > kFormatVersion) return CopyVerdict::newer;
    if (!geometry_is_possible(found)) return CopyVerdict::bad;
    header = found;
    if (found.state == SegmentState::active) return CopyVerdict::active;
    return found.state == SegmentState::prepared ? CopyVerdict::prepared : CopyVerdict::bad;
}

std::expected<SegmentHeader, Error> read_segment(Files& files, const std::string& name, Files::Handle file) {
    const auto size = files.size(file);
    if (!size) return std::unexpected(file_error(files, name, "cannot be read", size.error()));
    // The second copy's place depends on the block size, which a damaged first one does not tell: all are
    // looked at.
    std::byte bytes[kSegmentHeaderSizeMax];
    SegmentHeader first;
    SegmentHeader second;
    CopyVerdict second_verdict = CopyVerdict::bad;
    const auto read = files.read(file, 0, bytes);
    if (!read) return std::unexpected(file_error(files, name, "cannot be read", read.error()));
    const CopyVerdict first_verdict = read_segment_header(std::span(bytes).first(*read), first);
    for (std::uint32_t block = kBlockSizeMin; block <= kBlockSizeMax && second_verdict == CopyVerdict::bad;
         block *= 2) {
        const auto again = files.read(file, block, bytes);
        if (!again) return std::unexpected(file_error(files, name, "cannot be read", again.error(), block));
        second_verdict = read_segment_header(std::span(bytes).first(*again), second);
        if (second_verdict != CopyVerdict::newer && second.block_size != block)
            second_verdict = CopyVerdict::bad;
    }
    switch (decide_header(first_verdict, second_verdict)) {
        case HeaderDecision::newer:
            return std::unexpected(Error{ErrorKind::newer,
                                         files.path(name) + " was written by a newer version of pinnace.",
                                         files.path(name), 0, 0});
        case HeaderDecision::damaged:
            return std::unexpected(damage(files, name, 0, "neither copy of the segment's header is whole"));
        case HeaderDecision::active:
        case HeaderDecision::prepared:
            break;
    }
    const SegmentHeader& header = first_verdict == CopyVerdict::active     ? first
                                  : second_verdict == CopyVerdict::active  ? second
                                  : first_verdict == CopyVerdict::prepared ? first
                                                                           : second;
    if (parse_segment_name(name) != header.segment_number) {
        return std::unexpected(
            damage(files, name, 0, "the header is that of segment " + std::to_string(header.segment_number)));
    }
    if (*size != header.capacity) {
        return std::unexpected(damage(files, name, *size,
                                      "the file has " + std::to_string(*size) + " bytes and should have " +
                                          std::to_string(header.capacity)));
    }
    return header;
}

void encode_header_blocks(SegmentHeader header, std::span<std::byte> blocks) {
    PINNACE_CHECK(blocks.size() == header_blocks_size(header.block_size));
    seal_header(header);
    std::memset(blocks.data(), 0, blocks.size());
    std::memcpy(blocks.data(), &header, sizeof header);
    std::memcpy(blocks.data() + header.block_size, &header, sizeof header);
}

std::expected<SegmentHeader, Error> prepare_segment(Files& files, const SegmentPlan& plan) {
    SegmentHeader header;
    header.uuid = plan.uuid;
    header.segment_number = plan.segment_number;
    header.epoch = plan.epoch;
    header.capacity = plan.capacity;
    header.block_size = plan.block_size;
    header.incarnation = plan.incarnation;
    header.created_wall_time = plan.wall_time;
    PINNACE_CHECK(geometry_is_possible(header));
    const std::string name = preparing_name(plan.segment_number);
    const std::string final_name = segment_name(plan.segment_number);
    auto file = files.create(name);
    if (!file && file.error() == EEXIST) {
        // Left by a try that failed; gone for good before the name is used again.
        if (files.remove(name) && files.sync_directory()) file = files.create(name);
    }
    if (!file) return std::unexpected(file_error(files, name, "cannot be made", file.error()));
    auto done = write_prepared(files, *file, header, plan.pace);
    files.close(*file);
    if (done) done = files.rename(name, final_name);
    if (done) done = files.sync_directory();
    if (!done) {
        // An error of this removal would hide the one that matters; the next start removes the file.
        [[maybe_unused]] const auto removed = files.remove(name);
        return std::unexpected(file_error(files, name, "cannot be prepared", done.error()));
    }
    seal_header(header);
    return header;
}

std::expected<void, Error> activate_segment(Files& files, Files::Handle file, const SegmentHeader& header) {
    const BlockBuffer blocks(header_blocks_size(header.block_size));
    encode_header_blocks(header, blocks.bytes());
    auto done = files.write(file, 0, blocks.bytes());
    if (done) done = files.sync(file);
    if (done) return {};
    return std::unexpected(
        file_error(files, segment_name(header.segment_number), "cannot be put to use", done.error()));
}

Error file_error(const Files& files, std::string_view name, std::string_view what, int os_error,
                 std::uint64_t offset) {
    const bool full = os_error == ENOSPC || os_error == EDQUOT || os_error == EFBIG;
    return {full ? ErrorKind::no_space : ErrorKind::io,
            files.path(name) + " " + std::string(what) + ": " + std::strerror(os_error) + ".",
            files.path(name), offset, os_error};
}

Error damage(const Files& files, std::string_view name, std::uint64_t offset, std::string what) {
    return {ErrorKind::damaged,
            "The journal is damaged: " + files.path(name) + " at offset " + std::to_string(offset) + ": " +
                what + ".",
            files.path(name), offset, 0};
}

}  // namespace pinnace::journal
