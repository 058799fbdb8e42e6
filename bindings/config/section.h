// SPDX-License-Identifier: Apache-2.0
// Sections and values: an element's children by name, and the texts of elements as sizes, times and choices.
// Whatever is wrong becomes a problem of the document, and reading goes on.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bindings/config/document.h"
#include "core/types.h"

namespace pinnace::config {

// What an element that nobody knows is: an error inside of SOW, Actions and TransactionLog, elsewhere a
// warning.
enum class Unknown : std::uint8_t { error, warning };

struct Child {
    std::string_view name;
    std::function<void(pugi::xml_node)> read;
    bool many = false;
};

class Section {
 public:
    Section(Document& document, Unknown unknown) : document_(document), unknown_(unknown) {}

    Section& one(std::string_view name, std::function<void(pugi::xml_node)> read) {
        children_.push_back({name, std::move(read), false});
        return *this;
    }
    Section& many(std::string_view name, std::function<void(pugi::xml_node)> read) {
        children_.push_back({name, std::move(read), true});
        return *this;
    }
    // Known, and without effect here: each is said once, in a warning with this reason.
    Section& without_effect(std::initializer_list<std::string_view> names, std::string_view why);
    // Calls what was given for each child of `parent`, in the order of the file.
    void read(pugi::xml_node parent);

 private:
    void report_unknown(pugi::xml_node child);

    Document& document_;
    Unknown unknown_;
    std::vector<Child> children_;
};

// The section that an element stands in decides.
Unknown unknown_in(pugi::xml_node element);

// --- Values. False or nothing: a problem was added.
bool read_text(Document& document, pugi::xml_node element, std::string& to);
bool read_count(Document& document, pugi::xml_node element, std::uint64_t& to, std::uint64_t least,
                std::uint64_t most);
// With a unit; a bare number is an error.
bool read_size(Document& document, pugi::xml_node element, std::uint64_t& to, std::uint64_t least,
               std::uint64_t most);
bool read_duration(Document& document, pugi::xml_node element, Duration& to, Duration least);
bool read_switch(Document& document, pugi::xml_node element, bool& to);

template <class T>
bool read_choice(Document& document, pugi::xml_node element, T& to,
                 std::initializer_list<std::pair<std::string_view, T>> choices) {
    const std::string text = document.text(element);
    std::string expected;
    for (const auto& [name, meaning] : choices) {
        if (text == name) {
            to = meaning;
            return true;
        }
        expected += (expected.empty() ? "" : " or ") + std::string(name);
    }
    document.error_at(document.text_place(element), element, "'" + text + "': expected " + expected);
    return false;
}

}  // namespace pinnace::config
