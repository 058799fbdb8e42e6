// SPDX-License-Identifier: Apache-2.0
// The queue machine by rule, command by command. The scenarios of the contract say more; these are what was
// worth a test beside them.
#include <gtest/gtest.h>

#include "tests/support/core_world.h"

namespace pinnace {
namespace {

using test::CoreWorld;
using test::kSecond;

// D1, D2, D6: proportional by default.
TEST(Queue, EachMessageGoesToOneSubscriptionInOrder) {
    CoreWorld world({"Orders"});
    const auto a = world.subscribe("Orders", 2);
    const auto b = world.subscribe("Orders", 2);
    for (const char* name : {"o1", "o2", "o3", "o4", "o5"})
        EXPECT_EQ(world.publish("Orders", name), Answer::ok);
    EXPECT_EQ(world.got(a), "o1 o3");
    EXPECT_EQ(world.got(b), "o2 o4");
    EXPECT_EQ(world.ack(b, "Orders", "o2"), Answer::ok);
    EXPECT_EQ(world.got(b), "o5");
    EXPECT_EQ(world.status("Orders").depth, 4u);
    EXPECT_EQ(world.status("Orders").leased, 4u);
}

// D2, L2: returned messages go before younger ones, in whatever order they came back.
TEST(Queue, ReturnedMessagesKeepTheirPlaces) {
    CoreWorld world({"Orders"});
    const auto a = world.subscribe("Orders", 6);
    for (const char* name : {"o1", "o2", "o3", "o4", "o5", "o6", "o7", "o8"}) world.publish("Orders", name);
    for (const char* name : {"o4", "o2", "o5", "o1"}) {
        world.core->set_ring_free(world.client(a), 0);
        EXPECT_EQ(world.verb(Verb::cancel, a, "Orders", name), Answer::ok);
    }
    EXPECT_EQ(world.queued("Orders"), "o1 o2 o4 o5 o7 o8");
    EXPECT_EQ(world.got(a), "o1 o2 o3 o4 o5 o6");
    const auto b = world.subscribe("Orders", 9);
    EXPECT_EQ(world.got(b), "o1#2 o2#2 o4#2 o5#2 o7 o8");
}

// L1, D10, and next_due is exact enough to arrive at the lease's end.
TEST(Queue, ALeaseEndsExactlyAtItsPeriod) {
    CoreWorld world({"Orders LeasePeriod=10s"});
    const auto a = world.subscribe("Orders");
    world.publish("Orders", "o1");
    const auto b = world.subscribe("Orders");
    world.advance(10 * kSecond - 1);
    EXPECT_EQ(world.got(b), "");
    EXPECT_LE(world.core->next_due(), 10 * kSecond);
    world.advance(1);
    EXPECT_EQ(world.got(b), "o1#2");
    EXPECT_EQ(world.got(a), "o1");
}

// L1, D12: a body that has to be read first: the lease begins when the subscriber can see it.
TEST(Queue, ALeaseOfAColdBodyBeginsWhenItIsVisible) {
    CoreWorld world({"Orders LeasePeriod=10s"});
    const auto a = world.subscribe("Orders");
    world.effects.cold = true;
    world.publish("Orders", "o1");
    const Delivery delivery = world.effects.last_delivery;
    world.advance(60 * kSecond);
    EXPECT_EQ(world.status("Orders").leased, 1u);
    const auto deadline = world.core->visible(delivery, LogPosition::make(Area::reread, 64));
    ASSERT_TRUE(deadline);
    EXPECT_EQ(*deadline, 70 * kSecond);
    world.advance(10 * kSecond);
    EXPECT_EQ(world.got(a), "o1 o1#2");
    EXPECT_FALSE(world.core->visible(delivery, LogPosition::make(Area::reread, 64)));
}

TEST(Queue, AnUnreadableBodyLeavesAndFreesThePlace) {
    CoreWorld world({"Orders"});
    const auto a = world.subscribe("Orders");
    world.publish("Orders", "o1");
    world.publish("Orders", "o2");
    world.core->unreadable(world.effects.last_delivery);
    EXPECT_EQ(world.got(a), "o1 o2");
    EXPECT_EQ(world.status("Orders").depth, 1u);
}

// L11: untaken is not a delivery; more than ten in a row count.
TEST(Queue, UntakenReturnsDoNotCountUntilTheyHaveHappenedTenTimes) {
    CoreWorld world({"Orders"});
    world.publish("Orders", "o1");
    for (int round = 0; round < 10; ++round) {
        const auto a = world.subscribe("Orders");
        ASSERT_EQ(world.effects.last_delivery.count, 1u) << round;
        world.end(a, {world.untaken(a, "o1")});
        world.effects.deliveries.clear();
    }
    const auto b = world.subscribe("Orders");
    EXPECT_EQ(world.got(b), "o1");
    world.end(b, {world.untaken(b, "o1")});
    world.effects.deliveries.clear();
    const auto c = world.subscribe("Orders");
    EXPECT_EQ(world.got(c), "o1#2");
}

// Rule 17: the ring is shared by the client's subscriptions, and is room like any other.
TEST(Queue, AFullRingTakesNothingUntilThereIsRoomAgain) {
    CoreWorld world({"Orders", "Fills"});
    const ClientId client = world.core->open_client(1);
    world.core->set_ring_free(client, 2);
    const auto a = world.subscribe("Orders", 9, client);
    const auto f = world.subscribe("Fills", 9, client);
    for (const char* name : {"o1", "o2", "o3"}) world.publish("Orders", name);
    world.publish("Fills", "f1");
    EXPECT_EQ(world.got(a), "o1 o2");
    EXPECT_EQ(world.got(f), "");
    world.core->set_ring_free(client, 1);
    EXPECT_EQ(world.got(a), "o3");
    world.core->set_ring_free(client, 5);
    EXPECT_EQ(world.got(f), "f1");
}

// Rule 12: positions beyond the durable part of the reservation are not given out.
TEST(Queue, APublishWaitsForTheReservationOfPositions) {
    CoreOptions options;
    options.position_reserve = 8;
    CoreWorld world({"Orders"}, options);
    world.durable_at_once = false;
    int stored = 0;
    while (world.publish("Orders", "o" + std::to_string(stored)) == Answer::ok) ++stored;
    EXPECT_EQ(stored, 8);
    world.core->durable(world.effects.record_count);
    EXPECT_EQ(world.publish("Orders", "late"), Answer::ok);
}

// Rule 12: after an unclean stop positions go on above the reservation, after a clean one above the last.
TEST(Queue, PositionsAreNeverUsedAgain) {
    CoreWorld world({"Orders"});
    world.publish("Orders", "o1");
    const Position first = world.position("o1");
    EXPECT_EQ(world.restart(true), "");
    world.publish("Orders", "o2");
    EXPECT_EQ(world.position("o2"), first + 1);
    EXPECT_EQ(world.restart(false), "");
    world.publish("Orders", "o3");
    EXPECT_GE(world.position("o3"), first + (1u << 20));
    EXPECT_EQ(world.queued("Orders"), "o1 o2 o3");
}

// L9: leases of one life are told apart from those of the next.
TEST(Queue, ALeaseOfAFormerLifeIsStale) {
    CoreWorld world({"Orders"});
    world.subscribe("Orders");
    world.publish("Orders", "o1");
    const Delivery old = world.effects.last_delivery;
    world.restart(false);
    const auto b = world.subscribe("Orders");
    VerbRequest request{.verb = Verb::cancel,
                        .client = world.client(b),
                        .queue = 0,
                        .position = old.position,
                        .lease = old.lease,
                        .handle = old.handle};
    Answer answer;
    world.core->verbs({&request, 1}, {&answer, 1});
    EXPECT_EQ(answer, Answer::stale);
    EXPECT_EQ(world.got(b), "o1");
}

// T7: duplicates, gaps, and the memory over a restart.
TEST(Queue, APublishersNumbersAreRemembered) {
    CoreWorld world({"Orders"});
    const PublisherId gw = world.core->publisher(7, "gw");
    const auto send = [&](std::uint64_t number, std::uint64_t previous) {
        PublishMessage message{
            .topic = world.core->find_topic("Orders"), .body = world.body("x"), .group = {}, .dedup = {}};
        PublishRequest request;
        request.messages = {&message, 1};
        request.publisher = gw;
        request.number = number;
        request.previous = previous;
        return world.publish(request, "x");
    };
    EXPECT_EQ(send(1, 0), Answer::ok);
    EXPECT_EQ(send(1, 0), Answer::duplicate);
    EXPECT_EQ(send(3, 2), Answer::gap);
    EXPECT_EQ(send(5, 1), Answer::ok);
    EXPECT_EQ(send(4, 1), Answer::duplicate);
    world.restart(false);
    EXPECT_EQ(world.core->publisher(7, "gw"), gw);
    EXPECT_NE(world.core->publisher(8, "gw"), gw);
    EXPECT_EQ(world.core->highest_number(gw), 5u);
    EXPECT_EQ(send(5, 4), Answer::duplicate);
    EXPECT_EQ(send(6, 5), Answer::ok);
    EXPECT_EQ(world.status("Orders").depth, 3u);
}

// Rule 10: what records say gives the same durable state, and leases are no part of it.
TEST(Queue, TheDurableDigestIsThatOfTheRecords) {
    CoreWorld world({"Orders LeasePeriod=5s Expiration=60s MaxDeliveries=30 DeadLetterQueue=Dead", "Dead"});
    const auto a = world.subscribe("Orders", 3);
    for (int i = 0; i < 20; ++i)
        world.publish("Orders", "o" + std::to_string(i), i % 5 == 4 ? 7 * kSecond : -1,
                      i % 7 == 6 ? kSecond : -1);
    world.ack(a, "Orders", "o1");
    world.advance(5 * kSecond);
    world.verb(Verb::cancel, a, "Orders", "o0");
    world.advance(20 * kSecond);
    const std::uint64_t digest = world.core->durable_digest();
    EXPECT_EQ(world.restart(true), "");
    EXPECT_EQ(world.core->durable_digest(), digest);
    EXPECT_EQ(world.restart(false), "");
    EXPECT_EQ(world.core->durable_digest(), digest);
}

// A2: a dead letter is delivered only when its record is durable (rule 11).
TEST(Queue, ADeadLetterWaitsForItsRecord) {
    CoreWorld world({"Orders DeadLetterQueue=Dead", "Dead"});
    const auto a = world.subscribe("Orders");
    const auto d = world.subscribe("Dead");
    world.publish("Orders", "o1");
    world.durable_at_once = false;
    EXPECT_EQ(world.verb(Verb::expire, a, "Orders", "o1"), Answer::ok);
    EXPECT_EQ(world.status("Dead").depth, 1u);
    EXPECT_EQ(world.got(d), "");
    world.core->durable(world.effects.record_count);
    EXPECT_EQ(world.effects.last_delivery.queue, world.core->find_queue("Dead"));
    EXPECT_EQ(world.status("Orders").depth, 0u);
}

// M1, M2: at most once; a delivery waits for its reservation, and is not repeated after a crash.
TEST(Queue, AtMostOnceHandsOverOnlyWhatIsReserved) {
    CoreWorld world({"Ticks Semantics=at-most-once"});
    world.durable_at_once = false;
    world.core->durable(world.effects.record_count);
    world.publish("Ticks", "t1");
    const auto a = world.subscribe("Ticks", 2);
    EXPECT_EQ(world.got(a), "");
    world.core->durable(world.effects.record_count);
    EXPECT_EQ(world.got(a), "t1");
    world.publish("Ticks", "t2");
    EXPECT_EQ(world.got(a), "t2");
    world.publish("Ticks", "t3");
    EXPECT_EQ(world.status("Ticks").depth, 1u);
    EXPECT_EQ(world.restart(false), "");
    world.core->durable(world.effects.record_count);
    // t3 was within the reservation: it may have been handed over.
    EXPECT_EQ(world.queued("Ticks"), "");
}

TEST(Queue, AnAtMostOnceQueueThatNobodyReadsLosesNothing) {
    CoreWorld world({"Ticks Semantics=at-most-once"});
    const auto a = world.subscribe("Ticks", 3);
    for (const char* name : {"t1", "t2", "t3", "t4"}) world.publish("Ticks", name);
    EXPECT_EQ(world.got(a), "t1 t2 t3");
    world.end(a, {world.untaken(a, "t2"), world.untaken(a, "t3")});
    EXPECT_EQ(world.queued("Ticks"), "t2 t3 t4");
    EXPECT_EQ(world.restart(false), "");
    EXPECT_EQ(world.queued("Ticks"), "t2 t3 t4");
    const auto b = world.subscribe("Ticks", 9);
    EXPECT_EQ(world.got(b), "t2 t3 t4");
    world.ack(b, "Ticks", "t2");
    EXPECT_EQ(world.restart(true), "");
    EXPECT_EQ(world.queued("Ticks"), "");
    world.publish("Ticks", "t5");
    EXPECT_EQ(world.restart(true), "");
    EXPECT_EQ(world.queued("Ticks"), "t5");
}

// M1: what is re-sent after a crash and may have been handed over is not handed over again.
TEST(Queue, AReSentMessageCountsAsHandedOverWithinTheReservation) {
    CoreWorld world({"Ticks Semantics=at-most-once"});
    const auto a = world.subscribe("Ticks", 2);
    world.publish("Ticks", "t1");
    EXPECT_EQ(world.got(a), "t1");
    EXPECT_EQ(world.restart(false), "");
    const auto send = [&](std::string_view name, bool resend) {
        PublishMessage message{
            .topic = world.core->find_topic("Ticks"), .body = world.body(name), .group = {}, .dedup = {}};
        PublishRequest request;
        request.messages = {&message, 1};
        request.resend = resend;
        world.publish(request, name);
    };
    send("new", false);
    send("again1", true);
    send("again2", true);
    send("again3", true);
    EXPECT_EQ(world.queued("Ticks"), "new again2 again3");
}

// T4.
TEST(Queue, ATopicsSubscriberSeesEveryMessage) {
    CoreWorld world({"Q UnderlyingTopic=prices"});
    world.publish("prices", "p0");
    const auto t = world.subscribe("prices");
    world.publish("prices", "p1");
    world.publish("prices", "p2");
    EXPECT_EQ(world.got(t), "p1 p2");
    EXPECT_EQ(world.status("Q").depth, 3u);
}

// R1, R2, D4.
TEST(Queue, AReplacedSubscriptionKeepsItsLeasesAndPlace) {
    CoreWorld world({"Fx", "Eq MaxPerSubscriptionBacklog=2"});
    const auto a = world.subscribe("Fx", 3);
    for (const char* name : {"f1", "f2", "f3", "f4"}) world.publish("Fx", name);
    world.publish("Eq", "e1");
    EXPECT_EQ(world.got(a), "f1 f2 f3");
    const std::string_view target = "Eq";
    const auto replaced = world.core->replace({.subscription = a, .target = &target});
    ASSERT_TRUE(replaced);
    EXPECT_EQ(replaced->max_backlog, 2u);
    world.ack(a, "Fx", "f1");
    EXPECT_EQ(world.got(a), "");
    EXPECT_EQ(world.verb(Verb::cancel, a, "Fx", "f2"), Answer::ok);
    EXPECT_EQ(world.got(a), "e1");
    EXPECT_EQ(world.queued("Fx"), "f2 f4");
}

// TD1: also on the short way in.
TEST(Queue, TheTargetDepthHoldsForMessagesOfWhichNothingIsDecided) {
    CoreWorld world({"Orders TargetQueueDepth=1000"});
    for (int i = 1; i <= 1001; ++i) world.publish("Orders", "o" + std::to_string(i));
    EXPECT_EQ(world.status("Orders").depth, 1000u);
    const auto a = world.subscribe("Orders", 1);
    EXPECT_EQ(world.ack(a, "Orders", "o1001"), Answer::deferred);
}

// Rule 18: slices of what was there do what one walk does.
TEST(Queue, APurgeInSlicesRemovesWhatWasThereAndNothingThatCameMeanwhile) {
    CoreWorld world({"Orders TargetQueueDepth=1000"});
    const auto a = world.subscribe("Orders", 1);
    for (int i = 1; i <= 1010; ++i) world.publish("Orders", "o" + std::to_string(i));
    EXPECT_EQ(world.got(a), "o1");
    Slice slice;
    slice.until = world.core->last_position();
    slice.count_max = 7;
    std::uint64_t count = 0;
    for (int slices = 0; !slice.done; ++slices) {
        ASSERT_LT(slices, 1000);
        const std::uint64_t purged = world.core->purge(0, slice);
        EXPECT_LE(purged, 7u);
        count += purged;
        world.settle();
        if (slices == 3) world.publish("Orders", "late");
    }
    EXPECT_EQ(count, 1009u);
    EXPECT_EQ(world.queued("Orders"), "late");
    EXPECT_EQ(world.status("Orders").leased, 1u);
}

TEST(Queue, ARedriveInSlicesKeepsTheOrderAndEndsAlsoWhenItGoesToTheSameQueue) {
    CoreWorld world({"Dead", "Work"});
    for (const char* name : {"d1", "d2", "d3", "d4", "d5"}) world.publish("Dead", name);
    Slice slice;
    slice.until = world.core->last_position();
    slice.count_max = 2;
    std::uint64_t count = 0;
    while (!slice.done) count += world.core->redrive(0, 1, slice);
    world.settle();
    EXPECT_EQ(count, 5u);
    EXPECT_EQ(world.status("Dead").depth, 0u);
    EXPECT_EQ(world.status("Work").depth, 5u);
    slice = {.after = 0, .until = world.core->last_position(), .count_max = 2, .done = false};
    for (count = 0; !slice.done;) count += world.core->redrive(1, 1, slice);
    EXPECT_EQ(count, 5u);
    EXPECT_EQ(world.status("Work").depth, 5u);
}

// Rule 3: a damaged record is refused with a sentence, whatever was cut off it.
TEST(Queue, RecordsThatAreCutAreRefused) {
    CoreWorld world({"Orders Expiration=60s"});
    world.publish("Orders", "o1");
    for (auto& stored : world.effects.records) {
        if (stored.header.kind != static_cast<std::uint16_t>(RecordKind::message)) continue;
        while (!stored.head.empty()) {
            stored.head.pop_back();
            EXPECT_NE(world.restart(false), "");
            world.effects.records.resize(4);
            break;
        }
    }
}

}  // namespace
}  // namespace pinnace
