// SPDX-License-Identifier: Apache-2.0
// Readers of message types (E): bodies that are cut or broken anywhere, depth, definitions that are refused.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <fstream>
#include <random>
#include <string>

#include "core/expr/convert.h"
#include "core/expr/expression.h"
#include "core/expr/json_exact.h"
#include "core/expr/reader.h"

namespace pinnace::expr {
namespace {

std::string repeated(const std::string& part, std::size_t count) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) text += part;
    return text;
}

// A reader with fields, and what it found.
struct Fixture {
    explicit Fixture(const MessageType& type, std::initializer_list<const char*> paths = {"/a"})
        : reader(std::move(*make_reader(type))) {
        for (const char* path : paths) Expression::compile(path)->bind(fields);
    }
    bool read(std::string_view body) { return reader->read(std::as_bytes(std::span(body)), fields, values); }
    std::string found() const {
        std::string text;
        for (std::size_t slot = 0; slot < values.size(); ++slot) {
            text += json_of(values[static_cast<FieldSlot>(slot)]) + " ";
        }
        return text;
    }

    std::unique_ptr<MessageReader> reader;
    FieldSet fields;
    FieldValues values;
};

TEST(JsonReader, EachProperPrefixOfABodyIsMalformed) {
    Fixture json({});
    const std::string body = R"({"a":[1,-2.5e3,"xA\n",true,null,{}],"b":18446744073709551616})";
    for (std::size_t size = 0; size < body.size(); ++size) {
        EXPECT_FALSE(json.read(body.substr(0, size))) << size;
        EXPECT_EQ(json.found(), "null ");
        EXPECT_FALSE(json.values.is_well_formed());
    }
    EXPECT_EQ(json.reader->malformed_count(), body.size());
    EXPECT_TRUE(json.read(body));
    EXPECT_TRUE(json.values.is_well_formed());
}

TEST(JsonReader, ADepthOfAHundredAndTwentyEightIsTheLast) {
    Fixture json({});
    for (const bool is_empty : {true, false}) {
        const std::string inner = is_empty ? "" : "1";
        const auto nested = [&](std::size_t depth) {
            // The object around it is one level.
            return "{\"a\":" + repeated("[", depth - 1) + inner + repeated("]", depth - 1) + "}";
        };
        for (const std::size_t depth : {1u, 2u, 126u, 127u, 128u}) {
            if (depth == 1 && is_empty) continue;
            EXPECT_TRUE(json.read(nested(depth))) << depth;
        }
        EXPECT_FALSE(json.read(nested(129)));
        EXPECT_FALSE(json.read(nested(1000)));
        EXPECT_FALSE(json.read(nested(100'000)));
    }
}

TEST(JsonReader, AgreesWithTheExactReaderOnRealMessagesAndBrokenOnes) {
    const std::initializer_list<const char*> paths = {
        "/type", "/price",       "/changes",       "/changes[0][1]",
        "/a/b",  "/product_ids", "/channels/name", "/channels[1]/product_ids[0]"};
    Fixture json({}, paths);
    FieldValues exact;
    std::mt19937_64 random(7);
    std::vector<std::string> bodies = {
        R"({"type":"l2update","product_id":"SKL-BTC","changes":[["sell","0.00001306",)"
        R"("660.5"]],"price":-0.5e-3})",
        R"({"type":"subscriptions","channels":[{"name":"level2","product_ids":["A","B"]},)"
        R"({"name":"t","product_ids":[]}]})",
        R"({"a":{"b":[1,[2,{}],[],"A\\\"\/\b\f\r\té😀"]},"price":12,"price":13})",
        R"( [ {"type":true} , {"type":null} , "x" , 1E5 , -0 ] )",
    };
    const auto count = bodies.size();
    for (std::size_t i = 0; i < 20'000; ++i) {
        std::string body = bodies[i % count];
        const std::size_t change_count = random() % 3;
        for (std::size_t change = 0; change < change_count; ++change) {
            static constexpr std::string_view kSigns = "{}[]\",:\\0123-+.eEtfnu \n\x01\xff";
            body[random() % body.size()] = kSigns[random() % kSigns.size()];
        }
        const bool is_well_formed = json.read(body);
        if (json.found().find("inf") != std::string::npos) continue;
        const bool is_exactly = is_json(body);
        // The exact reader leaves UTF-8 to its caller, so it may take a little more.
        if (is_well_formed) {
            ASSERT_TRUE(is_exactly) << body;
            exact.reset(json.fields);
            std::string room(body.size() + 1, '\0');
            walk_json(body, room.data(), json.fields, exact);
            exact.finish();
            for (std::size_t slot = 0; slot < exact.size(); ++slot) {
                const auto place = static_cast<FieldSlot>(slot);
                ASSERT_EQ(json_of(exact[place]), json_of(json.values[place])) << body;
            }
        } else if (json_of(Value::text(body)).find("\\ufffd") == std::string::npos) {
            ASSERT_FALSE(is_exactly) << body;
        }
    }
}

