// SPDX-License-Identifier: Apache-2.0
#include "bench/depth.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <random>
#include <vector>

#include "bench/ticks.h"
#include "core/core.h"

namespace pinnace::bench {

namespace {

constexpr std::uint64_t kShallow = 1'000;
constexpr std::uint32_t kFilterCount = 100;
constexpr std::uint32_t kLevelCount = 64;
constexpr std::uint32_t kBacklog = 8;
constexpr std::size_t kSpanCount = 5;  // the median of them counts
constexpr std::uint64_t kRoundsMax = 100'000;

// The body of the filtered and the priority case, as a struct type: reading it costs least beside the core.
struct Body {
    std::uint32_t key;   // its share of the filters that match often, or its level
    std::uint32_t rare;  // below 1,000
};

// Takes the deliveries in order and keeps no record.
class Taker final : public Effects {
 public:
    RecordIndex record(const RecordHeader&, std::span<const std::byte>, const BodyRef&) override {
        return ++record_count;
    }
    bool deliver(const Delivery& delivery) override {
        taken_[end_++ & (taken_.size() - 1)] = {.verb = Verb::acknowledge,
                                                .client = delivery.client,
                                                .queue = delivery.queue,
                                                .position = delivery.position,
                                                .lease = delivery.lease,
                                                .handle = delivery.handle};
        return true;
    }
    void expired(const Expired&) override {}
    void subscription_ended(SubscriptionId, std::string_view) override {}

    bool empty() const { return begin_ == end_; }
    const VerbRequest& oldest() { return taken_[begin_++ & (taken_.size() - 1)]; }

    RecordIndex record_count = 0;

 private:
    std::vector<VerbRequest> taken_ = std::vector<VerbRequest>(std::bit_ceil(kFilterCount * kBacklog));
    std::uint64_t begin_ = 0;
    std::uint64_t end_ = 0;
};

QueueConfig config_of(DepthCase which) {
    QueueConfig config;
    config.name = "Orders";
    config.lease_period = 30'000'000'000;
    if (which == DepthCase::filtered || which == DepthCase::priority) config.message_type = "body";
    if (which == DepthCase::priority) config.priority = "/key";
    if (which == DepthCase::fifo) {
        config.fifo = true;
        config.leasing = Leasing::strict;
    }
    return config;
}

// A queue of one case, and those who use it.
class Load {
 public:
    Load(DepthCase which, std::uint64_t depth) : which_(which), depth_(depth) {}

    std::expected<void, std::string> open() {
        const expr::MessageType type{
            .name = "body", .format = "struct", .layout = {"/key = <I", "/rare = <I"}};
        if (const auto defined = core_.define_message_type(type); !defined)
            return std::unexpected(defined.error().text);
        if (const auto defined = core_.define_queue(config_of(which_)); !defined)
            return std::unexpected(defined.error().text);
        if (const auto finished = core_.finish_definitions(); !finished)
            return std::unexpected(finished.error().text);
        core_.recovered(1'700'000'000'000'000'000, true);
        core_.durable(taker_.record_count);
        message_.topic = core_.find_topic("Orders");
        // Nobody takes anything before the depth is reached; then all do.
        const std::uint32_t count = which_ == DepthCase::filtered ? kFilterCount : 3;
        for (std::uint32_t index = 0; index < count; ++index) {
            const ClientId client = core_.open_client(0);
            core_.set_ring_free(client, 0);
            std::string filter;
            if (which_ == DepthCase::filtered)
                filter = index + 1 < count ? fmt::format("/key = {}", index) : "/rare = 0";
            const auto subscribed = core_.subscribe(
                {.client = client, .target = "Orders", .max_backlog = kBacklog, .filter = filter});
            if (!subscribed) return std::unexpected(subscribed.error().text);
            clients_.push_back(client);
        }
        for (std::uint64_t index = 0; index < depth_; ++index)
            if (!publish()) return std::unexpected("a publish was refused");
        for (const ClientId client : clients_) core_.set_ring_free(client, UINT32_MAX);
        return {};
    }

    double state_bytes() const { return static_cast<double>(core_.state_byte_count()); }

