// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <deque>
#include <memory>

#include "shm/submit_reader.h"
#include "shm/submit_writer.h"
#include "tests/shm/test_engine.h"

namespace pinnace::shm::test {
namespace {

constexpr std::uint64_t kKey = 0x1122334455667788;

// A ring in plain memory with both its ends.
template <class P>
struct Ring {
    explicit Ring(P ring_capacity, P start = 0, std::uint32_t message_limit = 0)
        : capacity(ring_capacity),
          memory(std::size_t{ring_capacity} / 8),
          mark(start),
          limit(message_limit != 0 ? message_limit : static_cast<std::uint32_t>(ring_capacity / 2)),
          writer(data(), capacity, kKey, limit, &mark, start),
          reader(data(), capacity, kKey, limit, start) {}

    std::byte* data() { return reinterpret_cast<std::byte*>(memory.data()); }
    SubmitHeader& header(P position) {
        return *reinterpret_cast<SubmitHeader*>(data() + offset_of(position, capacity));
    }
    void persist(P position) {
        reader.set_persisted(position);
        mark = position;
    }

    P capacity;
    std::vector<std::uint64_t> memory;
    std::uint64_t mark;
    std::uint32_t limit;
    BasicSubmitWriter<P> writer;
    BasicSubmitReader<P> reader;
};

std::vector<std::byte> body_of(std::size_t size, std::uint64_t salt) {
    std::vector<std::byte> body(size);
    for (std::size_t i = 0; i < size; ++i) body[i] = static_cast<std::byte>(salt + i * 7);
    return body;
}

// Reads one whole message, putting its fragments together.
template <class P>
bool read_message(Ring<P>& ring, SubmitHeader& header, std::vector<std::byte>& options,
                  std::vector<std::byte>& body) {
    body.clear();
    BasicSubmitFrame<P> frame;
    while (ring.reader.peek(frame) == ReadStatus::ready) {
        if (frame.is_first) {
            header = frame.header;
            options.assign(frame.options, frame.options + frame.header.options_size);
        }
        EXPECT_EQ(frame.body_offset, body.size());
        body.insert(body.end(), frame.body, frame.body + frame.header.size);
        ring.reader.take(frame);
        if (frame.is_last) return true;
    }
    return false;
}

TEST(SubmitRing, AFrameIsInvisibleUntilItIsCommitted) {
    Ring<std::uint64_t> ring(65'536);
    BasicSubmitFrame<> frame;
    EXPECT_EQ(ring.reader.peek(frame), ReadStatus::nothing);
    const auto claim = ring.writer.try_claim({}, 100);
    ASSERT_TRUE(claim.has_value());
    EXPECT_EQ(ring.reader.peek(frame), ReadStatus::nothing);
    ring.writer.commit(*claim);
    EXPECT_EQ(ring.reader.peek(frame), ReadStatus::ready);
    EXPECT_EQ(frame.header.size, 100u);
}

TEST(SubmitRing, AClaimThatIsGivenUpLeavesNothing) {
    Ring<std::uint64_t> ring(65'536);
    ASSERT_TRUE(ring.writer.try_claim({}, 100).has_value());
    const auto claim = ring.writer.try_claim({}, 7);
    ring.writer.commit(*claim);
    BasicSubmitFrame<> frame;
    ASSERT_EQ(ring.reader.peek(frame), ReadStatus::ready);
    EXPECT_EQ(frame.header.size, 7u);
    ring.reader.take(frame);
    EXPECT_EQ(ring.reader.peek(frame), ReadStatus::nothing);
}

TEST(SubmitRing, ASmallMessageTakesTwoLines) {
    Ring<std::uint64_t> ring(65'536);
    EXPECT_EQ(ring.writer.try_publish({}, body_of(64, 0)), 128u);
    EXPECT_EQ(ring.writer.try_publish({}, body_of(16, 0)), 192u);
}

TEST(SubmitRing, SpaceIsFreeOnlyWhenThePersistedMarkPassesIt) {
    Ring<std::uint64_t> ring(65'536);
    std::uint64_t end = 0;
    while (const auto result = ring.writer.try_publish({}, body_of(1000, 0))) end = *result;
    SubmitHeader header;
    std::vector<std::byte> options;
    std::vector<std::byte> body;
    while (read_message(ring, header, options, body)) {
    }
    EXPECT_EQ(ring.reader.position(), end);
    // All of it was read, none of it is persisted.
    EXPECT_EQ(ring.writer.try_publish({}, body_of(1000, 0)).error(), ClaimError::would_block);
    ring.persist(1088);
    EXPECT_TRUE(ring.writer.try_publish({}, body_of(1000, 0)).has_value());
    EXPECT_EQ(ring.writer.try_publish({}, body_of(1000, 0)).error(), ClaimError::would_block);
}

TEST(SubmitRing, TheLimitIsTooLargeAtOnceAndTheLimitItselfFits) {
    Ring<std::uint64_t> ring(65'536);
    EXPECT_EQ(ring.writer.try_publish({}, body_of(32'769, 0)).error(), ClaimError::too_large);
    EXPECT_TRUE(ring.writer.try_publish({}, body_of(32'768, 0)).has_value());
    EXPECT_EQ(ring.writer.try_claim({}, 8192).error(), ClaimError::too_large);
}

TEST(SubmitRing, ABatchIsWrittenWholeOrNotAtAll) {
    Ring<std::uint64_t> ring(65'536);
    const auto body = body_of(4000, 1);
    std::vector<PublishItem> items(8, PublishItem{{}, body});
    ASSERT_TRUE(ring.writer.try_publish_batch(items).has_value());
    const std::uint64_t after = ring.writer.position();
    std::vector<PublishItem> nine(9, PublishItem{{}, body});
    EXPECT_EQ(ring.writer.try_publish_batch(nine).error(),
              ClaimError::too_large);  // its sum is over the limit
    ASSERT_TRUE(ring.writer.try_publish_batch(std::span(items).first(7)).has_value());
    EXPECT_EQ(ring.writer.try_publish_batch(std::span(items).first(2)).error(), ClaimError::would_block);
    BasicSubmitFrame<> frame;
    for (int i = 0; i < 15; ++i) {
        ASSERT_EQ(ring.reader.peek(frame), ReadStatus::ready) << i;
        EXPECT_EQ(frame.is_batch_end, i == 7 || i == 14);
        ring.reader.take(frame);
        EXPECT_EQ(ring.reader.is_at_boundary(), i == 7 || i == 14);
        if (i == 7) {
            EXPECT_EQ(ring.reader.position(), after);
        }
    }
    EXPECT_EQ(ring.reader.peek(frame), ReadStatus::nothing);
}

TEST(SubmitRing, ManySmallMessagesOfABatchAreBoundByTheirFrames) {
    Ring<std::uint64_t> ring(65'536);
    std::vector<PublishItem> items(896);
    EXPECT_TRUE(ring.writer.try_publish_batch(items).has_value());
    items.resize(897);
    EXPECT_EQ(ring.writer.try_publish_batch(items).error(), ClaimError::too_large);
}

// Narrow positions: the counter wraps every 64 laps; every start, so that every place of the wrap is met.
TEST(SubmitRing, ANarrowPositionWrapsWithoutLoss) {
    for (unsigned start = 0; start < 65'536; start += 1024 + 64) {
        Ring<std::uint16_t> ring(1024, static_cast<std::uint16_t>(start), 500);
        std::deque<std::vector<std::byte>> sent;
        Random random(start + 1);
        std::size_t received = 0;
        for (int i = 0; i < 600; ++i) {
            auto body = body_of(random.below(500), random.next());
            PublishFields fields;
            fields.number = static_cast<std::uint64_t>(i);
            while (!ring.writer.try_publish(fields, body)) {
                SubmitHeader header;
                std::vector<std::byte> options;
                std::vector<std::byte> got;
                ASSERT_TRUE(read_message(ring, header, options, got));
                ASSERT_EQ(got, sent.front());
                sent.pop_front();
                ++received;
                ring.persist(ring.reader.position());
            }
            sent.push_back(std::move(body));
        }
        EXPECT_GT(received, 500u);
        ASSERT_FALSE(ring.reader.violation());
    }
}

// All pairs of sizes at all offsets of a lap: what comes out is what went in, options included.
TEST(SubmitRing, EveryOffsetAndSizeComesOutAsItWentIn) {
    Ring<std::uint64_t> ring(2048, 0, 700);
    Random random(seed());
    for (int i = 0; i < 20'000; ++i) {
        const auto body = body_of(random.below(701), random.next());
        const auto options_in = body_of(random.below(40), random.next());
        PublishFields fields;
        fields.topic = static_cast<std::uint32_t>(random.next());
        fields.publisher = static_cast<std::uint32_t>(random.next());
        fields.number = random.next();
        fields.previous = random.next();
        fields.options = options_in;
        ASSERT_TRUE(ring.writer.try_publish(fields, body).has_value());
        SubmitHeader header;
        std::vector<std::byte> options;
        std::vector<std::byte> got;
        ASSERT_TRUE(read_message(ring, header, options, got)) << ring.reader.violation().text();
        ASSERT_EQ(got, body);
        ASSERT_EQ(options, options_in);
        ASSERT_EQ(header.topic, fields.topic);
        ASSERT_EQ(header.publisher, fields.publisher);
        ASSERT_EQ(header.number, fields.number);
        ASSERT_EQ(header.previous, fields.previous);
        ASSERT_EQ(header.total_size, body.size());
        ring.persist(ring.reader.position());
    }
}

// Bodies that consist of headers which would be right, for every position, without the key.
TEST(SubmitRing, BodiesThatLookLikeFramesAreNeverTakenForFrames) {
    Ring<std::uint64_t> ring(65'536);
    std::uint64_t read_count = 0;
    for (int i = 0; i < 200; ++i) {
        std::vector<std::byte> body(4096 - kSubmitHeaderSize);
        // Where the frame of the next lap would start inside this body: all 64-byte boundaries.
        for (std::size_t at = kFrameAlignment - kSubmitHeaderSize; at + sizeof(SubmitHeader) <= body.size();
             at += kFrameAlignment) {
            SubmitHeader fake;
            fake.commit = ring.writer.position() + kSubmitHeaderSize + at + 65'536 + 1;
            fake.type = static_cast<std::uint8_t>(FrameType::publish);
            fake.size = 1;
            fake.total_size = 1;
            std::memcpy(body.data() + at, &fake, sizeof(fake));
        }
        PublishFields fields;
        fields.number = static_cast<std::uint64_t>(i);
        ASSERT_TRUE(ring.writer.try_publish(fields, i % 2 == 0 ? body : body_of(100, 3)).has_value());
        BasicSubmitFrame<> frame;
        while (ring.reader.peek(frame) == ReadStatus::ready) {
            ASSERT_EQ(frame.header.number, read_count);
            ring.reader.take(frame);
            ++read_count;
        }
        ASSERT_EQ(read_count, static_cast<std::uint64_t>(i) + 1);
        ring.persist(ring.reader.position());
    }
}

TEST(SubmitRing, AnotherReaderFindsWhatIsNotPersistedAgain) {
    Ring<std::uint64_t> ring(65'536);
    for (int i = 0; i < 10; ++i) {
        PublishFields fields;
        fields.number = static_cast<std::uint64_t>(i);
        ASSERT_TRUE(ring.writer.try_publish(fields, body_of(500, 0)).has_value());
    }
    BasicSubmitFrame<> frame;
    for (int i = 0; i < 4; ++i) {
        ASSERT_EQ(ring.reader.peek(frame), ReadStatus::ready);
        ring.reader.take(frame);
    }
    ring.persist(ring.reader.position());
    SubmitReader again(ring.data(), ring.capacity, kKey, ring.limit, ring.writer.refresh());
    for (std::uint64_t i = 4; i < 10; ++i) {
        ASSERT_EQ(again.peek(frame), ReadStatus::ready);
        EXPECT_EQ(frame.header.number, i);
        again.take(frame);
    }
    EXPECT_EQ(again.peek(frame), ReadStatus::nothing);
}

TEST(SubmitRing, AMarkThatGoesBackOrAheadIsAViolationAndFreesNothing) {
    for (const std::uint64_t told : {std::uint64_t{0}, std::uint64_t{4096}, UINT64_MAX}) {
        Ring<std::uint64_t> ring(65'536, 1024);
        ASSERT_TRUE(ring.writer.try_publish({}, body_of(500, 0)).has_value());
        ring.mark = told;
        EXPECT_EQ(ring.writer.refresh(), 1024u);
        EXPECT_EQ(ring.writer.violation().kind, ViolationKind::mark);
    }
}

// --- What a client may write, and what the reader says to it.

struct Lie {
    const char* name;
    void (*tell)(SubmitHeader&);
    ViolationKind kind;
};

TEST(SubmitRing, EveryLieInAHeaderIsFoundByName) {
    const Lie lies[] = {
        {"type none", [](SubmitHeader& h) { h.type = 0; }, ViolationKind::frame_type},
        {"type unknown", [](SubmitHeader& h) { h.type = 4; }, ViolationKind::frame_type},
        {"unknown flag", [](SubmitHeader& h) { h.flags = 16; }, ViolationKind::frame_flags},
        {"ends on a whole message", [](SubmitHeader& h) { h.flags = kFrameLast; },
         ViolationKind::frame_flags},
        {"size beyond the frame limit", [](SubmitHeader& h) { h.size = 8192; }, ViolationKind::frame_size},
        {"size near 2^32", [](SubmitHeader& h) { h.size = UINT32_MAX; }, ViolationKind::frame_size},
        {"options beyond", [](SubmitHeader& h) { h.options_size = UINT16_MAX; }, ViolationKind::frame_size},
        {"total beyond the limit", [](SubmitHeader& h) { h.total_size = 32'769; },
         ViolationKind::message_size},
        {"total unlike size", [](SubmitHeader& h) { h.total_size = 99; }, ViolationKind::fragment},
        {"size less than total", [](SubmitHeader& h) { h.size = 99; }, ViolationKind::fragment},
        {"a later fragment first",
         [](SubmitHeader& h) {
             h.type = 2;
             h.flags = kFrameLast;
         },
         ViolationKind::fragment},
        {"an empty first fragment",
         [](SubmitHeader& h) {
             h.type = 2;
             h.flags = kFrameFirst;
             h.size = 0;
         },
         ViolationKind::fragment},
        {"padding in the middle",
         [](SubmitHeader& h) {
             h.type = 3;
             h.size = 16;
         },
         ViolationKind::padding},
        {"padding of a whole lap",
         [](SubmitHeader& h) {
             h.type = 3;
             h.size = 65'536 - 48;
         },
         ViolationKind::padding},
    };
    for (const Lie& lie : lies) {
        Ring<std::uint64_t> ring(65'536);
        ASSERT_TRUE(ring.writer.try_publish({}, body_of(100, 0)).has_value());
        lie.tell(ring.header(0));
        BasicSubmitFrame<> frame;
        EXPECT_EQ(ring.reader.peek(frame), ReadStatus::violation) << lie.name;
        EXPECT_EQ(ring.reader.violation().kind, lie.kind)
            << lie.name << ": " << ring.reader.violation().text();
        EXPECT_EQ(ring.reader.peek(frame), ReadStatus::violation) << lie.name;  // and stays one
        EXPECT_EQ(ring.reader.position(), 0u);
    }
}

TEST(SubmitRing, AClientThatRunsOverWhatIsNotPersistedIsFound) {
    Ring<std::uint64_t> ring(65'536);
    std::uint64_t mark = 0;
    BasicSubmitFrame<> frame;
    ReadStatus status = ReadStatus::ready;
    int count = 0;
    // The writer believes a mark that the reader never set.
    while (status == ReadStatus::ready && count < 1000) {
        ASSERT_TRUE(ring.writer.try_publish({}, body_of(4000, 0)).has_value());
        ring.mark = mark = ring.writer.position();
        status = ring.reader.peek(frame);
        if (status == ReadStatus::ready) ring.reader.take(frame);
        ++count;
    }
    EXPECT_EQ(status, ReadStatus::violation);
    EXPECT_EQ(ring.reader.violation().kind, ViolationKind::cursor);
    EXPECT_EQ(count, 17);
}

TEST(SubmitRing, ABatchThatExceedsTheLimitIsFoundWhereItDoes) {
    Ring<std::uint64_t> ring(65'536);
    PublishFields fields;
    fields.flags = kFrameMore;
    BasicSubmitFrame<> frame;
    for (int i = 0; i < 8; ++i) {
        ASSERT_TRUE(ring.writer.try_publish(fields, body_of(4000, 0)).has_value());
        ASSERT_EQ(ring.reader.peek(frame), ReadStatus::ready);
        ring.reader.take(frame);
    }
    ASSERT_TRUE(ring.writer.try_publish(fields, body_of(4000, 0)).has_value());
    EXPECT_EQ(ring.reader.peek(frame), ReadStatus::violation);
    EXPECT_EQ(ring.reader.violation().kind, ViolationKind::batch);
}

TEST(SubmitRing, FragmentsThatDoNotContinueTheFirstAreFound) {
    using Change = void (*)(SubmitHeader&);
    const Change changes[] = {
        [](SubmitHeader& h) { h.number += 1; },
        [](SubmitHeader& h) { h.topic += 1; },
        [](SubmitHeader& h) { h.publisher = 3; },
        [](SubmitHeader& h) { h.total_size -= 1; },
        [](SubmitHeader& h) { h.options_size = 8; },
        [](SubmitHeader& h) { h.flags |= kFrameFirst; },
        [](SubmitHeader& h) { h.flags ^= kFrameMore; },
        [](SubmitHeader& h) { h.flags |= kFrameLast; },
        [](SubmitHeader& h) { h.type = 1; },
    };
    for (const Change change : changes) {
        Ring<std::uint64_t> ring(65'536);
        ASSERT_TRUE(ring.writer.try_publish({}, body_of(30'000, 0)).has_value());
        BasicSubmitFrame<> frame;
        ASSERT_EQ(ring.reader.peek(frame), ReadStatus::ready);
        ring.reader.take(frame);
        change(ring.header(ring.reader.position()));
        EXPECT_EQ(ring.reader.peek(frame), ReadStatus::violation) << (&change - changes);
    }
}

}  // namespace
}  // namespace pinnace::shm::test
