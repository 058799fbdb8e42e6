// SPDX-License-Identifier: Apache-2.0
#include "journal/format.h"

#include "journal/checkpoint_format.h"
#include "journal/crc32c.h"

namespace pinnace::journal {

std::uint32_t next_chain(std::uint32_t previous_chain, std::uint32_t header_crc, std::uint32_t index_crc) {
    const std::uint32_t parts[] = {previous_chain, header_crc, index_crc};
    return mask_crc(crc32c(0, parts, sizeof parts));
}

void seal_header(SegmentHeader& header) {
    header.header_crc = mask_crc(crc32c(0, &header, offsetof(SegmentHeader, header_crc)));
}

void seal_header(BatchHeader& header) {
    header.header_crc = mask_crc(crc32c(0, &header, offsetof(BatchHeader, header_crc)));
}

void seal_header(CheckpointHeader& header) {
    header.header_crc = mask_crc(crc32c(0, &header, offsetof(CheckpointHeader, header_crc)));
}

bool header_crc_matches(const SegmentHeader& header) {
    return header.header_crc == mask_crc(crc32c(0, &header, offsetof(SegmentHeader, header_crc)));
}

bool header_crc_matches(const BatchHeader& header) {
    return header.header_crc == mask_crc(crc32c(0, &header, offsetof(BatchHeader, header_crc)));
}

}  // namespace pinnace::journal
