// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cstring>
#include <functional>

#include "tests/shm/raw_peer.h"

namespace pinnace::shm::test {
namespace {

TEST(Handshake, AnotherVersionIsRefusedNamingBoth) {
    TestEngine engine;
    for (const int which : {0, 1}) {
        RawPeer raw(engine);
        HelloMessage hello = good_hello();
        (which == 0 ? hello.protocol_version : hello.layout_version) = 77;
        raw.say(hello);
        const RefusedMessage refused = raw.refusal();
        EXPECT_EQ(refused.reason, static_cast<std::uint32_t>(RefusalReason::version));
        EXPECT_EQ(refused.protocol_version, kProtocolVersion);
        EXPECT_EQ(refused.layout_version, kLayoutVersion);
        const std::string text = refused.text;
        EXPECT_NE(text.find(which == 0 ? "protocol 77" : "layout 77"), std::string::npos) << text;
        EXPECT_NE(text.find("protocol 1, layout 1"), std::string::npos) << text;
        EXPECT_EQ(raw.handshake.state(), ServerHandshake::State::failed);
    }
}

TEST(Handshake, AHelloOfAFutureSizeIsUnderstoodFarEnoughToRefuseIt) {
    TestEngine engine;
    RawPeer raw(engine);
    struct Future {
        HelloMessage hello = good_hello();
        std::byte more[64] = {};
    } future;
    future.hello.protocol_version = 2;
    future.hello.size = sizeof(future);
    raw.say(future);
    EXPECT_EQ(raw.reason(), RefusalReason::version);
}

TEST(Handshake, WhatIsNoHelloIsRefused) {
    TestEngine engine;
    const std::function<void(HelloMessage&)> changes[] = {
        [](HelloMessage& h) { h.magic ^= 1; },
        [](HelloMessage& h) { h.kind = 2; },
        [](HelloMessage& h) { h.byte_order = 0x04030201; },
        [](HelloMessage& h) { h.word_size = 4; },
        [](HelloMessage& h) { h.size -= 1; },
        [](HelloMessage& h) { h.flags = 4; },
        [](HelloMessage& h) { h.features = 1; },
        [](HelloMessage& h) { std::memset(h.client_name, 'x', sizeof(h.client_name)); },
    };
    for (const auto& change : changes) {
        RawPeer raw(engine);
        HelloMessage hello = good_hello();
        change(hello);
        raw.say(hello);
        EXPECT_NE(raw.reason(), RefusalReason::none);
        EXPECT_EQ(raw.handshake.state(), ServerHandshake::State::failed);
    }
}

TEST(Handshake, ShortLongAndRandomMessagesAreRefusedWithoutAllocating) {
    TestEngine engine;
    Random random(seed());
    const std::size_t mappings = region_mapping_count();
    for (int i = 0; i < 300; ++i) {
        RawPeer raw(engine);
        std::vector<std::byte> message(i < 180 ? static_cast<std::size_t>(i) + 1 : random.below(3000) + 1);
        const HelloMessage hello = good_hello();
        std::memcpy(message.data(), &hello, std::min(message.size(), sizeof(hello)));
        if (message.size() == sizeof(hello) || random.below(2) == 0) {
            for (std::byte& byte : message) byte = static_cast<std::byte>(random.next());
        }
        ASSERT_EQ(send_message(raw.client.get(), message), SendStatus::sent);
        raw.handshake.step();
        EXPECT_EQ(raw.handshake.state(), ServerHandshake::State::failed);
        EXPECT_EQ(region_mapping_count(), mappings);
        raw.refusal();
    }
    EXPECT_EQ(engine.admission.session_count(), 0u);
}

TEST(Handshake, EveryBitOfTheHelloMayBeWrong) {
    AdmissionLimits limits;
    limits.largest = {128 * 1024, 128, 128, 128};
    TestEngine engine(small_engine(), limits);
    for (std::size_t bit = 0; bit < sizeof(HelloMessage) * 8; ++bit) {
        RawPeer raw(engine);
        HelloMessage hello = good_hello();
        reinterpret_cast<std::byte*>(&hello)[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
        raw.say(hello);
        using State = ServerHandshake::State;
        EXPECT_TRUE(raw.handshake.state() == State::awaiting_mapped ||
                    raw.handshake.state() == State::failed);
    }
}

TEST(Handshake, WantedSizesAreRoundedAndCutToTheLimits) {
    AdmissionLimits limits;
    limits.largest = {128 * 1024, 128, 128, 128};
    TestEngine engine(small_engine(), limits);
    ClientOptions options = engine.client_options();
    options.wanted = {0, 65, 1'000'000, UINT64_MAX};
    Pair pair = connect(engine, options);
    ASSERT_TRUE(pair.client) << pair.error.text;
    EXPECT_EQ(pair.client->geometry(), (SessionGeometry{64 * 1024, 128, 128, 128}));
}

TEST(Handshake, DescriptorsThatShouldNotComeAreClosedAndRefused) {
    TestEngine engine;
    for (const std::size_t count : {std::size_t{1}, std::size_t{3}, std::size_t{8}}) {
        RawPeer raw(engine);
        const std::size_t before = descriptor_count();
        const std::vector<int> descriptors(count, STDERR_FILENO);
        raw.say(good_hello(), descriptors);
        EXPECT_EQ(raw.reason(), RefusalReason::descriptors);
        EXPECT_EQ(descriptor_count(), before);
    }
}

TEST(Handshake, MoreDescriptorsThanAnyMessageHasAreRefused) {
    TestEngine engine;
    RawPeer raw(engine);
    const std::size_t before = descriptor_count();
    const HelloMessage hello = good_hello();
    alignas(cmsghdr) std::byte control[CMSG_SPACE(sizeof(int) * 100)] = {};
    iovec part{const_cast<HelloMessage*>(&hello), sizeof(hello)};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof(control);
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int) * 100);
    for (std::size_t i = 0; i < 100; ++i) {
        const int fd = STDERR_FILENO;
        std::memcpy(CMSG_DATA(rights) + i * sizeof(int), &fd, sizeof(fd));
    }
    ASSERT_GT(sendmsg(raw.client.get(), &header, 0), 0);
    raw.handshake.step();
    EXPECT_EQ(raw.reason(), RefusalReason::descriptors);
    EXPECT_EQ(descriptor_count(), before);
}

TEST(Handshake, AClientWithoutRoomForDescriptorsFailsCleanly) {
    TestEngine engine;
    const std::size_t before = descriptor_count();
    // In a process of its own, so that its limit is its own.
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        const rlimit limit{descriptor_count() + 2, descriptor_count() + 2};
        setrlimit(RLIMIT_NOFILE, &limit);
        auto session = ClientSession::connect(engine.client_options());
        _exit(!session && session.error().kind == ConnectErrorKind::local ? 0 : 1);
    }
    std::string failure;
    EXPECT_EQ(engine.serve_one(&failure), nullptr);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_FALSE(failure.empty());
    EXPECT_EQ(descriptor_count(), before);
    // And the next one is served.
    Pair pair = connect(engine);
    EXPECT_TRUE(pair.client) << pair.error.text;
}

