// SPDX-License-Identifier: Apache-2.0
// Subscription: what stands behind a Subscriber: the messages that the application holds now and their
// bodies, and those that were taken out of the shared ring but not handed over yet.
//
// Thread: as Session.
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bindings/cpp/error.h"
#include "bindings/cpp/message.h"
#include "shm/client_session.h"

namespace pinnace::client {

// Memory for the bodies of one take: nothing is freed until the next one, and nothing is allocated once it
// has grown.
class Arena {
 public:
    std::span<std::byte> allocate(std::size_t size) {
        const std::size_t wanted = (size + 15) & ~std::size_t{15};
        if (left_ < wanted) next_chunk(wanted);
        std::byte* at = next_;
        next_ += wanted;
        left_ -= wanted;
        return {at, size};
    }
    void reset() {
        chunk_ = 0;
        left_ = 0;
    }

 private:
    static constexpr std::size_t kChunkSize = 256 * 1024;
    struct Chunk {
        std::unique_ptr<std::byte[]> bytes;
        std::size_t size = 0;
    };
    void next_chunk(std::size_t wanted);

    std::vector<Chunk> chunks_;
    std::size_t chunk_ = 0;  // the next one to be used
    std::byte* next_ = nullptr;
    std::size_t left_ = 0;
};

class Subscription {
 public:
    struct Names {
        std::string_view topic;
        std::string_view queue;
    };
    // Taken out of the ring, not handed over.
    struct Pending {
        shm::DeliveryEntry entry;
        Names names;
        std::vector<std::byte> body;
        std::int64_t published = 0;
        bool is_ready = false;
        std::uint64_t again_number = 0;  // of the verb that asked for the body
        std::int64_t asked_at_ns = 0;
    };

    Subscription(std::string target, std::uint64_t max_backlog, std::string filter)
        : target_(std::move(target)), wanted_(max_backlog), filter_(std::move(filter)) {}

    // Of one that takes nothing by itself: its id is known after the first pull.
    bool only_pulls() const { return only_pulls_; }
    void set_only_pulls() { only_pulls_ = true; }

    const std::string& target() const { return target_; }
    const std::string& filter() const { return filter_; }
    std::uint64_t wanted() const { return wanted_; }
    std::uint64_t limit() const { return limit_; }
    std::uint32_t id() const { return id_; }
    void set(std::uint32_t id, std::uint64_t limit) {
        id_ = id;
        limit_ = limit;
    }
    bool is_open() const { return is_open_; }
    void replace(std::string target, std::uint64_t max_backlog, std::string filter) {
        target_ = std::move(target);
        wanted_ = max_backlog;
        filter_ = std::move(filter);
    }
    void close() { is_open_ = false; }
    const std::optional<Error>& failure() const { return failure_; }
    void fail(Error error) { failure_ = std::move(error); }

    // Gives back what the last take handed over.
    void reset();
    std::span<const Message> messages() const { return messages_; }
    bool has_views() const { return view_count_ != 0; }
    // Leaves the views' memory alone for good.
    void abandon_views() {
        static_cast<void>(new std::array<shm::LogView, shm::kPinCount>(std::move(views_)));
    }

    // Hands a delivery over, its body copied or pinned. `gone`: nothing was handed over, the body must be
    // asked for.
    shm::BodyStatus hand(const shm::LogReader& log, const shm::DeliveryEntry& entry, const Names& names);
    // The same for later.
    shm::BodyStatus keep(const shm::LogReader& log, const shm::DeliveryEntry& entry, const Names& names);
    // Its body was asked for.
    void wait_for_body(const shm::DeliveryEntry& entry, const Names& names, std::uint64_t again_number,
                       std::int64_t now_ns);
    // The body that was asked for. `gone`: it must be asked for once more.
    shm::BodyStatus fill(const shm::LogReader& log, const shm::DeliveryEntry& entry);
    // Hands over from what was kept, as far as it is ready, up to `max` messages of this take.
    void hand_ready(std::size_t max);
    bool has_pending() const { return !pending_.empty(); }
    void clear_pending() { pending_.clear(); }
    // The engine owes no body for this verb. True: it was one of ours.
    bool drop(std::uint64_t again_number);
    // Drops a message whose body has not come for long; its lease, to be handed back.
    std::optional<Lease> drop_late(std::int64_t now_ns);

 private:
    static constexpr std::uint32_t kCopySizeMax = 64 * 1024;  // larger bodies are read in place
    static constexpr std::int64_t kBodyWaitNs = 30'000'000'000;
    Message& append(const shm::DeliveryEntry& entry, const Names& names);

    std::string target_;
    std::uint64_t wanted_;
    std::string filter_;
    std::uint32_t id_ = UINT32_MAX;
    std::uint64_t limit_ = 0;
    bool is_open_ = true;
    bool only_pulls_ = false;
    std::optional<Error> failure_;

    std::vector<Message> messages_;
    Arena arena_;
    std::array<shm::LogView, shm::kPinCount> views_;
    std::size_t view_count_ = 0;
    std::deque<Pending> pending_;
    std::vector<Pending> handed_;  // whose bodies the messages of the last take show
};

}  // namespace pinnace::client
