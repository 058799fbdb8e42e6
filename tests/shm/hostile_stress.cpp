// SPDX-License-Identifier: Apache-2.0
// A client that writes anything into everything that it may write, while the engine's side reads, and an
// engine that does the same to a client: nothing crashes, reads outside or hangs, and the lie is told.
#include <thread>

#include "tests/shm/raw_peer.h"

namespace pinnace::shm::test {
namespace {

constexpr int kRounds = PINNACE_TSAN ? 5 : 30;
constexpr std::int64_t kRoundNs = 100'000'000;  // some lies only stop the liar: a round ends anyway

// A session of which the test holds the client's memory itself.
struct Liar {
    explicit Liar(TestEngine& engine) : raw(engine) {
        raw.say(good_hello());
        welcome = raw.welcome(descriptors);
        up = std::move(*Mapping::map(descriptors[3], welcome.geometry.up_size(), Access::read_write));
        MappedMessage mapped;
        mapped.nonce = welcome.nonce;
        raw.say(mapped);
        session = raw.handshake.take_session();
        session_pins = session->pins();
        engine.regions->log().pins().add(session_pins);
    }

    std::uint64_t& word(std::uint64_t index) { return reinterpret_cast<std::uint64_t*>(up.data())[index]; }

    // One lie: a random word, mostly near something that is looked at.
    void lie(Random& random, const SubmitWriter& writer, std::uint64_t acks) {
        const SessionGeometry& geometry = welcome.geometry;
        std::uint64_t offset = random.below(geometry.up_size());
        switch (random.below(6)) {
            case 0:
                offset = random.below(kPageSize);
                break;
            case 1:
                offset = geometry.ack_offset() + acks % geometry.ack_count * kEntrySize + random.below(64);
                break;
            case 2:
            case 3:
                offset = geometry.submit_offset() +
                         (writer.position() + random.below(256)) % geometry.submit_capacity;
                break;
            default:
                break;
        }
        std::uint64_t value = random.next() >> random.below(64);
        std::uint64_t& target = word(offset / 8);
        if (random.below(2) == 0) value = load_relaxed(target) ^ (std::uint64_t{1} << random.below(64));
        store_relaxed(target, value);
    }

    RawPeer raw;
    std::vector<Fd> descriptors;
    WelcomeMessage welcome;
    Mapping up;
    std::unique_ptr<ServerSession> session;
    const std::uint64_t* session_pins = nullptr;
};

// The dispatcher's share of work with one session, sizes used as it would use them.
class Turns {
 public:
    Turns(TestEngine& engine, ServerSession& session) : engine_(engine), session_(session) {}

    // False: a violation was found.
    bool turn() {
        AckEntry ack;
        for (int i = 0; i < 16; ++i) {
            const ReadStatus status = session_.peek_ack(ack);
            if (status == ReadStatus::violation) return false;
            if (status == ReadStatus::nothing || !is_due(ack, session_.submit().position())) break;
            session_.acks().take(ack);
        }
        SubmitFrame frame;
        for (int i = 0; i < 16; ++i) {
            const ReadStatus status = session_.submit().peek(frame);
            if (status == ReadStatus::violation) return false;
            if (status == ReadStatus::nothing) break;
            read_frame(frame);
            session_.submit().take(frame);
            ++frame_count;
        }
        session_.publish_read_marks();
        if (session_.submit().is_at_boundary()) session_.publish_persisted(session_.submit().position());
        session_.deliveries().refresh();
        session_.answers().refresh();
        session_.answers().try_write(AnswerEntry{});
        full_fence();
        if (session_.bell().should_ring()) session_.bell().ring();
        return !session_.violation();
    }

    std::uint64_t frame_count = 0;

 private:
    void read_frame(const SubmitFrame& frame) {
        std::byte options[UINT16_MAX];
        std::memcpy(options, frame.options, frame.header.options_size);
        LogHeader header;
        header.size = frame.header.size;
        const auto place = engine_.regions->log().try_place(header);
        ASSERT_TRUE(place.has_value());
        copy_shared(place->body, frame.body, frame.header.size);
        engine_.regions->log().settle(place->position, header.size, 0);
        DeliveryEntry entry;
        entry.log_position = place->position.bits;
        entry.size = header.size;
        session_.deliveries().try_write(entry);
    }

