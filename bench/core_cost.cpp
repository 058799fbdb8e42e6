// SPDX-License-Identifier: Apache-2.0
// Instructions of the core for one message: publish, lease, acknowledge; for `valgrind --tool=callgrind`.
//
// usage: core_cost [MESSAGES [DEPTH]]: a plain queue with three subscriptions and DEPTH messages before it.
// Count what lies in and below `cost_loop`, and divide by MESSAGES.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "core/core.h"

namespace {

using namespace pinnace;

class Nowhere final : public Effects {
 public:
    RecordIndex record(const RecordHeader&, std::span<const std::byte>, const BodyRef&) override {
        return ++record_count;
    }
    bool deliver(const Delivery& delivery) override {
        last = delivery;
        return true;
    }
    void expired(const Expired&) override {}
    void subscription_ended(SubscriptionId, std::string_view) override {}

    RecordIndex record_count = 0;
    Delivery last;
};

void publish(Core& core, Nowhere& effects, const PublishMessage& message) {
    PublishRequest request;
    request.messages = {&message, 1};
    PublishResult result;
    core.publish(request, {&result, 1});
    if (result.answer == Answer::ok) return;
    core.durable(effects.record_count);
    core.publish(request, {&result, 1});
    if (result.answer != Answer::ok) std::abort();
}

[[gnu::noinline]] void cost_loop(Core& core, Nowhere& effects, const PublishMessage& message, long count) {
    for (long i = 0; i < count; ++i) {
        publish(core, effects, message);
        const VerbRequest verb{.verb = Verb::acknowledge,
                               .client = effects.last.client,
                               .queue = effects.last.queue,
                               .position = effects.last.position,
                               .lease = effects.last.lease,
                               .handle = effects.last.handle};
        Answer answer;
        core.verbs({&verb, 1}, {&answer, 1});
    }
}

}  // namespace

int main(int argument_count, char** arguments) {
    const long count = argument_count > 1 ? std::atol(arguments[1]) : 10'000;
    const long depth = argument_count > 2 ? std::atol(arguments[2]) : 0;
    Nowhere effects;
    Core core(effects, CoreOptions{});
    QueueConfig config;
    config.name = "Orders";
    config.lease_period = 30'000'000'000;
    if (!core.define_queue(config) || !core.finish_definitions()) return 1;
    core.recovered(1'700'000'000'000'000'000, true);
    core.durable(effects.record_count);
    const PublishMessage message{.topic = core.find_topic("Orders"),
                                 .body = {LogPosition::make(Area::small, 64), 64, nullptr},
                                 .group = {},
                                 .dedup = {}};
    for (long i = 0; i < depth; ++i) publish(core, effects, message);
    if (depth != 0)
        std::printf("%.1f bytes of state a message\n",
                    static_cast<double>(core.state_byte_count()) / static_cast<double>(depth));
    for (int i = 0; i < 3; ++i)
        if (!core.subscribe(
                {.client = core.open_client(0), .target = "Orders", .max_backlog = 8, .filter = {}}))
            return 1;
    cost_loop(core, effects, message, count);
    return 0;
}