TEST(JsonReader, ABodyMayLieAnywhereBeforeAPageThatNobodyMayRead) {
    constexpr std::size_t kPage = 4096;
    void* const mapped =
        ::mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(mapped, MAP_FAILED);
    char* const page = static_cast<char*>(mapped);
    ASSERT_EQ(::mprotect(page + kPage, kPage, PROT_NONE), 0);
    Fixture json({}, {"/a", "/name"});
    const std::string good = R"({"name":"x\ty","b":[1,2],"a":12})";
    for (const auto& [body, found] : {std::pair<std::string, std::string>{good, R"(12 "x\ty" )"},
                                      {R"({"a":12)", "null null "},
                                      {R"({"a":"12)", "null null "},
                                      {"12", "null null "}}) {
        for (std::size_t room = 0; room < 200; ++room) {
            // What lies behind the body would go on with it.
            std::memset(page, '1', kPage);
            if (room > 0) page[kPage - room] = '"';
            char* const place = page + kPage - room - body.size();
            std::memcpy(place, body.data(), body.size());
            json.read({place, body.size()});
            EXPECT_EQ(json.found(), found) << body << room;
        }
    }
    ::munmap(mapped, 2 * kPage);
}

TEST(JsonReader, LargeBodiesAreRead) {
    Fixture json({}, {"/a[99999]/b", "/z"});
    const std::string body = "{\"a\":[" + repeated("{\"b\":7},", 99'999) + "{\"b\":8}],\"z\":\"" +
                             std::string(70'000, 'x') + "\"}";
    ASSERT_TRUE(json.read(body));
    EXPECT_EQ(json.values[0].as_integer(), 8);
    EXPECT_EQ(json.values[1].as_text().size(), 70'000u);
}

TEST(MsgpackReader, EachProperPrefixOfABodyIsMalformed) {
    using namespace std::string_literals;
    Fixture msgpack({.format = "msgpack"});
    const std::string body =
        "\x83\xa1"s
        "a\x94\x01\xcd\x01\x02\xcb\x40\x04\x00\x00\x00\x00\x00\x00\xd9\x02xy\xa1"s
        "b\xc7\x02\x05zz\xa1"s
        "c\xde\x00\x01\xc4\x01k\xc3"s;
    for (std::size_t size = 0; size < body.size(); ++size)
        EXPECT_FALSE(msgpack.read(body.substr(0, size))) << size;
    EXPECT_TRUE(msgpack.read(body));
    EXPECT_EQ(msgpack.found(), "[1,258,2.5,\"xy\"] ");
    EXPECT_FALSE(msgpack.read(body + "\xc0"));
}

TEST(MsgpackReader, ADepthOfAHundredAndTwentyEightIsTheLast) {
    Fixture msgpack({.format = "msgpack"});
    EXPECT_TRUE(msgpack.read(repeated("\x91", 128) + "\x01"));
    EXPECT_FALSE(msgpack.read(repeated("\x91", 129) + "\x01"));
    EXPECT_FALSE(msgpack.read(repeated("\x91", 100'000) + "\x01"));
}

TEST(XmlReader, ADepthOfAHundredAndTwentyEightIsTheLast) {
    Fixture xml({.format = "xml"});
    EXPECT_TRUE(xml.read(repeated("<a>", 128) + repeated("</a>", 128)));
    EXPECT_FALSE(xml.read(repeated("<a>", 129) + repeated("</a>", 129)));
    EXPECT_FALSE(xml.read(repeated("<a>", 50'000) + repeated("</a>", 50'000)));
}

TEST(Readers, AMessageAfterAMalformedOneIsReadAsEver) {
    for (const char* format : {"json", "fix", "nvfix", "msgpack", "xml"}) {
        Fixture fixture({.format = format}, {"/a", "/55"});
        const std::string good = std::string(format) == "json"      ? R"({"a":[1,2],"55":7})"
                                 : std::string(format) == "fix"     ? "55=7\x01"
                                 : std::string(format) == "nvfix"   ? "a=1\x01"
                                                                      "55=7\x01"
                                 : std::string(format) == "msgpack" ? "\x82\xa1"
                                                                      "a\x01\xa2"
                                                                      "55\x07"
                                                                    : "<a>1</a>";
        ASSERT_TRUE(fixture.read(good)) << format;
        const std::string found = fixture.found();
        EXPECT_NE(found, "null null ") << format;
        EXPECT_FALSE(fixture.read("\x93<{garbage")) << format;
        EXPECT_EQ(fixture.found(), "null null ") << format;
        ASSERT_TRUE(fixture.read(good)) << format;
        EXPECT_EQ(fixture.found(), found) << format;
    }
}

TEST(StructReader, OneSetServesSeveralLayoutsInTurn) {
    Fixture first({.format = "struct", .layout = {"/a = <h", "/b = h"}}, {"/a", "/b"});
    auto second = make_reader({.format = "struct", .layout = {"/b = <h", "/a = h"}});
    const std::string body("\x01\x00\x02\x00", 4);
    ASSERT_TRUE(first.read(body));
    EXPECT_EQ(first.found(), "1 2 ");
    ASSERT_TRUE((*second)->read(std::as_bytes(std::span(body)), first.fields, first.values));
    EXPECT_EQ(first.found(), "2 1 ");
    ASSERT_TRUE(first.read(body));
    EXPECT_EQ(first.found(), "1 2 ");
    Expression::compile("/c")->bind(first.fields);
    ASSERT_TRUE(first.read(body));
    EXPECT_EQ(first.found(), "1 2 null ");
}

std::string refusal(const MessageType& type) {
    auto reader = make_reader(type);
    return reader ? "accepted" : reader.error();
}

TEST(MessageTypes, AWrongDefinitionIsRefusedWithTheFieldNamed) {
    const auto layout = [](std::vector<std::string> fields) {
        return refusal({.name = "trade", .format = "struct", .layout = std::move(fields)});
    };
    EXPECT_EQ(layout({"/px = d"}), "accepted");
    EXPECT_EQ(layout({"/px = =d"}), "accepted");
    EXPECT_EQ(layout({"4x", "/px = d"}), "accepted");
    EXPECT_EQ(layout({"[/last px] = d"}), "accepted");
    EXPECT_NE(layout({}).find("at least one field"), std::string::npos);
    for (const std::string wrong :
         {"/px", "/px =", "/px = z", "/px = dd", "px = d", "d", "/px = 99999999999d", "/px = 2000000s",
          "/px = <n", "/ = d", "/px = -1d"}) {
        EXPECT_NE(layout({wrong}).find("trade: Field `" + wrong + "`"), std::string::npos) << layout({wrong});
    }
    EXPECT_NE(layout({"/a = d", "/a = d"}).find("twice"), std::string::npos);
    EXPECT_NE(refusal({.format = "jsom"}).find("jsom"), std::string::npos);
    EXPECT_NE(refusal({.format = "fix", .field_separator = '=', .value_separator = '='}), "accepted");
    EXPECT_NE(refusal({.format = "composite", .header_format = "xml"}).find("json or struct"),
              std::string::npos);
    EXPECT_FALSE((*make_reader({.format = "binary"}))->has_fields());
    EXPECT_TRUE(is_built_in_format("msgpack"));
    EXPECT_FALSE(is_built_in_format("struct"));
}

TEST(JsonText, IsJsonWhateverTheBytes) {
    EXPECT_EQ(json_of(Value::text("a\"\\\n\r\t\x01\x7f")), "\"a\\\"\\\\\\n\\r\\t\\u0001\x7f\"");
    EXPECT_EQ(json_of(Value::text("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80")),
              "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"");
    // Cut, overlong, a surrogate, beyond the last character, a lone continuation.
    EXPECT_EQ(json_of(Value::text("\xc3")), "\"\\ufffd\"");
    EXPECT_EQ(json_of(Value::text("\xc0\x80")), "\"\\ufffd\\ufffd\"");
    EXPECT_EQ(json_of(Value::text("\xed\xa0\x80")), "\"\\ufffd\\ufffd\\ufffd\"");
    EXPECT_EQ(json_of(Value::text("\xf4\x90\x80\x80")), "\"\\ufffd\\ufffd\\ufffd\\ufffd\"");
    EXPECT_EQ(json_of(Value::text("\x80x")), "\"\\ufffdx\"");
}

}  // namespace
}  // namespace pinnace::expr