// Everything a client may do up to each step, then leave.
TEST(Handshake, AClientThatLeavesAtAnyStepLeavesNothing) {
    TestEngine engine;
    const std::size_t descriptors = descriptor_count();
    const std::size_t mappings = region_mapping_count();
    for (int round = 0; round < 20; ++round) {
        for (int step = 0; step < 5; ++step) {
            {
                RawPeer raw(engine);
                std::vector<Fd> received;
                WelcomeMessage welcome;
                if (step >= 1) raw.say(good_hello());
                if (step >= 2) welcome = raw.welcome(received);
                if (step >= 3) {
                    MappedMessage mapped;
                    mapped.nonce = welcome.nonce;
                    raw.say(mapped);
                    EXPECT_EQ(raw.handshake.state(), ServerHandshake::State::done);
                }
                if (step == 4) {
                    auto session = raw.handshake.take_session();
                    raw.client.reset();
                    SocketMessage request;
                    EXPECT_FALSE(session->socket().receive(request));
                    EXPECT_TRUE(session->socket().is_closed());
                } else if (step < 3) {
                    raw.client.reset();
                    EXPECT_EQ(raw.handshake.step(), ServerHandshake::State::failed);
                }
            }
            EXPECT_EQ(descriptor_count(), descriptors) << step;
            EXPECT_EQ(region_mapping_count(), mappings) << step;
            EXPECT_EQ(engine.admission.session_count(), 0u);
        }
    }
}

TEST(Handshake, AnAnswerThatIsNotTheExpectedOneIsRefused) {
    TestEngine engine;
    const std::function<void(MappedMessage&)> changes[] = {
        [](MappedMessage& m) { m.nonce ^= 1; },
        [](MappedMessage& m) { m.kind = 16; },
    };
    for (const auto& change : changes) {
        RawPeer raw(engine);
        raw.say(good_hello());
        std::vector<Fd> descriptors;
        MappedMessage mapped;
        mapped.nonce = raw.welcome(descriptors).nonce;
        change(mapped);
        raw.say(mapped);
        EXPECT_EQ(raw.reason(), RefusalReason::malformed);
    }
}

TEST(Handshake, AnotherProcessThanTheOneThatConnectedIsRefused) {
    TestEngine engine;
    RawPeer raw(engine);
    raw.say(good_hello());
    std::vector<Fd> descriptors;
    MappedMessage mapped;
    mapped.nonce = raw.welcome(descriptors).nonce;
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) _exit(send_message(raw.client.get(), bytes_of(mapped)) == SendStatus::sent ? 0 : 1);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
    raw.handshake.step();
    EXPECT_EQ(raw.reason(), RefusalReason::credentials);
}

