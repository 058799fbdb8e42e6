// SPDX-License-Identifier: Apache-2.0
// The runner against a world that answers what the test says: what counts as a pass and what as a failure.
#include "bindings/cli/scenario/runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pinnace::scenario {
namespace {

using ::testing::HasSubstr;

std::unexpected<Fault> refuse(std::string text) {
    return std::unexpected(Fault{Fault::Kind::refused, std::move(text), 0});
}

// What each command answers; publishes number their messages 1, 2, …
struct Script {
    Outcome<void> started;
    Outcome<std::vector<Published>> published = std::vector<Published>{};
    std::vector<Arrival> arrivals;
    std::vector<Answer> answers;
    std::vector<ExpiredMessage> expired;
    std::vector<std::string> rows;
    Outcome<void> subscribed;
    std::uint64_t count = 0;
};

class ScriptedWorld final : public ScenarioWorld {
 public:
    explicit ScriptedWorld(Script script) : script_(std::move(script)) {}
    Outcome<void> start(std::span<const Definition>) override { return script_.started; }
    Outcome<std::vector<Published>> publish(const Publish& command) override {
        if (!script_.published || !script_.published->empty()) return script_.published;
        std::vector<Published> out;
        for (std::size_t at = 0; at < command.messages.size(); ++at) out.push_back({false, ++last_});
        return out;
    }
    Outcome<Published> publish_delta(const DeltaPublish&) override { return Published{false, ++last_}; }
    Outcome<std::uint64_t> erase(const Delete&) override { return script_.count; }
    Outcome<void> subscribe(const Subscribe&, std::optional<MessageId>) override {
        return script_.subscribed;
    }
    Outcome<void> replace(const Replace&) override { return {}; }
    Outcome<void> unsubscribe(std::string_view) override { return {}; }
    Outcome<void> end_client(const EndClient&) override { return {}; }
    Outcome<void> take(const Take&) override { return {}; }
    std::vector<Arrival> arrivals() override { return std::exchange(script_.arrivals, {}); }
    Outcome<std::vector<Answer>> verbs(const Verbs&, std::span<const VerbTarget>) override {
        return script_.answers;
    }
    Outcome<std::uint64_t> acknowledge_where(const AcknowledgeWhere&) override { return script_.count; }
    Outcome<std::vector<Received>> receive(const Receive&) override { return unsupported("pulls"); }
    Outcome<void> advance(Duration) override { return {}; }
    Outcome<void> restart() override { return {}; }
    Outcome<void> crash() override { return {}; }
    Outcome<std::vector<Received>> query(const Query&) override { return std::vector<Received>{}; }
    Outcome<std::vector<std::string>> rows(const Rows&) override { return script_.rows; }
    Outcome<QueueStatus> status(std::string_view) override {
        QueueStatus status;
        status.depth = script_.count;
        return status;
    }
    Outcome<std::vector<ExpiredMessage>> expired(std::string_view) override { return script_.expired; }
    Outcome<std::uint64_t> redrive(const Redrive&) override { return script_.count; }
    Outcome<std::uint64_t> purge(std::string_view) override { return script_.count; }

