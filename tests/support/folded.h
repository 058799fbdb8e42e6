// SPDX-License-Identifier: Apache-2.0
// What a checkpoint would hold of records, in memory: folded from the front in two generations, so that
// what was folded is folded again.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/core.h"
#include "core/fold.h"

namespace pinnace::test {

// A record as the fold makes it, or as a journal holds it; the size stands for the body.
struct BareRecord {
    RecordHeader header;
    HeadBytes head;
    std::uint32_t body_size = 0;

    RecordView view() const { return {header, head, {LogPosition{}, body_size, nullptr}}; }
};

// The error is the fold's.
inline std::string fold_records(std::span<const BareRecord> records, const Fold::DedupWindow& window,
                                std::vector<BareRecord>& folded) {
    struct Output final : FoldOutput {
        explicit Output(std::vector<BareRecord>& to) : records(to) {}
        void record(const RecordHeader& header, std::span<const std::byte> head) override {
            records.push_back({header, {head.begin(), head.end()}, 0});
        }
        std::vector<BareRecord>& records;
    };
    Fold fold(window);
    for (const BareRecord& record : records)
        if (auto noted = fold.note(record.view()); !noted) return noted.error();
    folded.clear();
    Output out(folded);
    fold.begin(out);
    for (const BareRecord& record : records) fold.keep(record.view(), out);
    fold.end(out);
    return {};
}

// Folds the first half, then that with the next quarter; the rest follows as it is.
inline std::string fold_twice(std::span<const BareRecord> records, const Fold::DedupWindow& window,
                              std::vector<BareRecord>& result) {
    const std::size_t half = records.size() / 2;
    const std::size_t three_quarters = half + (records.size() - half) / 2;
    std::vector<BareRecord> first;
    if (auto error = fold_records(records.first(half), window, first); !error.empty()) return error;
    for (const BareRecord& record : records.subspan(half, three_quarters - half)) first.push_back(record);
    if (auto error = fold_records(first, window, result); !error.empty()) return error;
    for (const BareRecord& record : records.subspan(three_quarters)) result.push_back(record);
    return {};
}

inline std::string apply_all(Core& core, std::span<const BareRecord> records) {
    for (const BareRecord& record : records)
        if (auto applied = core.apply(record.view()); !applied) return applied.error();
    return {};
}

}  // namespace pinnace::test
