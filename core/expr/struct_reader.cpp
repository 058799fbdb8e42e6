// SPDX-License-Identifier: Apache-2.0
// Reads messages of fixed layout: what the set wants of the layout is worked out once, then each field is one
// load.
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>

#include "core/check.h"
#include "core/expr/readers.h"

namespace pinnace::expr {
namespace {

// Of fields that are NULL whatever the message.
constexpr char kNothing = 0;

template <class Unsigned>
Unsigned load(const char* at, bool is_big_endian) {
    Unsigned value;
    std::memcpy(&value, at, sizeof value);
    return is_big_endian ? std::byteswap(value) : value;
}

// A half: 1 bit sign, 5 bits exponent, 10 bits fraction.
double half_of(std::uint16_t bits) {
    const int exponent = (bits >> 10) & 31;
    const double fraction = bits & 1023;
    double value = 0;
    if (exponent == 31)
        value = fraction == 0 ? INFINITY : NAN;
    else if (exponent == 0)
        value = std::ldexp(fraction, -24);
    else
        value = std::ldexp(1024 + fraction, exponent - 25);
    return (bits & 0x8000) != 0 ? -value : value;
}

std::string_view without_trailing_zeros(std::string_view text) {
    while (!text.empty() && text.back() == '\0') text.remove_suffix(1);
    return text;
}

Value text_of_field(const char* at, char code, std::uint32_t count) {
    if (code == 's') return Value::text(without_trailing_zeros({at, count}));
    if (count == 0) return {};
    const std::size_t size = std::min<std::size_t>(static_cast<unsigned char>(at[0]), count - 1);
    return Value::text({at + 1, size});
}

Value load_rare(const char* at, char code, bool is_big_endian) {
    switch (code) {
        case 'c':
            return Value::text(without_trailing_zeros({at, 1}));
        case '?':
            return Value::boolean(*at != 0);
        case 'e':
            return Value::real(half_of(load<std::uint16_t>(at, is_big_endian)));
        case 'f':
            return Value::real(std::bit_cast<float>(load<std::uint32_t>(at, is_big_endian)));
        case 'b':
            return Value::integer(static_cast<signed char>(*at));
        case 'B':
            return Value::integer(static_cast<unsigned char>(*at));
        case 'h':
            return Value::integer(static_cast<std::int16_t>(load<std::uint16_t>(at, is_big_endian)));
        case 'H':
            return Value::integer(load<std::uint16_t>(at, is_big_endian));
        default:
            return {};
    }
}

// One element. Native long ones are named q and Q by then, pointers Q, short ones i and I.
inline Value load_element(const char* at, char code, bool is_big_endian) {
    switch (code) {
        case 'q':
            return Value::integer(static_cast<std::int64_t>(load<std::uint64_t>(at, is_big_endian)));
        case 'd':
            return Value::real(std::bit_cast<double>(load<std::uint64_t>(at, is_big_endian)));
        case 'i':
            return Value::integer(static_cast<std::int32_t>(load<std::uint32_t>(at, is_big_endian)));
        case 'I':
            return Value::integer(load<std::uint32_t>(at, is_big_endian));
        case 'Q':
            return Value::unsigned_integer(load<std::uint64_t>(at, is_big_endian));
        default:
            return load_rare(at, code, is_big_endian);
    }
}

// One letter for each size and sign, whatever the platform calls it.
char normal_code(const StructField& field) {
    switch (field.code) {
        case 'l':
        case 'n':
            return field.size == 8 ? 'q' : 'i';
        case 'L':
        case 'N':
        case 'P':
            return field.size == 8 ? 'Q' : 'I';
        default:
            return field.code;
    }
}

class StructReader final : public MessageReader {
 public:
    explicit StructReader(StructLayout layout) : layout_(std::move(layout)) {
        // Relaxed: the numbers must only differ.
        static std::atomic<std::uint64_t> layout_count{0};
        id_ = layout_count.fetch_add(1, std::memory_order_relaxed) + 1;
    }

    bool read_fields(std::span<const std::byte> body, const FieldSet& set, FieldValues& values) override {
        const FieldSet::FixedPlan& plan = set.fixed_plan();
        const bool is_fast = plan.owner == id_ && body.size() == layout_.size && plan.loads.empty();
        if (!is_fast) return read_slowly(body, set, values);
        Value* const slots = values.overwrite(set);
        const char* const data = reinterpret_cast<const char*>(body.data());
        for (const FieldSet::FixedPlan::Word& word : plan.words) slots[word.slot] = load_word(data, word);
        return true;
    }

