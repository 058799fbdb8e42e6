// SPDX-License-Identifier: Apache-2.0
#include "bench/floor.h"

#include <gtest/gtest.h>

namespace pinnace::bench {
namespace {

Place any_place() { return choose_place("").value(); }

TEST(Floor, EachRoundTripIsMeasuredOnce) {
    EXPECT_EQ(cache_line_round_trip(any_place(), 100).count(), 100u);
    for (const std::uint64_t size : {0u, 64u, 100u, 1024u, 5000u, 65536u, 1u << 20}) {
        EXPECT_EQ(queue_round_trip(any_place(), size, 20).count(), 20u) << size;
    }
}

TEST(Floor, TheReportHasTheKeysThatScriptsReadInOneLine) {
    const std::string json = floor(any_place(), 64, 100).to_json();
    EXPECT_TRUE(json.starts_with(R"({"bench":"floor","size":64,"count":100,"p50_ns":)")) << json;
    for (const char* key : {"p99_ns", "p999_ns", "max_ns", "msgs_per_s", "raw_p50_ns", "spsc_p50_ns"}) {
        EXPECT_NE(json.find(std::string("\"") + key + "\":"), std::string::npos) << key;
    }
    EXPECT_EQ(json.find('\n'), std::string::npos);
    EXPECT_EQ(json.back(), '}');
}

TEST(Place, CoresThatCannotBeHadAreRefusedByName) {
    EXPECT_FALSE(choose_place("0"));
    EXPECT_FALSE(choose_place("a,b"));
    const auto place = choose_place("0,99999");
    ASSERT_FALSE(place);
    EXPECT_NE(place.error().find("99999"), std::string::npos);
}

TEST(Place, TheEnvironmentIsOneLine) { EXPECT_EQ(environment().find('\n'), std::string::npos); }

}  // namespace
}  // namespace pinnace::bench
