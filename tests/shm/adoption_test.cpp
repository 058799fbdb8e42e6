// SPDX-License-Identifier: Apache-2.0
// Adoption of a client's region by a new engine (architecture rule 23).
#include <fcntl.h>
#include <sys/mman.h>

#include <functional>

#include "tests/shm/raw_peer.h"

namespace pinnace::shm::test {
namespace {

class Adoption : public testing::Test {
 protected:
    void publish(ClientSession& client, std::uint64_t number) {
        PublishItem item;
        item.fields.number = number;
        const std::vector<std::byte> body(300, static_cast<std::byte>(number));
        item.body = body;
        ASSERT_TRUE(client.publish({&item, 1}, 0).has_value());
    }
    void acknowledge(ClientSession& client, std::uint64_t position) {
        AckEntry ack;
        ack.verb = 1;
        ack.position = position;
        ASSERT_TRUE(client.try_acknowledge({&ack, 1}));
    }
    void read_frames(ServerSession& server, std::uint64_t from, std::uint64_t to) {
        for (std::uint64_t number = from; number < to; ++number) {
            SubmitFrame frame;
            ASSERT_EQ(server.submit().peek(frame), ReadStatus::ready);
            ASSERT_EQ(frame.header.number, number);
            server.submit().take(frame);
        }
    }
};

TEST_F(Adoption, ANewEngineGoesOnReadingWhereTheOldOneWas) {
    auto old_engine = std::make_unique<TestEngine>();
    Pair old_pair = connect(*old_engine);
    ASSERT_TRUE(old_pair.client) << old_pair.error.text;
    for (std::uint64_t number = 0; number < 10; ++number) publish(*old_pair.client, number);
    for (std::uint64_t position = 0; position < 5; ++position) acknowledge(*old_pair.client, position);
    // The old engine reads six and makes four durable; it reads two acknowledgments.
    read_frames(*old_pair.server, 0, 4);
    const std::uint64_t persisted = old_pair.server->submit().position();
    read_frames(*old_pair.server, 4, 6);
    AckEntry ack;
    for (int i = 0; i < 2; ++i) {
        ASSERT_EQ(old_pair.server->peek_ack(ack), ReadStatus::ready);
        old_pair.server->acks().take(ack);
    }
    old_pair.server->publish_read_marks();
    old_pair.server->publish_persisted(persisted);
    old_pair.server.reset();
    old_engine->listener.reset();

    EngineOptions options = small_engine();
    options.epoch = 2;
    TestEngine engine(*old_engine, options);
    publish(*old_pair.client, 10);  // while no engine is there
    Pair pair = connect(engine, engine.client_options(), old_pair.client.get());
    ASSERT_TRUE(pair.client) << pair.error.text;
    EXPECT_TRUE(pair.client->is_adopted());
    EXPECT_TRUE(pair.server->is_adopted());
    EXPECT_EQ(pair.client->epoch(), 2u);
    EXPECT_EQ(pair.server->submit().position(), persisted);
    EXPECT_EQ(pair.client->submit_persisted(), persisted);
    publish(*pair.client, 11);
    read_frames(*pair.server, 4, 12);
    EXPECT_EQ(pair.server->acks().index(), 2u);
    acknowledge(*pair.client, 5);
    for (std::uint64_t position = 2; position < 6; ++position) {
        ASSERT_EQ(pair.server->peek_ack(ack), ReadStatus::ready);
        EXPECT_EQ(ack.position, position);
        pair.server->acks().take(ack);
    }
    pair.server->publish_persisted(pair.server->submit().position());
    EXPECT_EQ(pair.client->submit().refresh(), pair.client->submit().position());
    EXPECT_FALSE(pair.client->violation());
    EXPECT_FALSE(pair.server->violation());
}

TEST_F(Adoption, ARegionOfALivingSessionIsRefused) {
    TestEngine engine;
    Pair first = connect(engine);
    ASSERT_TRUE(first.client);
    publish(*first.client, 0);
    Pair second = connect(engine, engine.client_options(), first.client.get());
    EXPECT_FALSE(second.client);
    EXPECT_EQ(second.error.reason, RefusalReason::adoption);
    // What it holds can still be read again.
    SubmitReader again = first.client->unpersisted();
    SubmitFrame frame;
    EXPECT_EQ(again.peek(frame), ReadStatus::ready);
}

TEST_F(Adoption, ARegionThatIsNotSealedOrTooSmallIsRefused) {
    TestEngine engine;
    const SessionGeometry geometry{64 * 1024, 64, 64, 64};
    for (const int which : {0, 1, 2}) {
        Fd region(memfd_create("pinnace-test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
        const std::uint64_t size = which == 1 ? geometry.up_size() - 4096 : geometry.up_size();
        ASSERT_EQ(ftruncate(region.get(), static_cast<off_t>(size)), 0);
        if (which == 1) {
            ASSERT_TRUE(seal_for_good(region).has_value());
        }
        if (which == 2) {
            ASSERT_EQ(fcntl(region.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
        }
        RawPeer raw(engine);
        HelloMessage hello = good_hello();
        hello.flags |= kHelloAdopt;
        hello.wanted = geometry;
        const int fd = region.get();
        raw.say(hello, {&fd, 1});
        EXPECT_EQ(raw.reason(), RefusalReason::adoption) << which;
    }
    RawPeer raw(engine);
    HelloMessage hello = good_hello();
    hello.flags |= kHelloAdopt;
    hello.wanted = geometry;
    const int fd = STDERR_FILENO;
    raw.say(hello, {&fd, 1});
    EXPECT_EQ(raw.reason(), RefusalReason::adoption);
}

TEST_F(Adoption, GeometryAndPositionsThatCannotBeAreRefused) {
    TestEngine engine;
    const std::function<void(HelloMessage&)> changes[] = {
        [](HelloMessage& h) { h.wanted.submit_capacity = 65'537; },
        [](HelloMessage& h) { h.wanted.submit_capacity = std::uint64_t{1} << 63; },
        [](HelloMessage& h) { h.wanted.ack_count = 0; },
        [](HelloMessage& h) { h.wanted.ack_count = UINT64_MAX; },
        [](HelloMessage& h) { h.wanted.delivery_count = 63; },
        [](HelloMessage& h) { h.submit_position = 63; },
    };
    for (const auto& change : changes) {
        RawPeer raw(engine);
        HelloMessage hello = good_hello();
        hello.flags |= kHelloAdopt;
        change(hello);
        const int fd = STDERR_FILENO;
        raw.say(hello, {&fd, 1});
        EXPECT_EQ(raw.reason(), RefusalReason::adoption);
    }
}

// A client may name any position at all: the engine finds nothing there, or a violation, and reads nothing
// outside.
TEST_F(Adoption, AnyPositionThatAClientNamesIsHarmless) {
    Random random(seed());
    for (int round = 0; round < 30; ++round) {
        auto engine = std::make_unique<TestEngine>();
        Pair pair = connect(*engine);
        for (std::uint64_t number = 0; number < 50; ++number) publish(*pair.client, number);
        auto fd = Fd(memfd_create("pinnace-test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
        const SessionGeometry geometry = pair.client->geometry();
        ASSERT_EQ(ftruncate(fd.get(), static_cast<off_t>(geometry.up_size())), 0);
        for (std::uint64_t at = 0; at < geometry.up_size(); at += 8) {
            const std::uint64_t word = random.next() >> random.below(64);
            ASSERT_EQ(pwrite(fd.get(), &word, 8, static_cast<off_t>(at)), 8);
        }
        ASSERT_TRUE(seal_for_good(fd).has_value());
        RawPeer raw(*engine);
        HelloMessage hello = good_hello();
        hello.flags |= kHelloAdopt;
        hello.wanted = geometry;
        hello.submit_position = (random.next() >> random.below(64)) & ~std::uint64_t{63};
        hello.ack_index = random.next() >> random.below(64);
        const int region = fd.get();
        raw.say(hello, {&region, 1});
        std::vector<Fd> descriptors;
        MappedMessage mapped;
        mapped.nonce = raw.welcome(descriptors).nonce;
        raw.say(mapped);
        ASSERT_EQ(raw.handshake.state(), ServerHandshake::State::done);
        auto session = raw.handshake.take_session();
        SubmitFrame frame;
        AckEntry ack;
        EXPECT_NE(session->submit().peek(frame), ReadStatus::ready);
        EXPECT_NE(session->peek_ack(ack), ReadStatus::ready);
    }
}

}  // namespace
}  // namespace pinnace::shm::test
