// SPDX-License-Identifier: Apache-2.0
// Template: a text with variables, `{{NAME}}` (A1). Two braces around anything that is no name are text.
#pragma once

#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pinnace {

class Template {
 public:
    // `names` are the variables, by their place. The error names one that is not there, and those that are.
    static std::expected<Template, std::string> parse(std::string_view text,
                                                      std::span<const std::string> names);
    // Appends the text with these values, by the places of their names.
    void render(std::span<const std::string_view> values, std::string& out) const;
    // How often the variable occurs.
    std::size_t count(std::uint32_t variable) const;
    std::size_t text_size() const;

 private:
    struct Part {
        std::string text;  // before the variable
        std::uint32_t variable = kNoVariable;
    };
    static constexpr std::uint32_t kNoVariable = UINT32_MAX;
    std::vector<Part> parts_;
};

}  // namespace pinnace
