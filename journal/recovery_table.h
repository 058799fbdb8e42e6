// SPDX-License-Identifier: Apache-2.0
// What is decided when the journal is read back, as data: every combination of findings has exactly one row,
// which a test walks (S4). Nothing else in recovery decides about bytes.
//
// A batch that is not good ends the good part of its segment, at X. What is known about X then:
//   last     - no active segment follows this one. Else the next one's header names this one's end
//   (previous_end). evidence - in the last segment, from X to its end:
//              clean   - only zeros
//              residue - something was written there, but nothing says that X was durable
//              proof   - a whole batch of this segment says that the journal was durable beyond X
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "journal/batch.h"
#include "journal/segment.h"

namespace pinnace::journal {

enum class Evidence : std::uint8_t { clean, residue, proof };
inline constexpr std::size_t kEvidenceCount = 3;

enum class EndDecision : std::uint8_t {
    go_on,    // the batch is good
    end,      // the journal ends here, as it was written
    torn,     // the journal ends here; what follows was never reported durable, is left alone and reported
    damaged,  // stop: durable bytes are gone
    newer,    // stop: written by a newer version
};

struct EndRow {
    const char* name;
    std::uint32_t verdicts;  // bits by BatchVerdict
    std::uint32_t last;      // bit 0: not the last segment, bit 1: the last one
    std::uint32_t evidence;  // bits by Evidence
    EndDecision decision;
};

constexpr std::uint32_t bit(auto value) { return std::uint32_t{1} << static_cast<std::uint32_t>(value); }
inline constexpr std::uint32_t kAnyEvidence =
    bit(Evidence::clean) | bit(Evidence::residue) | bit(Evidence::proof);
inline constexpr std::uint32_t kNotLast = 1;
inline constexpr std::uint32_t kLast = 2;
// What a crash can leave at X: nothing, a part of a batch, or bytes of a former use of the file.
inline constexpr std::uint32_t kCrashResidue = bit(BatchVerdict::no_magic) | bit(BatchVerdict::bad_header) |
                                               bit(BatchVerdict::other_epoch) | bit(BatchVerdict::bad_index) |
                                               bit(BatchVerdict::bad_payload);
// What no crash leaves: the checksum of the header matches, yet it is not the batch that belongs here.
inline constexpr std::uint32_t kImpossible = bit(BatchVerdict::wrong_place) |
                                             bit(BatchVerdict::wrong_sequence) |
                                             bit(BatchVerdict::wrong_chain) | bit(BatchVerdict::bad_size);

inline constexpr std::array kEndTable = {
    EndRow{"A good", bit(BatchVerdict::good), kNotLast | kLast, kAnyEvidence, EndDecision::go_on},
    EndRow{"B newer", bit(BatchVerdict::newer), kNotLast | kLast, kAnyEvidence, EndDecision::newer},
    EndRow{"C before the proven end", bit(BatchVerdict::zero) | kCrashResidue | kImpossible, kNotLast,
           kAnyEvidence, EndDecision::damaged},
    EndRow{"D later batches prove it", bit(BatchVerdict::zero) | kCrashResidue, kLast, bit(Evidence::proof),
           EndDecision::damaged},
    EndRow{"E unused space", bit(BatchVerdict::zero), kLast, bit(Evidence::clean), EndDecision::end},
    EndRow{"F a batch whose first block is not there", bit(BatchVerdict::zero), kLast, bit(Evidence::residue),
           EndDecision::torn},
    EndRow{"G a part of a batch", kCrashResidue, kLast, bit(Evidence::clean) | bit(Evidence::residue),
           EndDecision::torn},
    EndRow{"H whole, but not what was written here", kImpossible, kLast, kAnyEvidence, EndDecision::damaged},
};

constexpr bool matches(const EndRow& row, BatchVerdict verdict, bool last, Evidence evidence) {
    return (row.verdicts & bit(verdict)) != 0 && (row.last & (last ? kLast : kNotLast)) != 0 &&
           (row.evidence & bit(evidence)) != 0;
}

constexpr EndDecision decide_end(BatchVerdict verdict, bool last, Evidence evidence) {
    for (const EndRow& row : kEndTable) {
        if (matches(row, verdict, last, evidence)) return row.decision;
    }
    return EndDecision::damaged;
}

// The two copies of a segment's header.
enum class HeaderDecision : std::uint8_t {
    active,    // the journal goes on in this segment
    prepared,  // a spare
    damaged,   // stop
    newer,     // stop: written by a newer version
};

struct HeaderRow {
    const char* name;
    std::uint32_t first;   // bits by CopyVerdict, copy in block 0
    std::uint32_t second;  // copy in block 1
    HeaderDecision decision;
};

inline constexpr std::uint32_t kOld = bit(CopyVerdict::prepared) | bit(CopyVerdict::bad);
inline constexpr std::uint32_t kKnown = kOld | bit(CopyVerdict::active);
inline constexpr std::array kHeaderTable = {
    // A header that became active was written when the end before it was durable: one whole copy is enough.
    HeaderRow{"A first is active", bit(CopyVerdict::active), kKnown, HeaderDecision::active},
    HeaderRow{"B second is active", kOld, bit(CopyVerdict::active), HeaderDecision::active},
    HeaderRow{"C first is prepared", bit(CopyVerdict::prepared), kOld, HeaderDecision::prepared},
    HeaderRow{"D second is prepared", bit(CopyVerdict::bad), bit(CopyVerdict::prepared),
              HeaderDecision::prepared},
    HeaderRow{"E none is whole", bit(CopyVerdict::bad), bit(CopyVerdict::bad), HeaderDecision::damaged},
    HeaderRow{"F first is newer", bit(CopyVerdict::newer), kKnown | bit(CopyVerdict::newer),
              HeaderDecision::newer},
    HeaderRow{"G second is newer", kKnown, bit(CopyVerdict::newer), HeaderDecision::newer},
};

constexpr bool matches(const HeaderRow& row, CopyVerdict first, CopyVerdict second) {
    return (row.first & bit(first)) != 0 && (row.second & bit(second)) != 0;
}

constexpr HeaderDecision decide_header(CopyVerdict first, CopyVerdict second) {
    for (const HeaderRow& row : kHeaderTable) {
        if (matches(row, first, second)) return row.decision;
    }
    return HeaderDecision::damaged;
}

}  // namespace pinnace::journal
