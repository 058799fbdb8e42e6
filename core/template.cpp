// SPDX-License-Identifier: Apache-2.0
#include "core/template.h"

#include <algorithm>

#include "core/config_parse.h"

namespace pinnace {

namespace {

bool is_name(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) {
        return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    });
}

}  // namespace

std::expected<Template, std::string> Template::parse(std::string_view text,
                                                     std::span<const std::string> names) {
    Template made;
    std::string plain;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = text.compare(at, 2, "{{") == 0 ? text.find("}}", at + 2) : std::string::npos;
        const std::string_view name =
            end == std::string_view::npos ? std::string_view() : text.substr(at + 2, end - at - 2);
        if (!is_name(name)) {
            plain += text[at++];
            continue;
        }
        const auto known = std::ranges::find(names, name);
        if (known == names.end()) {
            std::string all;
            for (const std::string& other : names) all += (all.empty() ? "" : " ") + other;
            const std::vector<std::string_view> views(names.begin(), names.end());
            return std::unexpected("there is no variable " + std::string(name) + " here" +
                                   suggestion(name, views) + " (known: " + all + ")");
        }
        made.parts_.push_back({std::move(plain), static_cast<std::uint32_t>(known - names.begin())});
        plain.clear();
        at = end + 2;
    }
    made.parts_.push_back({std::move(plain), kNoVariable});
    return made;
}

void Template::render(std::span<const std::string_view> values, std::string& out) const {
    for (const Part& part : parts_) {
        out += part.text;
        if (part.variable < values.size()) out += values[part.variable];
    }
}

std::size_t Template::count(std::uint32_t variable) const {
    return static_cast<std::size_t>(std::ranges::count(parts_, variable, &Part::variable));
}

std::size_t Template::text_size() const {
    std::size_t size = 0;
    for (const Part& part : parts_) size += part.text.size();
    return size;
}

}  // namespace pinnace
