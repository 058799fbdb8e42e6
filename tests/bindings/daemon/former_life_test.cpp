// SPDX-License-Identifier: Apache-2.0
// C4: whom a new engine waits for after an unclean stop, and how long.
#include "bindings/daemon/former_life.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace pinnace::daemon {
namespace {

constexpr std::int64_t kGrace = 1'000'000'000;

void begin(FormerLife& life, std::uint64_t key, const ProcessIdentity& process) {
    const RecordHeader header = session_record(key, true, 0);
    ASSERT_TRUE(life.apply({header, std::as_bytes(std::span<const ProcessIdentity, 1>(&process, 1)), {}}));
}
void end(FormerLife& life, std::uint64_t key) {
    ASSERT_TRUE(life.apply({session_record(key, false, 0), {}, {}}));
}

TEST(FormerLife, IsOverAtOnceWhenNobodyWasThere) {
    FormerLife life(kGrace);
    life.wait_from(0);
    EXPECT_TRUE(life.over());
}

TEST(FormerLife, WaitsForALiveClientUntilItIsBack) {
    FormerLife life(kGrace);
    begin(life, 7, identify_process(getpid()));
    life.wait_from(0);
    life.check(kGrace - 1);
    EXPECT_FALSE(life.over());
    life.is_back(7);
    EXPECT_TRUE(life.over());
}

TEST(FormerLife, WaitsNoLongerThanTheGrace) {
    FormerLife life(kGrace);
    begin(life, 7, identify_process(getpid()));
    life.wait_from(5);
    life.check(5 + kGrace);
    EXPECT_TRUE(life.over());
}

TEST(FormerLife, DoesNotWaitForWhoHadLeft) {
    FormerLife life(kGrace);
    begin(life, 7, identify_process(getpid()));
    end(life, 7);
    life.wait_from(0);
    EXPECT_TRUE(life.over());
}

TEST(FormerLife, DoesNotWaitAfterAnOrderlyStop) {
    FormerLife life(kGrace);
    begin(life, 7, identify_process(getpid()));
    RecordHeader stop;
    stop.kind = static_cast<std::uint16_t>(RecordKind::stop);
    ASSERT_TRUE(life.apply({stop, {}, {}}));
    life.wait_from(0);
    EXPECT_TRUE(life.over());
}

TEST(FormerLife, DoesNotWaitForTheDeadNotEvenForZombies) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) pause();
    const ProcessIdentity process = identify_process(child);
    EXPECT_NE(process.start_time, 0u);
    FormerLife life(kGrace);
    begin(life, 7, process);
    life.wait_from(0);
    EXPECT_FALSE(life.over());
    kill(child, SIGKILL);
    siginfo_t info{};
    ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);  // a zombie now
    life.check(1);
    EXPECT_TRUE(life.over());
    waitpid(child, nullptr, 0);
}

TEST(FormerLife, DoesNotTakeAnotherProcessOfTheSameNumberForTheClient) {
    ProcessIdentity process = identify_process(getpid());
    --process.start_time;
    FormerLife life(kGrace);
    begin(life, 7, process);
    life.wait_from(0);
    EXPECT_TRUE(life.over());
}

TEST(FormerLife, RefusesARecordOfAnUnknownForm) {
    FormerLife life(kGrace);
    RecordHeader header = session_record(7, true, 0);
    EXPECT_FALSE(life.apply({header, {}, {}}));
    header.flags = 9;
    EXPECT_FALSE(life.apply({header, {}, {}}));
}

}  // namespace
}  // namespace pinnace::daemon
