// SPDX-License-Identifier: Apache-2.0
#include "bindings/daemon/queue_query.h"

#include <algorithm>
#include <span>

#include "bindings/protocol/requests.h"
#include "bindings/protocol/wire.h"

namespace pinnace::daemon {
namespace {

// Of one slice: messages looked at, bodies fetched from the journal (the dispatcher waits for each), bytes.
constexpr int kMessagesPerSlice = 256;
constexpr int kColdPerSlice = 4;
constexpr int kSlicesPerPart = 1024;
constexpr std::size_t kBytesPerSlice = 256 * 1024;
// A list that does not fit into memory kept aside is refused, not cut.
constexpr std::size_t kFoundMax = std::size_t{4} << 20;

}  // namespace

std::expected<std::unique_ptr<QueueQuery>, RequestError> QueueQuery::open(Dispatcher& dispatcher,
                                                                          QueueId queue,
                                                                          std::string_view where,
                                                                          std::uint64_t count_max) {
    const Core& core = dispatcher.pump().core();
    auto query = std::make_unique<QueueQuery>();
    query->count_left_ = count_max;
    if (!where.empty()) {
        auto compiled = QueryFilter::compile(core, queue, where);
        if (!compiled) return std::unexpected(RequestError{Answer::bad_filter, compiled.error()});
        query->filter_.emplace(std::move(*compiled));
    }
    // Without a filter no more than what is asked for need be kept.
    const std::uint64_t wanted = query->filter_ ? UINT64_MAX : count_max;
    bool too_many = false;
    core.query(queue, [&](const QueuedMessage& message) {
        if (query->found_.size() >= wanted) return false;
        too_many = query->found_.size() == kFoundMax;
        if (too_many) return false;
        query->found_.push_back({message.position, message.body_position, message.body.log, message.published,
                                 message.body.size, message.topic});
        return true;
    });
    if (too_many) {
        return std::unexpected(RequestError{
            Answer::bad_request, "bad_request: more than 4,194,304 messages are available; ask for fewer"});
    }
    return query;
}

bool QueueQuery::work(Dispatcher& dispatcher) {
    EngineLog& log = dispatcher.log();
    const bool is_last_slice = ++slice_count_ == kSlicesPerPart;
    int cold_left = kColdPerSlice;
    std::size_t bytes_left = kBytesPerSlice;
    for (int i = 0; i < kMessagesPerSlice && !at_end(); ++i) {
        if (bytes_.size() - taken_ >= protocol::kPartSizeMax) return true;
        const Found& message = found_[next_];
        const bool warm = log.resident(message.log, message.size);
        if ((!warm && cold_left-- == 0) || bytes_left == 0) return is_last_slice;
        look_at(dispatcher, message,
                warm ? log.body(message.log) : log.read_now(message.body_position, message.size));
        bytes_left -= std::min<std::size_t>(bytes_left, message.size);
        ++next_;
    }
    return is_last_slice || at_end() || bytes_.size() - taken_ >= protocol::kPartSizeMax;
}

void QueueQuery::look_at(Dispatcher& dispatcher, const Found& message, const std::byte* data) {
    if (filter_ && !filter_->matches(dispatcher.pump().core(), message.topic, data, message.size)) return;
    --count_left_;
    const std::string_view body = data == nullptr
                                      ? std::string_view()
                                      : std::string_view(reinterpret_cast<const char*>(data), message.size);
    protocol::WireWriter writer;
    writer.put(message.position).put(message.topic).put(message.published);
    writer.put(static_cast<std::uint8_t>(data != nullptr)).put(body);
    const auto made = writer.bytes();
    bytes_.insert(bytes_.end(), made.begin(), made.end());
}

QueueQuery::Part QueueQuery::take_part() {
    Part part;
    slice_count_ = 0;
    const std::size_t size = std::min(bytes_.size() - taken_, protocol::kPartSizeMax);
    const auto from = bytes_.begin() + static_cast<std::ptrdiff_t>(taken_);
    part.bytes.assign(from, from + static_cast<std::ptrdiff_t>(size));
    taken_ += size;
    if (taken_ == bytes_.size()) {
        bytes_.clear();
        taken_ = 0;
    }
    part.more = !bytes_.empty() || !at_end();
    return part;
}

}  // namespace pinnace::daemon
