// SPDX-License-Identifier: Apache-2.0
#include "journal/recovery_table.h"

#include "tests/journal/support.h"

namespace pinnace::journal::test {
namespace {

TEST(RecoveryTable, EveryCombinationOfAnEndHasExactlyOneRow) {
    for (std::size_t verdict = 0; verdict < kBatchVerdictCount; ++verdict) {
        for (const bool last : {false, true}) {
            for (std::size_t evidence = 0; evidence < kEvidenceCount; ++evidence) {
                int count = 0;
                for (const EndRow& row : kEndTable) {
                    count += matches(row, static_cast<BatchVerdict>(verdict), last,
                                     static_cast<Evidence>(evidence))
                                 ? 1
                                 : 0;
                }
                EXPECT_EQ(count, 1) << to_text(static_cast<BatchVerdict>(verdict)) << " last " << last
                                    << " evidence " << evidence;
            }
        }
    }
}

TEST(RecoveryTable, EveryCombinationOfHeaderCopiesHasExactlyOneRow) {
    for (std::size_t first = 0; first < kCopyVerdictCount; ++first) {
        for (std::size_t second = 0; second < kCopyVerdictCount; ++second) {
            int count = 0;
            for (const HeaderRow& row : kHeaderTable) {
                count +=
                    matches(row, static_cast<CopyVerdict>(first), static_cast<CopyVerdict>(second)) ? 1 : 0;
            }
            EXPECT_EQ(count, 1) << first << " " << second;
        }
    }
}

// S4: whatever is found, damage that is proven is never taken for an end.
TEST(RecoveryTable, ProofOfDurabilityNeverLeadsToAnEnd) {
    for (std::size_t i = 0; i < kBatchVerdictCount; ++i) {
        const auto verdict = static_cast<BatchVerdict>(i);
        if (verdict == BatchVerdict::good) continue;
        for (const bool last : {false, true}) {
            const EndDecision decision = decide_end(verdict, last, Evidence::proof);
            EXPECT_TRUE(decision == EndDecision::damaged || decision == EndDecision::newer)
                << to_text(verdict);
        }
        EXPECT_NE(decide_end(verdict, false, Evidence::clean), EndDecision::end);
        EXPECT_NE(decide_end(verdict, false, Evidence::clean), EndDecision::torn);
    }
}

}  // namespace
}  // namespace pinnace::journal::test
