// SPDX-License-Identifier: Apache-2.0
// Reads FIX and NVFIX: names and values with separators between them. Data fields that hold a separator
// themselves are not known; they make a body malformed or cut.
#include <cstring>
#include <memory>

#include "core/expr/number.h"
#include "core/expr/readers.h"
#include "core/expr/text_value.h"

namespace pinnace::expr {
namespace {

bool is_tag(std::string_view name) {
    for (const char character : name) {
        if (character < '0' || character > '9') return false;
    }
    return true;
}

class FixReader final : public MessageReader {
 public:
    FixReader(char field_separator, char value_separator, bool is_fix)
        : field_separator_(field_separator), value_separator_(value_separator), is_fix_(is_fix) {}

    bool read_fields(std::span<const std::byte> body, const FieldSet& set, FieldValues& values) override {
        values.reset(set);
        const char* at = reinterpret_cast<const char*>(body.data());
        const char* const end = at + body.size();
        if (at == end) return false;
        counts_.assign(set.root().members.size(), 0);
        while (at != end) {
            const auto left = static_cast<std::size_t>(end - at);
            const auto* field_end = static_cast<const char*>(std::memchr(at, field_separator_, left));
            if (field_end == nullptr) field_end = end;
            const auto size = static_cast<std::size_t>(field_end - at);
            const auto* equals = static_cast<const char*>(std::memchr(at, value_separator_, size));
            if (equals == nullptr || equals == at) return fail(set, values);
            const std::string_view name(at, static_cast<std::size_t>(equals - at));
            if (is_fix_ && !is_tag(name)) return fail(set, values);
            take(name, {equals + 1, static_cast<std::size_t>(field_end - equals - 1)}, set, values);
            at = field_end == end ? end : field_end + 1;
        }
        values.finish();
        return true;
    }

 private:
    static bool fail(const FieldSet& set, FieldValues& values) {
        values.reset(set);
        return false;
    }

    void take(std::string_view name, std::string_view text, const FieldSet& set, FieldValues& values) {
        const FieldNode::Member* const member = set.root().find(name);
        if (member == nullptr) return;
        const FieldNode& node = set.node(member->node);
        const Value value = value_of_text(text);
        if (node.slot != FieldNode::kNoSlot) values.add(node.slot, value);
        if (node.elements.empty()) return;
        // The tag's occurrences are its elements.
        const auto index = static_cast<std::size_t>(member - set.root().members.data());
        for (const FieldNode::Element& element : node.elements) {
            const FieldNode& element_node = set.node(element.node);
            if (element.index == counts_[index] && element_node.slot != FieldNode::kNoSlot) {
                values.add(element_node.slot, value);
            }
        }
        ++counts_[index];
    }

    const char field_separator_;
    const char value_separator_;
    const bool is_fix_;
    std::vector<std::uint32_t> counts_;  // occurrences so far, by the member's place
};

}  // namespace

std::unique_ptr<MessageReader> make_fix_reader(char field_separator, char value_separator, bool is_fix) {
    return std::make_unique<FixReader>(field_separator, value_separator, is_fix);
}

}  // namespace pinnace::expr