 private:
    static Value load_word(const char* data, const FieldSet::FixedPlan::Word& word) {
        const auto bits = load<std::uint64_t>(data + word.offset, false);
        if (word.kind != Kind::text) return Value::of_bits(word.kind, bits);
        // Without its trailing zeros, which are the upper bytes of the word.
        const auto size = (71 - static_cast<std::size_t>(std::countl_zero(bits))) / 8;
        return Value::text({data + word.offset, size});
    }

    static Value load_scalar(const char* data, const FixedLoad& field) {
        const char* const at = data + field.offset;
        if (field.code == 's' || field.code == 'p') return text_of_field(at, field.code, field.count);
        return load_element(at, field.code, field.is_big_endian);
    }

    // Of a field that is one load of eight bytes; else null.
    static Kind kind_of_word(const FixedLoad& field) {
        if (field.code == 's') return field.count == 8 ? Kind::text : Kind::null;
        if (field.is_big_endian || field.count != 1) return Kind::null;
        return field.code == 'q' ? Kind::integer : field.code == 'd' ? Kind::real : Kind::null;
    }

    void make_plan(const FieldSet& set, FieldSet::FixedPlan* plan) const {
        *plan = {};
        plan->owner = id_;
        for (std::size_t slot = 0; slot < set.slot_count(); ++slot) {
            FixedLoad wanted{.slot = static_cast<FieldSlot>(slot)};
            for (const StructField& field : layout_.fields) match(field, set.path(wanted.slot), &wanted);
            const Kind kind = kind_of_word(wanted);
            if (kind == Kind::null)
                plan->loads.push_back(wanted);
            else
                plan->words.push_back({wanted.offset, wanted.slot, kind});
        }
    }

    // Whether `path` is the field, or an element of it.
    static void match(const StructField& field, const Path& path, FixedLoad* wanted) {
        if (field.path.steps.empty() || field.code == 'x') return;
        const bool is_text = field.code == 's' || field.code == 'p';
        const std::uint32_t element_count = is_text ? 1 : field.count;
        std::uint32_t index = 0;
        if (path.steps.size() == field.path.steps.size() + 1 && path.steps.back().is_index()) {
            index = path.steps.back().index;
            Path whole = path;
            whole.steps.pop_back();
            if (!(whole == field.path) || index >= element_count) return;
            wanted->count = 1;
        } else if (path == field.path) {
            wanted->count = element_count;
        } else {
            return;
        }
        if (wanted->count == 0) return;  // as Python's "0i": no element at all
        if (is_text) wanted->count = field.count;
        wanted->offset = field.offset + index * field.size;
        wanted->code = normal_code(field);
        wanted->is_big_endian = field.is_big_endian;
        wanted->is_text = is_text;
        wanted->size = field.size;
    }

    // Fields of every code, arrays, and bodies of another size than the layout's.
    [[gnu::noinline]] bool read_slowly(std::span<const std::byte> body, const FieldSet& set,
                                       FieldValues& values) const {
        FieldSet::FixedPlan& plan = set.fixed_plan();
        if (plan.owner != id_) make_plan(set, &plan);
        values.reset(set);
        if (body.size() != layout_.size) return false;
        const char* const data = reinterpret_cast<const char*>(body.data());
        for (const FieldSet::FixedPlan::Word& word : plan.words) {
            values.add(word.slot, load_word(data, word));
        }
        for (const FixedLoad& field : plan.loads) {
            if (field.is_text || field.code == kNothing) {
                values.add(field.slot, load_scalar(data, field));
                continue;
            }
            for (std::uint32_t i = 0; i < field.count; ++i) {
                const char* const at = data + field.offset + std::size_t{i} * field.size;
                values.add(field.slot, load_element(at, field.code, field.is_big_endian));
            }
        }
        values.finish();
        return true;
    }

    StructLayout layout_;
    std::uint64_t id_ = 0;  // no other layout of the process has it
};

}  // namespace

std::unique_ptr<MessageReader> make_struct_reader(StructLayout layout) {
    return std::make_unique<StructReader>(std::move(layout));
}

}  // namespace pinnace::expr