    // Messages a second, or a whole sentence.
    std::expected<double, std::string> rate(std::uint64_t round_count) {
        std::array<std::uint64_t, kSpanCount> spans{};
        for (std::uint64_t& span : spans) {
            const std::uint64_t begin = ticks();
            for (std::uint64_t round = 0; round < round_count; ++round) {
                if (!publish()) return std::unexpected("a publish was refused");
                if (taker_.empty()) return std::unexpected("nothing is leased");
                const VerbRequest verb = taker_.oldest();
                Answer answer = Answer::unknown;
                core_.verbs({&verb, 1}, {&answer, 1});
                if (answer != Answer::ok) return std::unexpected("an acknowledgment was refused");
            }
            span = to_ns(ticks() - begin);
        }
        std::ranges::sort(spans);
        const std::uint64_t median = std::max<std::uint64_t>(spans[kSpanCount / 2], 1);
        return static_cast<double>(round_count) * 1e9 / static_cast<double>(median);
    }

 private:
    std::uint32_t below(std::uint64_t limit) { return static_cast<std::uint32_t>(random_() % limit); }

    bool publish() {
        Body body{};
        std::array<char, 16> group{};
        message_.body = {LogPosition::make(Area::small, 64), 64, nullptr};
        if (which_ == DepthCase::filtered || which_ == DepthCase::priority) {
            body.key = below(which_ == DepthCase::filtered ? kFilterCount - 1 : kLevelCount);
            body.rare = below(1'000);
            message_.body.data = reinterpret_cast<const std::byte*>(&body);
            message_.body.size = sizeof body;
        } else if (which_ == DepthCase::fifo) {
            group.fill('g');
            std::uint32_t number = below(depth_ / 10);
            for (auto at = group.rbegin(); number != 0; ++at, number /= 10)
                *at = static_cast<char>('0' + number % 10);
            message_.group = {group.data(), group.size()};
        }
        PublishResult result;
        PublishRequest request;
        request.messages = {&message_, 1};
        core_.publish(request, {&result, 1});
        if (result.answer == Answer::would_block) {  // positions were used up; their reservation is durable
            core_.durable(taker_.record_count);
            core_.publish(request, {&result, 1});
        }
        return result.answer == Answer::ok;
    }

    DepthCase which_;
    std::uint64_t depth_;
    Taker taker_;
    Core core_{taker_, CoreOptions{}};
    PublishMessage message_;
    std::vector<ClientId> clients_;
    std::minstd_rand random_{20261201};
};

}  // namespace

std::string_view to_text(DepthCase which) {
    static constexpr std::array<std::string_view, 4> kTexts{"plain", "filtered", "priority", "fifo"};
    return kTexts[static_cast<std::size_t>(which)];
}

std::string DepthFigures::to_json() const {
    return fmt::format(R"({{"case":"{}","messages":{},"state_bytes_per_message":{:.1f},)"
                       R"("rate_at_1k":{:.0f},"rate_at_depth":{:.0f}}})",
                       bench::to_text(which), messages, state_bytes_per_message, rate_at_1k, rate_at_depth);
}

std::string DepthFigures::to_text() const {
    return fmt::format(
        "{:<9} {} messages: {:.1f} bytes of state each; {:.0f} a second, {:.0f} over {} ({:.2f})",
        bench::to_text(which), messages, state_bytes_per_message, rate_at_depth, rate_at_1k, kShallow,
        rate_at_depth / rate_at_1k);
}

std::expected<DepthFigures, std::string> depth(DepthCase which, std::uint64_t messages) {
    if (messages < kDepthMessagesMin) return std::unexpected("the depth is at least 1000 messages");
    DepthFigures figures{.which = which, .messages = messages};
    const std::uint64_t round_count = std::min(messages, kRoundsMax);
    for (const std::uint64_t depth : {kShallow, messages}) {
        Load load(which, depth);
        if (const auto opened = load.open(); !opened) return std::unexpected(opened.error());
        figures.state_bytes_per_message = load.state_bytes() / static_cast<double>(depth);
        const auto rate = load.rate(round_count);
        if (!rate) return std::unexpected(rate.error());
        (depth == kShallow ? figures.rate_at_1k : figures.rate_at_depth) = *rate;
    }
    if (messages == kShallow) figures.rate_at_depth = figures.rate_at_1k;
    return figures;
}

}  // namespace pinnace::bench
