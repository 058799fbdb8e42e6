// SPDX-License-Identifier: Apache-2.0
// The benchmarks over an engine, with parameters so small that they only show that nothing has rotted.
#include "bench/client_bench.h"

#include <gtest/gtest.h>

namespace pinnace::bench {
namespace {

ClientChoice small(std::uint64_t size, std::uint64_t count) {
    ClientChoice choice;
    choice.engine.place = choose_place("").value();
    choice.engine.wait = WaitMode::block;
    choice.engine.is_small = true;
    choice.wait = ConnectionOptions::Wait::block;
    choice.size = size;
    choice.count = count;
    return choice;
}

void expect_keys(const std::string& json, std::initializer_list<const char*> more) {
    for (const char* key :
         {"bench", "size", "count", "p50_ns", "p99_ns", "p999_ns", "max_ns", "msgs_per_s"}) {
        EXPECT_NE(json.find(std::string("\"") + key + "\":"), std::string::npos) << json;
    }
    for (const char* key : more)
        EXPECT_NE(json.find(std::string("\"") + key + "\":"), std::string::npos) << json;
}

TEST(ClientBench, RoundtripMeasuresReceiptAcknowledgmentAndTheFloor) {
    const auto report = roundtrip(small(64, 50));
    ASSERT_TRUE(report) << report.error();
    expect_keys(report->to_json(), {"acked_p50_ns", "spsc_p50_ns"});
    EXPECT_GT(report->p50_ns(), 0u);
}

TEST(ClientBench, ThroughputEndsWithEverythingAcknowledgedAndPersisted) {
    ClientChoice choice = small(64, 5'000);
    choice.persisted = true;
    const auto report = throughput(choice);
    ASSERT_TRUE(report) << report.error();
    expect_keys(report->to_json(), {});
    EXPECT_GT(report->p50_ns(), 0u);
}

TEST(ClientBench, DurableMeasuresABareAppendBesideIt) {
    const auto report = durable(small(100, 20));
    ASSERT_TRUE(report) << report.error();
    expect_keys(report->to_json(), {"raw_p50_ns"});
}

}  // namespace
}  // namespace pinnace::bench
