// SPDX-License-Identifier: Apache-2.0
// Reads JSON with simdjson: the whole body is validated, then only the wanted fields are looked at.
#include <simdjson.h>

#include <cstring>
#include <memory>

#include "core/expr/json_exact.h"
#include "core/expr/readers.h"
#include "core/expr/walk.h"

namespace pinnace::expr {
namespace {

namespace dom = simdjson::dom;

class DomView {
 public:
    explicit DomView(dom::element element) : element_(element) {}

    Shape shape() const {
        switch (element_.type()) {
            case dom::element_type::OBJECT:
                return Shape::object;
            case dom::element_type::ARRAY:
                return Shape::array;
            default:
                return Shape::scalar;
        }
    }

    Value scalar() const {
        switch (element_.type()) {
            case dom::element_type::INT64:
                return Value::integer(element_.get_int64().value_unsafe());
            case dom::element_type::UINT64:
                return Value::unsigned_integer(element_.get_uint64().value_unsafe());
            case dom::element_type::DOUBLE:
                return Value::real(element_.get_double().value_unsafe());
            case dom::element_type::STRING:
                return Value::text(element_.get_string().value_unsafe());
            case dom::element_type::BOOL:
                return Value::boolean(element_.get_bool().value_unsafe());
            default:
                return {};
        }
    }

    template <class Visit>
    void for_each_member(Visit visit) const {
        const dom::object object = element_.get_object().value_unsafe();
        for (auto member = object.begin(), end = object.end(); member != end; ++member) {
            if (!visit(member.key(), DomView(member.value()))) return;
        }
    }

    template <class Visit>
    void for_each_element(Visit visit) const {
        const dom::array array = element_.get_array().value_unsafe();
        for (const dom::element element : array) {
            if (!visit(DomView(element))) return;
        }
    }

 private:
    dom::element element_;
};

class JsonReader final : public MessageReader {
 public:
    bool read_fields(std::span<const std::byte> body, const FieldSet& set, FieldValues& values) override {
        values.reset(set);
        const std::string_view text(reinterpret_cast<const char*>(body.data()), body.size());
        if (!make_room(text.size())) return false;
        // simdjson reads a little beyond the text, and what lies behind a body may change at any time.
        std::memcpy(text_.get(), text.data(), text.size());
        dom::element root;
        const simdjson::error_code error = parser_.parse(text_.get(), text.size(), false).get(root);
        if (error == simdjson::SUCCESS) {
            Walk<DomView>(set, values).visit(DomView(root), set.root());
        } else if (error != simdjson::NUMBER_ERROR && error != simdjson::DEPTH_ERROR) {
            return false;
        } else if (!read_exactly(text.size(), set, values)) {
            return false;
        }
        values.finish();
        return true;
    }

 private:
    // simdjson counts depth a little short for containers that are empty: whatever it takes with this bound
    // is surely not too deep, and the rest is for the exact reader to say.
    static constexpr std::size_t kSureDepth = kMessageDepthMax;

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

    bool read_exactly(std::size_t size, const FieldSet& set, FieldValues& values) {
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
