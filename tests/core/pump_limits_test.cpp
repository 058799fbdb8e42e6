// SPDX-License-Identifier: Apache-2.0
// What one session may ask of the pump, and what becomes of one that asks for more.
#include <gtest/gtest.h>

#include "core/publish_options.h"
#include "core/pump.h"
#include "tests/support/fake_ports.h"

namespace pinnace::testing {
namespace {

constexpr Time kStart = 1'000'000'000;

class PumpLimitsTest : public ::testing::Test {
 protected:
    PumpLimitsTest() {
        QueueConfig queue;
        queue.name = "Orders";
        queue_ = *pump_.core().define_queue(queue);
        EXPECT_TRUE(pump_.core().finish_definitions());
        pump_.core().recovered(kStart, true);
        log_.publish();
        log_.make_durable();
        topic_ = pump_.core().find_topic("Orders");
        publisher_session_ = pump_.open_session(publisher_, 1);
        consumer_session_ = pump_.open_session(consumer_, 1);
        turn();
    }
    void turn() {
        while (pump_.turn(kStart)) {
        }
    }

    FakePort publisher_;
    FakePort consumer_;
    FakeLog log_;
    FakeOutside outside_;
    FakePump pump_{log_, outside_, CoreOptions{}, PumpLimits{}};
    QueueId queue_ = 0;
    TopicId topic_ = 0;
    std::uint32_t publisher_session_ = 0;
    std::uint32_t consumer_session_ = 0;
};

TEST_F(PumpLimitsTest, MalformedOptionsDetachTheirSessionAndLeaveNothingInTheLog) {
    const std::size_t before = log_.body_count();
    const std::array<std::byte, 3> rubbish{std::byte{0xff}, std::byte{0xff}, std::byte{0xff}};
    SubmitFrame frame;
    frame.options = rubbish;
    publisher_.publish(topic_, "x", frame);
    turn();
    EXPECT_EQ(outside_.violations.size(), 1u);
    EXPECT_EQ(log_.body_count(), before);
}

TEST_F(PumpLimitsTest, AListOrBatchThatItsAnswersHaveNoRoomForDetachesItsSession) {
    publisher_.answer_count_max = consumer_.answer_count_max = 4;
    SubmitFrame more;
    more.more = true;
    for (int i = 0; i < 5; ++i) publisher_.publish(topic_, "x", more);
    for (int i = 0; i < 5; ++i) consumer_.verb({Verb::acknowledge, kNone, queue_, 99, 0, kNone, 0}, true);
    turn();
    ASSERT_EQ(outside_.violations.size(), 2u);
    EXPECT_EQ(outside_.violations[0].first, consumer_session_);
    EXPECT_EQ(outside_.violations[1].first, publisher_session_);
}

TEST_F(PumpLimitsTest, ASessionMayHaveSoManySubscriptionsAndAFilterSoManyBytes) {
    for (std::uint32_t i = 0; i < PumpLimits{}.subscription_count_max; ++i)
        ASSERT_TRUE(pump_.subscribe(consumer_session_, {kNone, "Orders", 1, {}}));
    const auto refused = pump_.subscribe(consumer_session_, {kNone, "Orders", 1, {}});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().text, "a session may have 1024 subscriptions");
    const std::string filter = "/a = '" + std::string(PumpLimits{}.filter_size_max, 'x') + "'";
    const auto too_long = pump_.subscribe(publisher_session_, {kNone, "Orders", 1, filter});
    ASSERT_FALSE(too_long);
    EXPECT_EQ(too_long.error().answer, Answer::bad_filter);
}

}  // namespace
}  // namespace pinnace::testing
