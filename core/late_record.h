// SPDX-License-Identifier: Apache-2.0
// LateRecord: the record of a plain publish, held back until its delivery is written: a subscriber waits for
// the delivery, nobody for the record, which is appended before anything else is and before the step ends.
//
// Thread: the dispatcher.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "core/record.h"
#include "core/types.h"

namespace pinnace {

class LateRecord {
 public:
    // From here up to dismiss() the next record may be held back, if it is a message's whose body lies in the
    // log.
    void expect() { expected_ = true; }
    void dismiss() { expected_ = false; }

    // True: it is kept here.
    bool take(const RecordHeader& header, std::span<const std::byte> head, const BodyRef& body) {
        if (!expected_) return false;
        expected_ = false;
        const bool is_message = header.kind == static_cast<std::uint16_t>(RecordKind::message);
        if (!is_message || body.log == kCold || head.size() > head_.size()) return false;
        header_ = header;
        std::ranges::copy(head, head_.begin());
        head_size_ = head.size();
        body_ = body;
        waits_ = true;
        return true;
    }

    bool waits() const { return waits_; }
    const RecordHeader& header() const { return header_; }
    std::span<const std::byte> head() const { return std::span(head_).first(head_size_); }
    // Its body; from here on it is not kept any more.
    const BodyRef& leave() {
        waits_ = false;
        return body_;
    }

 private:
    bool expected_ = false;
    bool waits_ = false;
    std::size_t head_size_ = 0;
    RecordHeader header_;
    std::array<std::byte, 32> head_;
    BodyRef body_;
};

}  // namespace pinnace
