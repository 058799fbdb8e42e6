// SPDX-License-Identifier: Apache-2.0
#include "bench/report.h"

#include <fmt/format.h>

#include <iterator>

#include "bench/ticks.h"

namespace pinnace::bench {

void Report::set_latency(const Histogram& spans) {
    p50_ = to_ns(spans.quantile(0.5));
    p99_ = to_ns(spans.quantile(0.99));
    p999_ = to_ns(spans.quantile(0.999));
    max_ = to_ns(spans.max());
}

std::string Report::to_json() const {
    std::string out = fmt::format(R"({{"bench":"{}","size":{},"count":{},)", bench_, size_, count_);
    fmt::format_to(std::back_inserter(out), R"("p50_ns":{},"p99_ns":{},"p999_ns":{},)", p50_, p99_, p999_);
    fmt::format_to(std::back_inserter(out), R"("max_ns":{},"msgs_per_s":{:.0f})", max_, rate_);
    for (const auto& [key, value] : extras_)
        fmt::format_to(std::back_inserter(out), R"(,"{}":{})", key, value);
    return out + "}";
}

std::string Report::to_text() const {
    std::string out = fmt::format("{} of {} B, {} times\n", bench_, size_, count_);
    const auto line = [&](const std::string& key, double value) {
        fmt::format_to(std::back_inserter(out), "  {:<16} {:>14.0f}\n", key, value);
    };
    line("p50_ns", static_cast<double>(p50_));
    line("p99_ns", static_cast<double>(p99_));
    line("p999_ns", static_cast<double>(p999_));
    line("max_ns", static_cast<double>(max_));
    line("msgs_per_s", rate_);
    for (const auto& [key, value] : extras_) line(key, static_cast<double>(value));
    for (const std::string& text : notes_) out += "  " + text + "\n";
    return out;
}

}  // namespace pinnace::bench
