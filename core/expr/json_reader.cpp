// SPDX-License-Identifier: Apache-2.0
// Reads JSON with simdjson: the whole body is validated, then only the wanted fields are looked at.
#include <simdjson.h>

#include <cstring>
#include <memory>

#include "core/expr/bytes.h"
#include "core/expr/json_exact.h"
#include "core/expr/readers.h"
#include "core/expr/walk.h"

namespace pinnace::expr {
namespace {

namespace dom = simdjson::dom;

// A value on simdjson's tape: a word with its type in the upper byte and, in the rest, the place of a text or
// the index behind a container; of a number the next word is the value. Reading the tape itself costs half of
// what the element classes cost, which ask for the type again at each step.
class TapeView {
 public:
    TapeView(const dom::document& document, std::size_t index)
        : tape_(document.tape.get()), texts_(document.string_buf.get()), index_(index) {}

    Shape look(Value* value) const {
        switch (type()) {
            case TapeType::START_OBJECT:
                return Shape::object;
            case TapeType::START_ARRAY:
                return Shape::array;
            case TapeType::STRING:
                *value = Value::text(text());
                break;
            case TapeType::INT64:
                *value = Value::of_bits(Kind::integer, tape_[index_ + 1]);
                break;
            case TapeType::UINT64:
                *value = Value::unsigned_integer(tape_[index_ + 1]);
                break;
            case TapeType::DOUBLE:
                *value = Value::of_bits(Kind::real, tape_[index_ + 1]);
                break;
            case TapeType::TRUE_VALUE:
                *value = Value::boolean(true);
                break;
            case TapeType::FALSE_VALUE:
                *value = Value::boolean(false);
                break;
            default:
                break;
        }
        return Shape::scalar;
    }

    template <class Visit>
    void for_each_member(Visit visit) const {
        // Copies, since a view that is passed on by reference would have to lie in memory.
        for (std::size_t index = index_ + 1; at(index).type() != TapeType::END_OBJECT;) {
            if (!visit(at(index).name(), at(index + 1))) return;
            index = at(index + 1).index_behind();
        }
    }

    template <class Visit>
    void for_each_element(Visit visit) const {
        for (std::size_t index = index_ + 1; at(index).type() != TapeType::END_ARRAY;) {
            if (!visit(at(index))) return;
            index = at(index).index_behind();
        }
    }

 private:
    using TapeType = simdjson::internal::tape_type;
    static constexpr std::uint64_t kPayloadMask = simdjson::internal::JSON_VALUE_MASK;

    TapeType type() const { return static_cast<TapeType>(tape_[index_] >> 56); }
    // A size in four bytes, then the text.
    std::string_view text() const {
        const auto* const bytes = reinterpret_cast<const char*>(texts_ + (tape_[index_] & kPayloadMask));
        return {bytes + sizeof(std::uint32_t), load_word<std::uint32_t>(bytes)};
    }
    // The size and the first bytes lie side by side, and behind the text there is always something.
    FieldName name() const {
        const std::string_view name = text();
        const auto head = load_word<std::uint64_t>(name.data() - sizeof(std::uint32_t));
        const std::size_t bits_behind = name.size() < 4 ? 8 * (4 - name.size()) : 0;
        return {name, head & ~std::uint64_t{0} >> bits_behind};
    }
    TapeView at(std::size_t index) const {
        TapeView other = *this;
        other.index_ = index;
        return other;
    }
    std::size_t index_behind() const {
        const TapeType here = type();
        if (here == TapeType::START_OBJECT || here == TapeType::START_ARRAY)
            return static_cast<std::uint32_t>(tape_[index_]);
        const bool is_number =
            here == TapeType::INT64 || here == TapeType::UINT64 || here == TapeType::DOUBLE;
        return index_ + (is_number ? 2 : 1);
    }

    const std::uint64_t* tape_;
    const std::uint8_t* texts_;
    std::size_t index_;
};

class JsonReader final : public MessageReader {
 public:
    bool read_fields(std::span<const std::byte> body, const FieldSet& set, FieldValues& values) override {
        values.reset(set);
        const std::string_view text(reinterpret_cast<const char*>(body.data()), body.size());
        if (!make_room(text.size())) return false;
        const char* readable = text.data();
        if (!has_readable_end(text)) {
            std::memcpy(text_.get(), text.data(), text.size());
            readable = text_.get();
        }
        const simdjson::error_code error = parser_.parse(readable, text.size(), false).error();
        if (error == simdjson::SUCCESS) {
            // Word 0 stands for the document.
            Walk<TapeView>(set, values).visit(TapeView(parser_.doc, 1), set.root());
        } else if (error != simdjson::NUMBER_ERROR && error != simdjson::DEPTH_ERROR) {
            return false;
        } else if (!read_exactly(text, set, values)) {
            return false;
        }
        values.finish();
        return true;
    }

 private:
    // simdjson counts depth a little short for containers that are empty: whatever it takes with this bound
    // is surely not too deep, and the rest is for the exact reader to say.
    static constexpr std::size_t kSureDepth = kMessageDepthMax;

    // simdjson reads a little beyond the text, without effect on what it finds: that the text closes its
    // last string and bracket is known first. Within a page it may; else the text is copied to where there
    // is room.
    static bool has_readable_end(std::string_view text) {
        constexpr std::uintptr_t kPageMask = 4095;
        const auto end = reinterpret_cast<std::uintptr_t>(text.data() + text.size());
        return (end & kPageMask) != 0 && (end & kPageMask) + simdjson::SIMDJSON_PADDING <= kPageMask + 1;
    }

    // Grows by doubling; empty bodies are not JSON.
    bool make_room(std::size_t size) {
        if (size == 0) return false;
        if (size <= capacity_) return true;
        const std::size_t capacity = std::max<std::size_t>(2 * size, 4096);
        if (parser_.allocate(capacity, kSureDepth) != simdjson::SUCCESS) return false;
        text_ = std::make_unique_for_overwrite<char[]>(capacity + simdjson::SIMDJSON_PADDING);
        unescaped_.reset();
        capacity_ = capacity;
        return true;
    }

    bool read_exactly(std::string_view text, const FieldSet& set, FieldValues& values) {
        const std::size_t size = text.size();
        std::memcpy(text_.get(), text.data(), size);
        if (!simdjson::validate_utf8(text_.get(), size)) return false;
        text_[size] = '\0';
        if (!is_json({text_.get(), size})) return false;
        if (unescaped_ == nullptr) unescaped_ = std::make_unique_for_overwrite<char[]>(capacity_);
        walk_json({text_.get(), size}, unescaped_.get(), set, values);
        return true;
    }

    dom::parser parser_;
    std::unique_ptr<char[]> text_;
    std::unique_ptr<char[]> unescaped_;
    std::size_t capacity_ = 0;
};

}  // namespace

std::unique_ptr<MessageReader> make_json_reader() { return std::make_unique<JsonReader>(); }

}  // namespace pinnace::expr