 private:
    Script script_;
    MessageId last_ = 0;
};

// "LINE: text" of the failure, or "ok".
std::string result(std::string_view text, const Script& script = {}) {
    const auto failure = run_text(text, [&] { return std::make_unique<ScriptedWorld>(script); });
    return failure ? std::to_string(failure->line) + ": " + failure->text : "ok";
}

Arrival arrival(std::string subscription, MessageId id, std::uint32_t count, std::string body = "{}") {
    return {std::move(subscription),
            {.id = id, .count = count, .body = std::move(body), .is_row = false, .tag = {}}};
}

constexpr std::string_view kTwo = "subscribe a Q\npublish Q {\"n\":1} as m1\npublish Q {\"n\":2} as m2\n";

std::string received(std::string_view expect, std::vector<Arrival> arrivals) {
    Script script;
    script.arrivals = std::move(arrivals);
    return result(std::string(kTwo) + std::string(expect), script);
}

TEST(ScenarioRunner, ExpectWantsExactlyTheseInThisOrder) {
    EXPECT_EQ(received("expect a m1 m2", {arrival("a", 1, 1), arrival("a", 2, 1)}), "ok");
    EXPECT_EQ(received("expect a m1 m2", {arrival("a", 2, 1), arrival("a", 1, 1)}),
              "4: expected m1 m2 got m2 m1");
    EXPECT_EQ(received("expect a m1", {}), "4: expected m1 got nothing");
    EXPECT_EQ(received("expect a", {arrival("a", 1, 2)}), "4: expected nothing got m1#2");
    EXPECT_EQ(received("expect a m1\nexpect a", {arrival("a", 1, 1)}), "ok");
    EXPECT_THAT(received("expect b", {}), HasSubstr("expected a subscription named `b`"));
    EXPECT_THAT(received("expect a m3", {}), HasSubstr("named by `as`, got `m3`"));
}

TEST(ScenarioRunner, ExpectComparesCountsAndJsonBodies) {
    EXPECT_EQ(received("expect a m1#2", {arrival("a", 1, 2)}), "ok");
    EXPECT_EQ(received("expect a m1#2", {arrival("a", 1, 1)}), "4: expected m1#2 got m1#1");
    EXPECT_EQ(received("expect a {\"x\":\"*\"}", {arrival("a", 9, 1, "{\"x\":1}")}), "ok");
    EXPECT_EQ(received("expect a {\"x\":2}", {arrival("a", 1, 1, "{\"x\":1}")}),
              "4: expected {\"x\":2} got {\"x\":1}");
    EXPECT_EQ(received("expect a 7", {arrival("a", 9, 1, "7.0")}), "ok");
}

TEST(ScenarioRunner, WithoutAnAnswerACommandMerelyHasToSucceed) {
    Script script;
    script.published = std::vector<Published>{{true, 1}};
    EXPECT_EQ(result("publish Q {}", script), "ok");
    script.published = refuse("bad_group");
    EXPECT_EQ(result("publish Q {}", script), "1: expected the command to succeed, got error: bad_group");
}

TEST(ScenarioRunner, PublishesAnswerStoredOrDuplicate) {
    EXPECT_EQ(result("publish Q {} => stored"), "ok");
    EXPECT_EQ(result("publish Q {} => error x"), "1: expected error x got success");
    Script again;
    again.published = std::vector<Published>{{true, 5}};
    EXPECT_EQ(result("publish Q {} as m\npublish Q {} => duplicate m", again), "ok");
    EXPECT_EQ(result("publish Q {} as m => stored", again), "1: expected stored got duplicate:m");
    Script batch;
    batch.published = std::vector<Published>{{false, 1}, {true, 1}};
    EXPECT_EQ(result("batch Q <<E => stored duplicate:a\n{} as a\n{}\nE", batch), "ok");
    EXPECT_THAT(result("batch Q <<E => stored\n{} as a\n{}\nE", batch), HasSubstr("got stored duplicate:a"));
}

TEST(ScenarioRunner, AnErrorThatIsWantedMustContainTheWord) {
    Script script;
    script.published = refuse("bad_group: no group");
    EXPECT_EQ(result("publish Q {} => error group", script), "ok");
    EXPECT_THAT(result("publish Q {} => error dedup", script),
                HasSubstr("expected error dedup got error: bad_group"));
    EXPECT_THAT(result("publish Q {} => stored", script), HasSubstr("expected stored got error: bad_group"));
}

TEST(ScenarioRunner, WhatIsNotSupportedIsNeverAPass) {
    Script script;
    script.published = unsupported("this group");
    EXPECT_EQ(result("publish Q {} => error group", script), "1: not supported yet: this group");
    EXPECT_EQ(result("receive c Q max=1 =>"), "1: not supported yet: pulls");
    script.started = unsupported("elements like Filter");
    EXPECT_EQ(result("refuse queue Q => Filter", script), "1: not supported yet: elements like Filter");
}

TEST(ScenarioRunner, VerbsWantOkUnlessTheySayOtherwise) {
    Script script;
    const std::string two = std::string(kTwo);
    script.answers = {Answer::ok, Answer::unknown};
    EXPECT_EQ(result(two + "ack a m1 m2 => ok unknown", script), "ok");
    EXPECT_EQ(result(two + "ack a m1 m2", script), "4: expected ok got ok unknown");
    EXPECT_EQ(result(two + "ack a m1 m2 => unknown", script), "4: expected unknown got ok unknown");
    EXPECT_EQ(result(two + "ack a m1 m2 => ok unknown ok", script),
              "4: expected ok unknown ok got ok unknown");
    script.answers = {Answer::range};
    EXPECT_EQ(result(two + "renew a m1 9999d => error range", script), "ok");
    EXPECT_THAT(result(two + "ack a m9", script), HasSubstr("got `m9`"));
}

TEST(ScenarioRunner, CountsExpiryAndRowsAreCompared) {
    Script script;
    script.count = 3;
    EXPECT_EQ(result("depth Q => 3", script), "ok");
    EXPECT_EQ(result("depth Q => 2", script), "1: expected 2 got 3");
    EXPECT_EQ(result("purge Q => 3", script), "ok");
    script.expired = {{1, "time_limit,max_deliveries"}};
    EXPECT_EQ(result(std::string(kTwo) + "expired Q => m1:time_limit,max_deliveries", script), "ok");
    EXPECT_EQ(result(std::string(kTwo) + "expired Q =>", script),
              "4: expected nothing got m1:time_limit,max_deliveries");
    script.rows = {R"({"a":1})", R"({"a":2,"b":null})"};
    EXPECT_EQ(result(R"(rows V => {"a":2} {"a":1})", script), "ok");
    EXPECT_THAT(result(R"(rows V => {"a":2})", script), HasSubstr("got {\"a\":1} {\"a\":2"));
}

TEST(ScenarioRunner, ARefusalMustNameAllWords) {
    Script script;
    EXPECT_THAT(result("refuse queue Q => Filter", script), HasSubstr("got success"));
    script.started = refuse("Filter: expected a number at column 3");
    EXPECT_EQ(result("refuse queue Q => Filter column", script), "ok");
    EXPECT_THAT(result("queue A\nrefuse queue Q => Priority", script),
                HasSubstr("2: expected a refusal that names"));
    EXPECT_THAT(result("queue A\nrestart", script),
                HasSubstr("1: expected the command to succeed, got error: Filter"));
}

TEST(ScenarioRunner, ABookmarkIsAWordATimestampOrAMessage) {
    EXPECT_EQ(result("subscribe a Q bookmark=EPOCH\ntail b Q bookmark=20260101T000005.000000Z"), "ok");
    EXPECT_THAT(result("tail b Q bookmark=m1"), HasSubstr("expected EPOCH, NOW"));
    Script script;
    script.subscribed = refuse("bad_filter: expected a value at column 4");
    EXPECT_EQ(result("subscribe a Q filter='/a >' => error bad_filter", script), "ok");
}

}  // namespace
}  // namespace pinnace::scenario