TEST(Handshake, ARegionThatWasShrunkAndGrownBeforeTheSealCannotBe) {
    TestEngine engine;
    RawPeer raw(engine);
    raw.say(good_hello());
    std::vector<Fd> descriptors;
    const WelcomeMessage welcome = raw.welcome(descriptors);
    ASSERT_EQ(descriptors.size(), 7u);
    const Fd& up = descriptors[3];
    EXPECT_EQ(ftruncate(up.get(), 0), -1);
    // Holes are still possible up to the seal: the engine fills them again.
    EXPECT_EQ(fallocate(up.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 65'536), 0);
    MappedMessage mapped;
    mapped.nonce = welcome.nonce;
    raw.say(mapped);
    ASSERT_EQ(raw.handshake.state(), ServerHandshake::State::done);
    auto session = raw.handshake.take_session();
    SubmitFrame frame;
    EXPECT_EQ(session->submit().peek(frame), ReadStatus::nothing);
    EXPECT_EQ(fallocate(up.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 65'536), -1);
}

TEST(Handshake, NoDescriptorThatAClientGetsLetsItTakePagesAwayOrWriteWhatIsNotItsOwn) {
    TestEngine engine;
    RawPeer raw(engine);
    raw.say(good_hello());
    std::vector<Fd> descriptors;
    MappedMessage mapped;
    mapped.nonce = raw.welcome(descriptors).nonce;
    raw.say(mapped);
    ASSERT_EQ(raw.handshake.state(), ServerHandshake::State::done);
    for (std::size_t i = 1; i < descriptors.size(); ++i) {
        const int fd = descriptors[i].get();
        EXPECT_EQ(ftruncate(fd, 0), -1) << i;
        EXPECT_EQ(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096), -1) << i;
        EXPECT_EQ(write(fd, "x", 1), -1) << i;
        EXPECT_EQ(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED) << i;
        void* readable = mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fd, 0);
        ASSERT_NE(readable, MAP_FAILED) << i;
        EXPECT_EQ(mprotect(readable, 4096, PROT_READ | PROT_WRITE), -1) << i;
        EXPECT_NE(madvise(readable, 4096, MADV_REMOVE), 0) << i;
        munmap(readable, 4096);
        const std::string path = "/proc/self/fd/" + std::to_string(fd);
        const Fd again(open(path.c_str(), O_RDWR | O_CLOEXEC));
        if (again) {
            EXPECT_EQ(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, again.get(), 0), MAP_FAILED)
                << i;
        }
    }
}

TEST(Handshake, QuotasHoldAndAreGivenBack) {
    AdmissionLimits limits;
    limits.session_count_max_per_user = 2;
    TestEngine engine(small_engine(), limits);
    Pair first = connect(engine);
    Pair second = connect(engine);
    ASSERT_TRUE(first.client && second.client);
    Pair third = connect(engine);
    EXPECT_FALSE(third.client);
    EXPECT_EQ(third.error.reason, RefusalReason::too_many);
    EXPECT_NE(third.error.text.find("2 sessions already"), std::string::npos) << third.error.text;
    // What a client may still hold counts until its process is gone.
    Remains remains = first.server->take_remains();
    first.server.reset();
    EXPECT_FALSE(remains.watch.is_dead());
    EXPECT_FALSE(connect(engine).client);
    remains = {};
    EXPECT_TRUE(connect(engine).client);
}

TEST(Handshake, MemoryOfOneUserIsBounded) {
    AdmissionLimits limits;
    limits.memory_size_max_per_user = 1 << 20;
    TestEngine engine(small_engine(), limits);
    ClientOptions options = engine.client_options();
    options.wanted.submit_capacity = 2u << 20;
    Pair pair = connect(engine, options);
    EXPECT_FALSE(pair.client);
    EXPECT_EQ(pair.error.reason, RefusalReason::too_many);
    EXPECT_TRUE(connect(engine).client);
}

TEST(Handshake, AnEngineThatIsAboutToStopSaysSo) {
    TestEngine engine;
    engine.admission.stop();
    Pair pair = connect(engine);
    EXPECT_EQ(pair.error.reason, RefusalReason::stopping);
}

TEST(Handshake, ADeadProcessIsToldFromALivingOne) {
    TestEngine engine;
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        auto session = ClientSession::connect(engine.client_options());
        if (session) (*session)->wait([] { return false; }, -1);
        _exit(0);
    }
    auto session = engine.serve_one();
    ASSERT_TRUE(session);
    EXPECT_EQ(session->credentials().pid, child);
    EXPECT_EQ(session->credentials().uid, getuid());
    ASSERT_GE(session->watch().pidfd(), 0);
    EXPECT_FALSE(session->watch().is_dead());
    kill(child, SIGKILL);
    pollfd entry{session->watch().pidfd(), POLLIN, 0};
    EXPECT_EQ(poll(&entry, 1, -1), 1);
    EXPECT_TRUE(session->watch().is_dead());  // while it is a zombie
    SocketMessage request;
    EXPECT_FALSE(session->socket().receive(request));
    EXPECT_TRUE(session->socket().is_closed());
    waitpid(child, nullptr, 0);
    EXPECT_TRUE(session->watch().is_dead());
}

}  // namespace
}  // namespace pinnace::shm::test
