// SPDX-License-Identifier: Apache-2.0
// The core allocates nothing in steady state (rule 20): operator new counts.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "tests/support/core_world.h"

namespace {
std::size_t allocation_count = 0;
}

[[gnu::noinline]] void* operator new(std::size_t size) {
    ++allocation_count;
    if (void* memory = std::malloc(size)) return memory;
    throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace pinnace {
namespace {

// Publishes, takes, acknowledges, cancels and lets leases end, over and over.
void run(test::CoreWorld& world, int round_count) {
    Core& core = *world.core;
    const PublishMessage message{
        .topic = core.find_topic("Orders"), .body = world.body("x"), .group = {}, .dedup = {}};
    for (int round = 0; round < round_count; ++round) {
        for (int i = 0; i < 20; ++i) {
            PublishRequest request;
            request.messages = {&message, 1};
            PublishResult result;
            core.publish(request, {&result, 1});
            ASSERT_EQ(result.answer, Answer::ok);
            const Delivery delivery = world.effects.last_delivery;
            VerbRequest verb{.verb = i % 5 == 0 ? Verb::cancel : Verb::acknowledge,
                             .client = delivery.client,
                             .queue = delivery.queue,
                             .position = delivery.position,
                             .lease = delivery.lease,
                             .handle = delivery.handle};
            if (i % 7 == 3) verb.handle = kNone;
            Answer answer;
            core.verbs({&verb, 1}, {&answer, 1});
            core.durable(world.effects.record_count);
        }
        core.advance(core.now() + 7 * test::kSecond);
    }
}

TEST(Allocation, NothingIsAllocatedInSteadyState) {
    for (const char* line :
         {"Orders LeasePeriod=10s", "Orders LeasePeriod=10s Expiration=30s MaxDeliveries=3",
          "Orders Semantics=at-most-once", "Orders LeasePeriod=5s FairnessModel=round-robin"}) {
        test::CoreWorld world({line});
        world.effects.keep_all = false;
        for (int i = 0; i < 3; ++i) world.subscribe("Orders", 8);
        run(world, 200);
        const std::size_t before = allocation_count;
        run(world, 200);
        EXPECT_EQ(allocation_count, before) << line;
        world.effects.expirations.clear();
    }
}

}  // namespace
}  // namespace pinnace
