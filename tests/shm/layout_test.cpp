// SPDX-License-Identifier: Apache-2.0
#include "shm/layout.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "shm/protocol.h"

namespace pinnace::shm {
namespace {

#define FIELD(type, field) \
    out << "  " << #field << ' ' << offsetof(type, field) << ' ' << sizeof(type::field) << '\n'
#define STRUCT(type) out << #type << ' ' << sizeof(type) << '\n'

void write_rings(std::ostream& out) {
    STRUCT(SubmitHeader);
    FIELD(SubmitHeader, commit), FIELD(SubmitHeader, number), FIELD(SubmitHeader, previous);
    FIELD(SubmitHeader, size), FIELD(SubmitHeader, topic), FIELD(SubmitHeader, total_size);
    FIELD(SubmitHeader, publisher), FIELD(SubmitHeader, options_size), FIELD(SubmitHeader, type);
    FIELD(SubmitHeader, flags), FIELD(SubmitHeader, reserved);
    STRUCT(AckEntry);
    FIELD(AckEntry, commit), FIELD(AckEntry, position), FIELD(AckEntry, lease),
        FIELD(AckEntry, submit_position);
    FIELD(AckEntry, period), FIELD(AckEntry, queue), FIELD(AckEntry, handle), FIELD(AckEntry, subscription);
    FIELD(AckEntry, verb), FIELD(AckEntry, flags), FIELD(AckEntry, reserved), FIELD(AckEntry, reserved_2);
    STRUCT(DeliveryEntry);
    FIELD(DeliveryEntry, commit), FIELD(DeliveryEntry, position), FIELD(DeliveryEntry, lease);
    FIELD(DeliveryEntry, deadline), FIELD(DeliveryEntry, log_position), FIELD(DeliveryEntry, size);
    FIELD(DeliveryEntry, subscription), FIELD(DeliveryEntry, handle), FIELD(DeliveryEntry, queue);
    FIELD(DeliveryEntry, topic), FIELD(DeliveryEntry, count), FIELD(DeliveryEntry, flags);
    STRUCT(AnswerEntry);
    FIELD(AnswerEntry, commit), FIELD(AnswerEntry, number), FIELD(AnswerEntry, submit_position);
    FIELD(AnswerEntry, position), FIELD(AnswerEntry, publisher), FIELD(AnswerEntry, queue);
    FIELD(AnswerEntry, kind), FIELD(AnswerEntry, answer), FIELD(AnswerEntry, reserved);
    FIELD(AnswerEntry, reserved_2);
}

void write_pages(std::ostream& out) {
    STRUCT(ClientPage);
    FIELD(ClientPage, delivery_taken), FIELD(ClientPage, answer_taken), FIELD(ClientPage, sleep_count);
    FIELD(ClientPage, frozen), FIELD(ClientPage, pins);
    STRUCT(MarksPage);
    FIELD(MarksPage, submit_read), FIELD(MarksPage, submit_persisted), FIELD(MarksPage, ack_read);
    FIELD(MarksPage, ack_durable), FIELD(MarksPage, state), FIELD(MarksPage, end_reason);
    STRUCT(ControlPage);
    FIELD(ControlPage, magic), FIELD(ControlPage, layout_version), FIELD(ControlPage, wait_mode);
    FIELD(ControlPage, epoch), FIELD(ControlPage, engine_id), FIELD(ControlPage, message_size_max);
    FIELD(ControlPage, dispatcher_sleep), FIELD(ControlPage, stopping), FIELD(ControlPage, clock_sequence);
    FIELD(ControlPage, clock_base_ticks), FIELD(ControlPage, clock_base_time),
        FIELD(ControlPage, clock_multiplier);
    FIELD(ControlPage, clock_shift), FIELD(ControlPage, clock_source);
    STRUCT(LogHeader);
    FIELD(LogHeader, published), FIELD(LogHeader, position), FIELD(LogHeader, size), FIELD(LogHeader, topic);
    FIELD(LogHeader, reserved);
}

void write_messages(std::ostream& out) {
    STRUCT(HelloMessage);
    FIELD(HelloMessage, kind), FIELD(HelloMessage, size), FIELD(HelloMessage, magic);
    FIELD(HelloMessage, protocol_version), FIELD(HelloMessage, layout_version),
        FIELD(HelloMessage, byte_order);
    FIELD(HelloMessage, word_size), FIELD(HelloMessage, features), FIELD(HelloMessage, wanted);
    FIELD(HelloMessage, flags), FIELD(HelloMessage, submit_position), FIELD(HelloMessage, ack_index);
    FIELD(HelloMessage, ring_key), FIELD(HelloMessage, client_name);
    STRUCT(RefusedMessage);
    FIELD(RefusedMessage, kind), FIELD(RefusedMessage, reason), FIELD(RefusedMessage, protocol_version);
    FIELD(RefusedMessage, layout_version), FIELD(RefusedMessage, text);
    STRUCT(WelcomeMessage);
    FIELD(WelcomeMessage, kind), FIELD(WelcomeMessage, size), FIELD(WelcomeMessage, protocol_version);
    FIELD(WelcomeMessage, layout_version), FIELD(WelcomeMessage, features), FIELD(WelcomeMessage, session_id);
    FIELD(WelcomeMessage, nonce), FIELD(WelcomeMessage, ring_key), FIELD(WelcomeMessage, epoch);
    FIELD(WelcomeMessage, engine_id), FIELD(WelcomeMessage, geometry), FIELD(WelcomeMessage, log);
    FIELD(WelcomeMessage, message_size_max), FIELD(WelcomeMessage, flags), FIELD(WelcomeMessage, wait_mode);
    STRUCT(MappedMessage), STRUCT(AdmittedMessage), STRUCT(PayloadHeader);
}

// Whoever changes the layout changes the version, LAYOUT.md, and this file: the failing test prints the new
// text.
TEST(Layout, EverySizeAndOffsetIsThatOfTheGoldenFile) {
    std::ostringstream out;
    out << "layout " << kLayoutVersion << ", protocol " << kProtocolVersion << '\n';
    write_rings(out);
    write_pages(out);
    write_messages(out);
    std::ifstream file(PINNACE_TEST_DATA "/golden/shm_layout.txt");
    std::stringstream golden;
    golden << file.rdbuf();
    EXPECT_EQ(out.str(), golden.str()) << out.str();
}

TEST(Layout, ARegionIsTheSumOfItsParts) {
    const SessionGeometry geometry{64 * 1024, 64, 128, 256};
    EXPECT_EQ(geometry.ack_offset(), 4096u);
    EXPECT_EQ(geometry.submit_offset(), 8192u);
    EXPECT_EQ(geometry.up_size(), 8192u + 65'536);
    EXPECT_EQ(geometry.answer_offset(), 4096u + 8192);
    EXPECT_EQ(geometry.down_size(), 4096u + 8192 + 16'384);
}

TEST(Layout, OnlyGeometriesThatWeWouldUseAreValid) {
    const SessionGeometry good{64 * 1024, 64, 64, 64};
    EXPECT_TRUE(is_valid(good));
    for (const std::uint64_t bad : {std::uint64_t{0}, std::uint64_t{32}, std::uint64_t{65},
                                    std::uint64_t{1} << 40, std::uint64_t{1} << 63, UINT64_MAX}) {
        SessionGeometry geometry = good;
        geometry.submit_capacity = bad;
        EXPECT_FALSE(is_valid(geometry)) << bad;
        for (auto field : {&SessionGeometry::ack_count, &SessionGeometry::delivery_count,
                           &SessionGeometry::answer_count}) {
            geometry = good;
            geometry.*field = bad;
            EXPECT_FALSE(is_valid(geometry)) << bad;
        }
        EXPECT_FALSE(is_valid(AreaGeometry{bad, 16}, 1000)) << bad;
        EXPECT_FALSE(
            is_valid(AreaGeometry{65'536, 16}, bad == 0 ? UINT64_MAX : bad + (std::uint64_t{1} << 31)));
    }
    EXPECT_TRUE(is_valid(AreaGeometry{65'536, 16}, 1000));
    EXPECT_FALSE(is_valid(AreaGeometry{65'536, 16}, 8 * 65'536));  // no room for two
}

// F7 of the notes: a message of the limit and its padding always fit into an empty ring, at every place.
TEST(Layout, AMessageOfTheLimitFitsAtEveryPlaceOfAnEmptyRing) {
    for (std::uint64_t capacity = kSubmitCapacityMin; capacity <= std::uint64_t{1} << 34; capacity *= 2) {
        const std::uint64_t limit = message_size_max(capacity, kMessageSizeMaxMax);
        const std::uint64_t frame = frame_size_max(capacity);
        const std::uint64_t frames = (limit + frame - 512) / (frame - 1024) + 1;
        EXPECT_LE(limit + frames * (kSubmitHeaderSize + kFrameAlignment), batch_footprint_max(capacity));
        EXPECT_LE(frame, UINT32_MAX);
    }
}

}  // namespace
}  // namespace pinnace::shm