    TestEngine& engine_;
    ServerSession& session_;
};

TEST(HostileStress, AClientThatLiesInEveryWordIsFoundAndNothingElseHappens) {
    Random random(seed());
    int found = 0;
    for (int round = 0; round < kRounds; ++round) {
        TestEngine engine;
        Liar liar(engine);
        std::uint32_t is_done = 0;
        const std::uint64_t start = random.next();
        std::thread client([&] {
            Random lies(start);
            std::uint64_t mark = 0;
            SubmitWriter writer(liar.up.data() + liar.welcome.geometry.submit_offset(),
                                liar.welcome.geometry.submit_capacity, liar.welcome.ring_key, 32 * 1024,
                                &mark);
            std::vector<std::byte> body(32 * 1024);
            std::uint64_t acks = 0;
            while (load_relaxed(is_done) == 0) {
                // Honest work, so that the reader gets deep into the rings; then a lie.
                for (std::uint64_t i = lies.below(50); i > 0; --i) {
                    mark = std::max(mark,
                                    writer.position() - std::min<std::uint64_t>(writer.position(), 20'000));
                    static_cast<void>(writer.try_publish(
                        {},
                        std::span(body).first(lies.below(2) == 0 ? lies.below(300) : lies.below(20'000))));
                }
                for (std::uint64_t i = lies.below(5); i > 0; --i) liar.lie(lies, writer, acks);
            }
        });
        Turns turns(engine, *liar.session);
        bool is_honest = true;
        const std::int64_t end = monotonic_ns() + kRoundNs;
        while (is_honest && monotonic_ns() < end) is_honest = turns.turn();
        if (!is_honest) ++found;
        store_relaxed(is_done, 1u);
        client.join();
        engine.regions->log().pins().remove(liar.session_pins);
    }
    EXPECT_GT(found, 0);
}

TEST(HostileStress, AnEngineThatLiesInEveryWordIsFoundAndNothingElseHappens) {
    Random random(seed());
    int found = 0;
    for (int round = 0; round < kRounds; ++round) {
        TestEngine engine;
        Pair pair = connect(engine);
        ASSERT_TRUE(pair.client) << pair.error.text;
        // The engine's mapping of `down` begins with the marks; the entries behind are reached through the
        // writers.
        std::uint32_t is_done = 0;
        const std::uint64_t start = random.next();
        std::thread lying([&] {
            Random lies(start);
            while (load_relaxed(is_done) == 0) {
                DeliveryEntry entry;
                entry.log_position = LogPosition::make(Area::small, lies.below(2000) * 64).bits;
                entry.size = static_cast<std::uint32_t>(lies.below(40'000));
                if (lies.below(50) == 0) entry.log_position = lies.next();
                if (lies.below(50) == 0) entry.size = static_cast<std::uint32_t>(lies.next());
                pair.server->deliveries().refresh();
                pair.server->deliveries().try_write(entry);
                if (lies.below(20) == 0) pair.server->publish_persisted(lies.next() >> lies.below(64));
                if (lies.below(20) == 0) {
                    ControlPage& control = engine.regions->control();
                    store_relaxed(control.clock_sequence, lies.next());
                    store_relaxed(control.clock_shift, lies.next());
                    store_relaxed(control.dispatcher_sleep, lies.next());
                }
                std::this_thread::yield();
            }
        });
        std::vector<std::byte> out(300 * 1024);
        PublishItem item;
        item.body = std::span(out).first(100);
        const std::int64_t end = monotonic_ns() + kRoundNs;
        while (monotonic_ns() < end) {
            DeliveryEntry entry;
            const ReadStatus status = pair.client->take(entry);
            if (status == ReadStatus::violation) break;
            if (status == ReadStatus::ready) {
                std::int64_t published = 0;
                static_cast<void>(pair.client->log().copy(LogPosition{entry.log_position},
                                                          std::span(out).first(entry.size), published));
                const auto view = pair.client->log().pin(LogPosition{entry.log_position}, entry.size);
                if (view) {
                    EXPECT_EQ(view->body().size(), entry.size);
                }
            }
            static_cast<void>(pair.client->publish({&item, 1}, 0));
            static_cast<void>(read_clock(pair.client->control()));
        }
        store_relaxed(is_done, 1u);
        lying.join();
        if (pair.client->violation()) ++found;
    }
    EXPECT_GT(found, 0);
}

}  // namespace
}  // namespace pinnace::shm::test
