// SPDX-License-Identifier: Apache-2.0
// QueueQuery: one question for a queue's available messages with their bodies (V1), answered in parts and
// worked on in slices, so that a long list or a large body holds up nobody (rule 18).
//
// The list is that of the moment when the question came; of a message that has left since, the body is shown
// all the same. Finding what is available walks the queue once, in one go: the core offers no slices for
// that.
//
// Thread: the dispatcher.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "bindings/daemon/dispatcher.h"
#include "core/query_filter.h"

namespace pinnace::daemon {

class QueueQuery {
 public:
    static std::expected<std::unique_ptr<QueueQuery>, RequestError> open(Dispatcher& dispatcher,
                                                                         QueueId queue,
                                                                         std::string_view where,
                                                                         std::uint64_t count_max);

    // Works for a slice. True: a part is ready, or the end is reached; or the client has waited long
    // enough, and gets a part with little or nothing in it.
    bool work(Dispatcher& dispatcher);
    // After work() said true: the part, at most protocol::kPartSizeMax bytes, and whether more is to come.
    struct Part {
        std::vector<std::byte> bytes;
        bool more = false;
    };
    Part take_part();

 private:
    struct Found {
        Position position;
        Position body_position;
        LogPosition log;
        Time published;
        std::uint32_t size;
        TopicId topic;
    };

    void look_at(Dispatcher& dispatcher, const Found& message, const std::byte* data);
    bool at_end() const { return next_ == found_.size() || count_left_ == 0; }

    std::vector<Found> found_;
    std::size_t next_ = 0;
    std::uint64_t count_left_ = 0;
    int slice_count_ = 0;                // of this part
    std::optional<QueryFilter> filter_;  // none: all
    std::vector<std::byte> bytes_;       // made and not taken
    std::size_t taken_ = 0;              // of them
};

}  // namespace pinnace::daemon
