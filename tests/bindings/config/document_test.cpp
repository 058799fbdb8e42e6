// SPDX-License-Identifier: Apache-2.0
// The XML below a configuration: places, variables, and what is no XML.
#include "bindings/config/document.h"

#include <gtest/gtest.h>

#include "tests/bindings/config/support.h"

namespace pinnace::config {
namespace {

std::optional<std::string> desk(std::string_view name) {
    if (name == "DESK") return "rates";
    if (name == "TAG") return "<Queue/>${DESK}";
    return std::nullopt;
}

TEST(ConfigDocument, WhatIsNoXmlIsOneErrorWithItsLine) {
    const std::string text = problems_of("<Pinnace>\n<Name>a</Nam>\n</Pinnace>");
    EXPECT_TRUE(text.starts_with("f:2:")) << text;
    EXPECT_NE(text.find("closed"), std::string::npos) << text;
    EXPECT_TRUE(problems_of("").starts_with("f:1:1: error: ")) << problems_of("");
    EXPECT_TRUE(problems_of("a<b c ").starts_with("f:1:7: error: ")) << problems_of("a<b c ");
    EXPECT_NE(problems_of("<Config/>").find("expected Pinnace or AMPSConfig"), std::string::npos);
}

TEST(ConfigDocument, AVariableIsTheEnvironmentsValueAndAddsNoElements) {
    const Loaded loaded = parse("<Pinnace><Name>${DESK}-${TAG}-$${DESK}</Name></Pinnace>", desk);
    EXPECT_EQ(loaded.text("f", true), "");
    EXPECT_EQ(loaded.configuration.name, "rates-<Queue/>${DESK}-${DESK}");
}

TEST(ConfigDocument, AVariableThatIsNotSetIsAnErrorAtItsText) {
    EXPECT_EQ(
        problems_of("<Pinnace>\n  <Name>${DESK}</Name>\n</Pinnace>"),
        "f:2:9: error: Name: the environment has no variable DESK; set it, or write $${ for the characters "
        "${\n");
    EXPECT_NE(problems_of("<Pinnace><Name>${DESK</Name></Pinnace>").find("not closed"), std::string::npos);
}

TEST(ConfigDocument, ATextIsTrimmedAndGoesOnBehindComments) {
    const Loaded loaded =
        parse("<Pinnace><Name>\n  desk<!-- of -->1<![CDATA[<2>]]>\n</Name></Pinnace>", no_environment);
    EXPECT_EQ(loaded.configuration.name, "desk1<2>");
}

TEST(ConfigDocument, EntitiesOfADoctypeAreNotExpanded) {
    const Loaded loaded =
        parse("<!DOCTYPE P [<!ENTITY a SYSTEM \"/etc/passwd\">]><Pinnace><Name>&a;</Name></Pinnace>",
              no_environment);
    EXPECT_EQ(loaded.configuration.name, "&a;");
}

}  // namespace
}  // namespace pinnace::config
