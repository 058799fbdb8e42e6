// SPDX-License-Identifier: Apache-2.0
// EvalContext: what an evaluation needs beside the program: the message's facts, room for values and texts,
// and counters. One for each thread that evaluates; used again for every message, so that nothing is
// allocated once it has grown to what the expressions need.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/expr/value.h"

namespace pinnace::expr {

// What the message functions tell of. Texts must live until the evaluation's result has been used.
struct MessageFacts {
    std::string_view topic;           // TOPIC_NAME
    std::string_view bookmark;        // BOOKMARK; only needed if the expression's functions() say so
    std::string_view correlation_id;  // CORRELATION_ID
    std::uint64_t size = 0;           // MESSAGE_SIZE, in bytes
    std::int64_t now_ns = 0;          // UNIX_TIMESTAMP: nanoseconds since 1970
    bool in_queue = false;            // false: LEASE_COUNT and LAST_LEASED are NULL
    std::uint32_t lease_count = 0;    // LEASE_COUNT
    bool was_leased = false;          // false: LAST_LEASED is NULL
    std::int64_t last_leased_ns = 0;  // LAST_LEASED
};

// Texts that an evaluation makes: pieces that never move until reset(). Keeps its memory.
class TextScratch {
 public:
    // Room for `size` bytes, null if the evaluation's texts would exceed kSizeMax.
    char* take(std::size_t size);
    // The last `size` bytes of the newest piece are not needed.
    void give_back(std::size_t size) { used_ -= size; }
    void reset();

    static constexpr std::size_t kSizeMax = std::size_t{16} << 20;

 private:
    struct Chunk {
        std::unique_ptr<char[]> bytes;
        std::size_t size = 0;
    };
    std::vector<Chunk> chunks_;
    std::size_t chunk_ = 0;  // the one in use
    std::size_t used_ = 0;   // of it
    std::size_t total_ = 0;  // of the evaluation
};

struct EvalCounters {
    std::uint64_t match_limit_count = 0;  // patterns stopped by their limit: FALSE, or NULL
    std::uint64_t text_limit_count = 0;   // functions whose text would have been too long: NULL
};

class PatternScratch;  // of PCRE2

class EvalContext {
 public:
    EvalContext();
    ~EvalContext();
    EvalContext(const EvalContext&) = delete;
    EvalContext& operator=(const EvalContext&) = delete;

    MessageFacts facts;
    EvalCounters counters;

    // --- For the evaluation itself
    Value* stack() { return stack_.get(); }
    TextScratch& texts() { return texts_; }
    PatternScratch& patterns() { return *patterns_; }
    // `text` as a value of its own, copied into the scratch.
    Value copy_text(std::string_view text);
    // The text of a value (numbers in their shortest form, true, false); a number's is in the scratch.
    std::string_view text_of(const Value& value);

 private:
    std::unique_ptr<Value[]> stack_;
    TextScratch texts_;
    std::unique_ptr<PatternScratch> patterns_;
};

}  // namespace pinnace::expr
