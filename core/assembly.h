// SPDX-License-Identifier: Apache-2.0
// Assembly: a publish on its way from a submit ring into the delivery log. A message may come in pieces,
// and a publish may be several messages; nothing of it is visible before its last piece is in (F8,
// architecture rule 15).
//
// Owned by the dispatcher. Keeps no pointer into the peer's memory: bodies are in the log, options in
// `option_bytes_`.
#pragma once

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "core/ports.h"
#include "core/publish_options.h"

namespace pinnace {

class Assembly {
 public:
    struct Part {
        LogPosition log;
        std::uint32_t size = 0;
        TopicId topic = kNone;
        std::uint32_t options_offset = 0;
        std::uint32_t options_size = 0;
        std::uint64_t submit_position = 0;  // of its first frame
        std::uint64_t number = 0;
    };

    bool empty() const { return parts_.empty(); }
    bool message_open() const { return message_open_; }
    // All pieces of all messages are in; the publish waits to be applied.
    bool complete() const { return complete_; }
    std::span<const Part> parts() const { return parts_; }
    std::uint64_t byte_count() const { return byte_count_; }
    std::uint64_t number() const { return number_; }
    std::uint64_t previous() const { return previous_; }
    PublisherId publisher() const { return publisher_; }
    bool resend() const { return resend_; }

    // The first frame of a message; its body goes to `log`. False: the options are malformed.
    bool begin_message(const SubmitFrame& frame, LogPosition log) {
        const auto offset = static_cast<std::uint32_t>(option_bytes_.size());
        option_bytes_.insert(option_bytes_.end(), frame.options.begin(), frame.options.end());
        PublishOptions checked;
        if (!decode_options(std::span(option_bytes_).subspan(offset), checked)) return false;
        if (parts_.empty()) {
            previous_ = frame.previous;
            publisher_ = frame.publisher;
        }
        parts_.push_back({log, frame.message_size, frame.topic, offset,
                          static_cast<std::uint32_t>(frame.options.size()), frame.position, frame.number});
        resend_ = frame.resend;
        byte_count_ += frame.message_size;
        message_open_ = true;
        copied_ = 0;
        frame_copied_ = 0;
        return true;
    }

    // How much of the current frame is still to be copied, and where the next piece goes in the message.
    std::size_t frame_left(const SubmitFrame& frame) const { return frame.body.size() - frame_copied_; }
    std::uint32_t copied() const { return copied_; }
    std::size_t frame_copied() const { return frame_copied_; }
    void copied_more(std::size_t size) {
        copied_ += static_cast<std::uint32_t>(size);
        frame_copied_ += size;
    }

    // The current frame is copied whole. False: the pieces do not add up to the message.
    bool end_frame(const SubmitFrame& frame) {
        frame_copied_ = 0;
        if (!frame.last) return copied_ < frame.message_size;
        if (copied_ != frame.message_size) return false;
        message_open_ = false;
        number_ = frame.number;
        complete_ = !frame.more;
        return true;
    }

    PublishOptions options(const Part& part) const {
        PublishOptions options;
        decode_options(std::span(option_bytes_).subspan(part.options_offset, part.options_size), options);
        return options;
    }

    void clear() {
        parts_.clear();
        option_bytes_.clear();
        byte_count_ = 0;
        message_open_ = false;
        complete_ = false;
    }

 private:
    std::vector<Part> parts_;
    std::vector<std::byte> option_bytes_;
    std::uint64_t byte_count_ = 0;
    std::uint64_t number_ = 0;
    std::uint64_t previous_ = kNoPrevious;
    PublisherId publisher_ = kNone;
    std::uint32_t copied_ = 0;
    std::size_t frame_copied_ = 0;
    bool message_open_ = false;
    bool complete_ = false;
    bool resend_ = false;
};

}  // namespace pinnace
