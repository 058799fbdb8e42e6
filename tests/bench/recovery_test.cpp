// SPDX-License-Identifier: Apache-2.0
#include "bench/recovery.h"

#include <gtest/gtest.h>

namespace pinnace::bench {
namespace {

TEST(RecoveryBench, AllAreBackFromTheJournalAndFromACheckpoint) {
    RecoveryChoice choice;
    choice.message_count = 20'000;
    choice.segment_size = 32u << 20;
    const auto report = recovery(choice);
    ASSERT_TRUE(report.has_value()) << report.error();
    EXPECT_EQ(report->payload_bytes, 20'000u * 64);
    // What a message costs beside its payload is bounded; a checkpoint has no bodies.
    EXPECT_GT(report->journal_bytes, report->payload_bytes);
    EXPECT_LT(report->journal_bytes, 3 * report->payload_bytes);
    EXPECT_LT(report->checkpoint_bytes, report->journal_bytes);
}

TEST(RecoveryBench, TheReportHasTheKeysThatScriptsReadInOneLine) {
    const std::string json = RecoveryReport{}.to_json();
    for (const char* key : {"messages", "payload_bytes", "journal_bytes", "seconds", "raw_read_seconds",
                            "checkpoint_seconds", "checkpoint_read_seconds"})
        EXPECT_NE(json.find(std::string("\"") + key + "\":"), std::string::npos) << key;
    EXPECT_EQ(json.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace pinnace::bench
