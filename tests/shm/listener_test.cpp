// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <fstream>

#include "tests/shm/test_engine.h"

namespace pinnace::shm::test {
namespace {

mode_t mode_of(const std::string& path) {
    struct stat status = {};
    EXPECT_EQ(lstat(path.c_str(), &status), 0);
    return status.st_mode & 07777;
}

TEST(Listener, ItsModeDoesNotDependOnTheUmask) {
    for (const mode_t mask : {mode_t{0}, mode_t{0777}}) {
        TempFolder folder;
        const mode_t old = umask(mask);
        auto listener = Listener::create(folder.file("s"), 0660);
        umask(old);
        ASSERT_TRUE(listener.has_value()) << listener.error();
        EXPECT_EQ(mode_of(folder.file("s")), 0660u);
        EXPECT_TRUE(connect_to(folder.file("s")).has_value());
    }
}

TEST(Listener, TwoEnginesCannotServeOneSocket) {
    TempFolder folder;
    auto first = Listener::create(folder.file("s"));
    ASSERT_TRUE(first.has_value());
    auto second = Listener::create(folder.file("s"));
    ASSERT_FALSE(second.has_value());
    EXPECT_NE(second.error().find("another engine"), std::string::npos) << second.error();
    EXPECT_TRUE(connect_to(folder.file("s")).has_value());
    *first = std::move(*Listener::create(folder.file("t")));
    EXPECT_TRUE(Listener::create(folder.file("s")).has_value());
}

TEST(Listener, LeftOversOfADeadEngineAreNotInTheWay) {
    TempFolder folder;
    {
        std::ofstream(folder.file("s")) << "stale";
        std::ofstream(folder.file("s.new")) << "stale";
        std::ofstream(folder.file("s.lock")) << "1";  // the content means nothing
    }
    auto listener = Listener::create(folder.file("s"));
    ASSERT_TRUE(listener.has_value()) << listener.error();
    EXPECT_TRUE(connect_to(folder.file("s")).has_value());
}

TEST(Listener, TheNameGoesAwayWithIt) {
    TempFolder folder;
    {
        auto listener = Listener::create(folder.file("s"));
        ASSERT_TRUE(listener.has_value());
    }
    EXPECT_FALSE(std::filesystem::exists(folder.file("s")));
    EXPECT_FALSE(connect_to(folder.file("s")).has_value());
}

TEST(Listener, APathThatCannotBeIsRefusedWithAReason) {
    TempFolder folder;
    EXPECT_FALSE(Listener::create("").has_value());
    EXPECT_FALSE(Listener::create(folder.file(std::string(200, 'x'))).has_value());
    const auto missing = Listener::create(folder.file("no/such/s"));
    ASSERT_FALSE(missing.has_value());
    EXPECT_NE(missing.error().find("No such file"), std::string::npos) << missing.error();
}

TEST(Listener, AnEngineThatIsNotThereIsUnreachable) {
    TempFolder folder;
    ClientOptions options;
    options.socket_path = folder.file("s");
    const auto session = ClientSession::connect(options);
    ASSERT_FALSE(session.has_value());
    EXPECT_EQ(session.error().kind, ConnectErrorKind::unreachable);
    EXPECT_NE(session.error().text.find(folder.file("s")), std::string::npos);
}

TEST(Listener, AnEngineThatDoesNotAnswerIsGivenUpInTime) {
    TestEngine engine;
    ClientOptions options = engine.client_options();
    options.connect_timeout_ns = 10'000'000;
    const auto session = ClientSession::connect(options);
    ASSERT_FALSE(session.has_value());
    EXPECT_EQ(session.error().kind, ConnectErrorKind::timed_out);
}

}  // namespace
}  // namespace pinnace::shm::test
