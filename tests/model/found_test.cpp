// SPDX-License-Identifier: Apache-2.0
// What random sequences have found, each as a short story of its own: the core does as the model says.
#include <gtest/gtest.h>

#include "tests/model/run.h"
#include "tests/model/scenario_text.h"

namespace pinnace::model {
namespace {

class Story {
 public:
    QueueDef& queue(const std::string& name) {
        QueueDef& def = sequence_.queues.emplace_back();
        def.name = name;
        return def;
    }
    Command& add(Kind kind) {
        Command& command = sequence_.commands.emplace_back();
        command.kind = kind;
        return command;
    }
    NewMessage& publish(const std::string& to, int name) {
        Command& command = add(Kind::publish);
        command.target = to;
        NewMessage& message = command.messages.emplace_back();
        message.name = name;
        message.body = "{\"id\":" + std::to_string(name) + "}";
        return message;
    }
    Command& subscribe(int name, const std::string& to, std::uint64_t backlog) {
        Command& command = add(Kind::subscribe);
        command.subscription = command.client = name;
        command.target = to;
        command.max_backlog = backlog;
        return command;
    }
    void verb(Kind kind, int subscription, std::vector<int> names, Duration period = 0) {
        Command& command = add(kind);
        command.subscription = subscription;
        command.names = std::move(names);
        command.time = period;
    }
    // The publish before it.
    void numbered(int publisher, std::uint64_t number) {
        sequence_.commands.back().publisher = publisher;
        sequence_.commands.back().number = number;
    }
    void advance(Duration by) { add(Kind::advance).time = by; }
    void pull(int puller, int queue, std::uint64_t count) {
        Command& command = add(Kind::receive);
        command.subscription = kPullerBase + puller;
        command.queue = queue;
        command.number = count;
    }
    void sweep(Kind kind, int queue) { add(kind).queue = queue; }

    void holds() {
        const Run made = run(sequence_);
        EXPECT_EQ(made.failure, "") << scenario_text(made.executed, made.outcomes);
        EXPECT_EQ(made.executed.commands.size(), sequence_.commands.size());
    }

