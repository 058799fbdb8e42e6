// SPDX-License-Identifier: Apache-2.0
// Report: what a benchmark found, as lines for a person or as one JSON object for a script.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "bench/histogram.h"

namespace pinnace::bench {

class Report {
 public:
    Report(std::string bench, std::uint64_t size, std::uint64_t count)
        : bench_(std::move(bench)), size_(size), count_(count) {}

    // Sets p50_ns, p99_ns, p999_ns and max_ns from spans of ticks.
    void set_latency(const Histogram& spans);
    void set_rate(double messages_per_second) { rate_ = messages_per_second; }
    // A figure of this benchmark alone, in the order in which they are added.
    void add(std::string key, std::uint64_t value) { extras_.emplace_back(std::move(key), value); }
    // A line for persons only.
    void note(std::string text) { notes_.push_back(std::move(text)); }

    std::uint64_t p50_ns() const { return p50_; }
    std::string to_json() const;
    std::string to_text() const;

 private:
    std::string bench_;
    std::uint64_t size_;
    std::uint64_t count_;
    std::uint64_t p50_ = 0;
    std::uint64_t p99_ = 0;
    std::uint64_t p999_ = 0;
    std::uint64_t max_ = 0;
    double rate_ = 0;
    std::vector<std::pair<std::string, std::uint64_t>> extras_;
    std::vector<std::string> notes_;
};

}  // namespace pinnace::bench
