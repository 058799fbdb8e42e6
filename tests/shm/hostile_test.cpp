// SPDX-License-Identifier: Apache-2.0
// Peers that lie: an engine to a client in the handshake and in its rings; a client to an engine.
#include <fcntl.h>
#include <sys/mman.h>

#include "tests/shm/mitm.h"

namespace pinnace::shm::test {
namespace {

TEST(HostileEngine, TheMiddlemanItselfDisturbsNothing) {
    TestEngine engine;
    Middleman middleman(engine);
    auto session = middleman.connect(engine.client_options(), [](WelcomeMessage&, std::vector<Fd>&) {});
    EXPECT_TRUE(session.has_value()) << session.error().text;
}

TEST(HostileEngine, AWelcomeThatCannotBeIsAnError) {
    TestEngine engine;
    const Middleman::Change changes[] = {
        [](WelcomeMessage& w, std::vector<Fd>&) { w.kind = 17; },
        [](WelcomeMessage& w, std::vector<Fd>&) { w.size = 0; },
        [](WelcomeMessage& w, std::vector<Fd>&) { w.protocol_version = 9; },
        [](WelcomeMessage& w, std::vector<Fd>&) { w.layout_version = 9; },
        [](WelcomeMessage& w, std::vector<Fd>&) { w.flags = 0; },
        [](WelcomeMessage& w, std::vector<Fd>&) { w.flags |= kWelcomeAdopted; },
        [](WelcomeMessage& w, std::vector<Fd>&) { w.wait_mode = 3; },
        [](WelcomeMessage& w, std::vector<Fd>&) { w.geometry.submit_capacity = 65'537; },
        [](WelcomeMessage& w, std::vector<Fd>&) { w.geometry.submit_capacity *= 2; },
        [](WelcomeMessage& w, std::vector<Fd>&) { w.geometry.ack_count = UINT64_MAX; },
        [](WelcomeMessage& w, std::vector<Fd>&) { w.geometry.delivery_count *= 2; },
        [](WelcomeMessage& w, std::vector<Fd>&) { w.geometry.answer_count = 0; },
        [](WelcomeMessage& w, std::vector<Fd>&) { w.log.small.slot_count *= 2; },
        [](WelcomeMessage& w, std::vector<Fd>&) { w.log.large.slot_size = 3; },
        [](WelcomeMessage& w, std::vector<Fd>&) { w.log.message_size_max = UINT64_MAX; },
        [](WelcomeMessage& w, std::vector<Fd>&) { w.message_size_max = w.geometry.submit_capacity; },
        [](WelcomeMessage&, std::vector<Fd>& fds) { fds.clear(); },
        [](WelcomeMessage&, std::vector<Fd>& fds) { fds.pop_back(); },
        [](WelcomeMessage&, std::vector<Fd>& fds) { fds.push_back(Fd(dup(fds[1].get()))); },
        [](WelcomeMessage&, std::vector<Fd>& fds) { fds[0] = Fd(open("/dev/null", O_RDWR | O_CLOEXEC)); },
        [](WelcomeMessage&, std::vector<Fd>& fds) { std::swap(fds[0], fds[1]); },
        [](WelcomeMessage&, std::vector<Fd>& fds) {
            std::swap(fds[1], fds[3]);
        },  // `down` that is not sealed
        [](WelcomeMessage&, std::vector<Fd>& fds) { std::swap(fds[4], fds[2]); },  // a log of one page
        [](WelcomeMessage&, std::vector<Fd>& fds) { fds[3] = Fd(open("/dev/zero", O_RDWR | O_CLOEXEC)); },
    };
    std::size_t number = 0;
    for (const auto& change : changes) {
        Middleman middleman(engine);
        const std::size_t mappings = region_mapping_count();
        auto session = middleman.connect(engine.client_options(), change);
        EXPECT_FALSE(session.has_value()) << number;
        if (!session) {
            EXPECT_FALSE(session.error().text.empty()) << number;
        }
        EXPECT_EQ(region_mapping_count(), mappings) << number;
        ++number;
    }
}

// A region that could be truncated under the client's feet is refused, whatever it is for.
TEST(HostileEngine, ARegionWithoutSealsIsRefusedForEveryPurpose) {
    TestEngine engine;
    for (std::size_t which = 1; which < 7; ++which) {
        Middleman middleman(engine);
        auto session = middleman.connect(engine.client_options(), [&](WelcomeMessage&, std::vector<Fd>& fds) {
            Fd loose(memfd_create("pinnace-test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
            ASSERT_EQ(ftruncate(loose.get(), 8 << 20), 0);
            fds[which] = std::move(loose);
        });
        ASSERT_FALSE(session.has_value()) << which;
        EXPECT_NE(session.error().text.find("without its seals"), std::string::npos) << session.error().text;
    }
}

// The engine's own mapping stands for a hostile engine: every word of every region it writes, at random.
TEST(HostileEngine, GarbageInItsRingsIsAViolationAndNeverACrash) {
    Random random(seed());
    int violations = 0;
    for (int round = 0; round < 60; ++round) {
        TestEngine engine;
        Pair pair = connect(engine);
        ASSERT_TRUE(pair.client) << pair.error.text;
        std::vector<std::byte> out(300 * 1024);
        for (int i = 0; i < 200; ++i) {
            DeliveryEntry entry;
            entry.log_position = random.next() >> random.below(60);
            entry.size = static_cast<std::uint32_t>(random.next() >> random.below(32));
            if (random.below(2) == 0) {
                entry.log_position = LogPosition::make(Area::small, random.below(4096) * 64).bits;
                entry.size = static_cast<std::uint32_t>(random.below(65'536));
            }
            pair.server->deliveries().refresh();
            pair.server->deliveries().try_write(entry);
            DeliveryEntry taken;
            const ReadStatus status = pair.client->take(taken);
            if (status == ReadStatus::violation) {
                ++violations;
                EXPECT_EQ(pair.client->violation().kind, ViolationKind::descriptor);
                break;
            }
            if (status == ReadStatus::ready) {
                std::int64_t published = 0;
                static_cast<void>(pair.client->log().copy(LogPosition{taken.log_position},
                                                          std::span(out).first(taken.size), published));
            }
        }
    }
    EXPECT_GT(violations, 50);
}

TEST(HostileEngine, MarksThatCannotBeFreeNothingAndAreTold) {
    Random random(seed());
    for (int round = 0; round < 50; ++round) {
        TestEngine engine;
        Pair pair = connect(engine);
        ASSERT_TRUE(pair.client) << pair.error.text;
        const std::vector<std::byte> body(2000);
        PublishItem item;
        item.body = body;
        while (pair.client->publish({&item, 1}, 0)) {
        }
        pair.server->publish_persisted(random.next());
        EXPECT_FALSE(pair.client->publish({&item, 1}, 0).has_value());
        EXPECT_EQ(pair.client->violation().kind, ViolationKind::mark);
    }
}

TEST(HostileEngine, MessagesThatAreNoneEndTheSessionWithAnError) {
    TestEngine engine;
    Pair pair = connect(engine);
    ASSERT_TRUE(pair.client) << pair.error.text;
    const std::uint32_t word = 99;
    ASSERT_EQ(send_message(pair.server->socket().fd(), bytes_of(word)), SendStatus::sent);
    EXPECT_FALSE(pair.client->request(1, {}, -1).has_value());
    EXPECT_TRUE(pair.client->is_disconnected());
}

TEST(HostileEngine, AFloodOfEventsIsBounded) {
    TestEngine engine;
    Pair pair = connect(engine);
    ASSERT_TRUE(pair.client) << pair.error.text;
    std::thread flood([&] {
        PayloadHeader event{static_cast<std::uint32_t>(MessageKind::event), 1, 0};
        while (send_message(pair.server->socket().fd(), bytes_of(event)) != SendStatus::closed &&
               !pair.client->is_disconnected()) {
        }
    });
    EXPECT_EQ(pair.client->wait([] { return false; }, -1), WaitResult::disconnected);
    flood.join();
}

TEST(HostileClient, MessagesThatAreNoRequestAreViolations) {
    const auto is_violation = [](std::span<const std::byte> message, std::span<const int> descriptors) {
        TestEngine engine;
        RawPeer raw(engine);
        raw.say(good_hello());
        std::vector<Fd> received;
        MappedMessage mapped;
        mapped.nonce = raw.welcome(received).nonce;
        raw.say(mapped);
        auto session = raw.handshake.take_session();
        EXPECT_EQ(send_message(raw.client.get(), message, descriptors), SendStatus::sent);
        SocketMessage request;
        EXPECT_FALSE(session->socket().receive(request));
        return session->socket().violation().kind == ViolationKind::message;
    };
    const PayloadHeader request{static_cast<std::uint32_t>(MessageKind::request), 1, 1};
    const PayloadHeader answer{static_cast<std::uint32_t>(MessageKind::answer), 1, 1};
    const std::vector<std::byte> large(kMessageSizeOverall + 1);
    const int fd = STDERR_FILENO;
    EXPECT_TRUE(is_violation(bytes_of(answer), {}));
    EXPECT_TRUE(is_violation(bytes_of(request).first(15), {}));
    EXPECT_TRUE(is_violation(large, {}));
    EXPECT_TRUE(is_violation(bytes_of(request), {&fd, 1}));
}

TEST(HostileClient, AFullOrClosedWakeUpSocketNeverBlocksTheEngine) {
    auto pair = make_wake_pair();
    ASSERT_TRUE(pair.has_value());
    for (int i = 0; i < 100'000; ++i) ASSERT_TRUE(ring(pair->engine.get()));
    pair->client.reset();
    EXPECT_FALSE(ring(pair->engine.get()));
    EXPECT_FALSE(drain(pair->engine.get()));
}

TEST(HostileClient, AClientThatRingsWithoutEndDoesNotKeepTheDispatcher) {
    TestEngine engine;
    Pair pair = connect(engine);
    ASSERT_TRUE(pair.client) << pair.error.text;
    auto sleeper = DispatcherSleeper::create(&engine.regions->control().dispatcher_sleep);
    ASSERT_TRUE(sleeper.has_value());
    ASSERT_TRUE(sleeper->add(pair.server->wake_fd()).has_value());
    // Its end closed: one wake-up, and then quiet.
    pair.client.reset();
    sleeper->sleep([] { return false; }, -1);         // not a wait: what is tested
    sleeper->sleep([] { return false; }, 1'000'000);  // not a wait: what is tested
    EXPECT_EQ(load_relaxed(engine.regions->control().dispatcher_sleep) % 2, 0u);
}

}  // namespace
}  // namespace pinnace::shm::test