 private:
    Sequence sequence_;
};

TEST(FoundByTheModel, APlainQueueKeepsItsDepth) {
    Story story;
    story.queue("Q").target_depth = 2;
    for (int name = 1; name <= 4; ++name) story.publish("Q", name);
    story.holds();
}

TEST(FoundByTheModel, WhatLeavesAtItsDeliveryMakesPlaceInTheDepth) {
    Story story;
    QueueDef& def = story.queue("Q");
    def.at_most_once = true;
    def.fairness = Fairness::round_robin;
    def.target_depth = 1;
    for (int name = 1; name <= 4; ++name) story.publish("Q", name);
    story.pull(1, 0, 1);
    story.subscribe(1, "Q", 2);
    story.verb(Kind::acknowledge, 1, {2});
    story.add(Kind::restart);
    story.subscribe(2, "Q", 5);
    story.holds();
}

TEST(FoundByTheModel, ADelayOnAnAtMostOnceMessageIsReadBackAfterARestart) {
    Story story;
    QueueDef& def = story.queue("Q");
    def.at_most_once = true;
    def.fairness = Fairness::round_robin;
    story.subscribe(1, "Q", 5);
    story.publish("Q", 1).delay = 5 * kSecond;
    story.add(Kind::restart);
    story.subscribe(2, "Q", 5);
    story.advance(5 * kSecond);
    story.holds();
}

TEST(FoundByTheModel, AFilterOnAnAtMostOnceQueueLosesNothingThatWaits) {
    Story story;
    QueueDef& def = story.queue("Q");
    def.at_most_once = true;
    def.fairness = Fairness::round_robin;
    story.publish("Q", 1);
    story.publish("Q", 2);
    story.subscribe(1, "Q", 5).filter = "/id = 2";
    story.add(Kind::restart);
    story.holds();
}

TEST(FoundByTheModel, WhatAnAtMostOnceClientNeverTookIsThereAfterAnOrderlyStop) {
    Story story;
    QueueDef& def = story.queue("Q");
    def.at_most_once = true;
    def.fairness = Fairness::round_robin;
    story.publish("Q", 1);
    story.subscribe(1, "Q", 5).flag = true;
    story.pull(1, 0, 3);
    story.add(Kind::restart);
    story.subscribe(2, "Q", 5);
    story.holds();
}

TEST(FoundByTheModel, DeliveriesToOneSubscriptionKeepTheirOrderWhenOneWaitsForARecord) {
    Story story;
    QueueDef& def = story.queue("Q");
    def.lease_period = 10 * kSecond;
    def.max_deliveries = 3;
    story.publish("Q", 1);
    story.add(Kind::crash);
    story.subscribe(1, "Q", 10);
    story.publish("Q", 2);
    story.advance(10 * kSecond);
    story.holds();
}

TEST(FoundByTheModel, LeasesOfAStickyGroupThatEndTogetherHaveOneTimerEach) {
    Story story;
    QueueDef& def = story.queue("Q");
    def.fifo = def.strict = def.sticky = true;
    def.lease_period = 10 * kSecond;
    def.expiration = 20 * kSecond;
    story.publish("Q", 1).group = "a";
    story.publish("Q", 2).group = "a";
    story.subscribe(1, "Q", 2);
    for (int count = 0; count < 3; ++count) story.advance(10 * kSecond);
    story.holds();
}

TEST(FoundByTheModel, WhatIsRevokedAndOverdueLeavesAtOnce) {
    Story story;
    QueueDef& def = story.queue("Q");
    def.fifo = def.strict = def.sticky = true;
    story.publish("Q", 1).group = "a";
    NewMessage& second = story.publish("Q", 2);
    second.group = "a";
    second.expiration = 10 * kSecond;
    story.subscribe(1, "Q", 5);
    story.advance(10 * kSecond);
    story.verb(Kind::cancel, 1, {1});
    story.holds();
}

TEST(FoundByTheModel, AStickyGroupDoesNotGiveAgainWhatIsSpent) {
    Story story;
    QueueDef& def = story.queue("Q");
    def.fifo = def.strict = def.sticky = true;
    def.max_cancels = 1;
    story.publish("Q", 1).group = "a";
    story.publish("Q", 2).group = "a";
    story.subscribe(1, "Q", 10);
    story.verb(Kind::cancel, 1, {2});
    story.verb(Kind::acknowledge, 1, {1});
    story.holds();
}

TEST(FoundByTheModel, ASpentMessageThatExpiresWhileItsGroupIsHeldHasBothReasons) {
    Story story;
    QueueDef& def = story.queue("Q");
    def.fifo = def.strict = true;
    def.max_cancels = 1;
    story.publish("Q", 1).group = "a";
    NewMessage& second = story.publish("Q", 2);
    second.group = "a";
    second.expiration = 5 * kSecond;
    story.subscribe(1, "Q", 10);
    story.verb(Kind::cancel, 1, {2});
    story.advance(5 * kSecond);
    story.holds();
}

TEST(FoundByTheModel, GroupsAreServedByTheirFirstMessagesAfterARestart) {
    Story story;
    QueueDef& def = story.queue("Q");
    def.fifo = def.strict = true;
    story.publish("Q", 1).group = "a";
    story.publish("Q", 2).group = "b";
    story.publish("Q", 3).group = "a";
    story.subscribe(1, "Q", 10);
    story.verb(Kind::acknowledge, 1, {1});
    story.add(Kind::crash);
    story.subscribe(2, "Q", 10);
    story.holds();
}

TEST(FoundByTheModel, WhatWasPurgedWhileItWasLeasedDoesNotComeBackAfterACrash) {
    Story story;
    story.queue("Q");
    story.publish("Q", 1);
    story.subscribe(1, "Q", 3);
    story.sweep(Kind::purge, 0);
    story.add(Kind::crash);
    story.holds();
}

TEST(FoundByTheModel, WhatCameInFromBeyondTheDepthAndLeftStaysAwayAfterACrash) {
    Story story;
    QueueDef& def = story.queue("Q");
    def.target_depth = 1;
    def.expiration = 10 * kSecond;
    def.max_deliveries = 5;
    def.dead_letters = "Dead";
    story.queue("Dead");
    story.publish("Q", 1);
    story.publish("Q", 2);
    story.publish("Q", 3).expiration = 0;
    story.advance(10 * kSecond);
    story.subscribe(1, "Q", 3);
    story.add(Kind::crash);
    story.subscribe(2, "Q", 3);
    story.holds();
}

TEST(FoundByTheModel, ANumberThatWasAnsweredAsADuplicateIsUsedUp) {
    Story story;
    QueueDef& def = story.queue("Q");
    def.dedup_window = 20 * kSecond;
    story.publish("Q", 1).dedup = "k";
    story.publish("Q", 2).dedup = "k";
    story.numbered(1, 7);
    story.publish("Q", 3).dedup = "other";
    story.numbered(1, 7);
    story.add(Kind::crash);
    story.publish("Q", 4).dedup = "another";
    story.numbered(1, 7);
    story.holds();
}

TEST(FoundByTheModel, OverdueLeasesBrokenByACrashLeaveInOrder) {
    Story story;
    story.queue("Q").expiration = 20 * kSecond;
    story.publish("Q", 1);
    story.subscribe(1, "Q", 5);
    story.publish("Q", 2).expiration = 5 * kSecond;
    story.advance(20 * kSecond);
    story.add(Kind::crash);
    story.holds();
}

TEST(FoundByTheModel, ABarrierIsNotReleasedToClientsThatAnOrderlyStopHasClosed) {
    Story story;
    QueueDef& def = story.queue("Q");
    def.expiration = 20 * kSecond;
    def.barrier = "/id = 2";
    story.subscribe(1, "Q", 1);
    story.subscribe(2, "Q", 1);
    story.publish("Q", 1);
    story.publish("Q", 2).expiration = 0;
    story.advance(20 * kSecond);
    story.add(Kind::restart);
    story.subscribe(3, "Q", 1);
    story.holds();
}

}  // namespace
}  // namespace pinnace::model
