// SPDX-License-Identifier: Apache-2.0
// Reads messages of fixed layout: where each wanted field lies is worked out once for a set; a message is
// then only checked for its size, and each field is one load when it is asked for.
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "core/expr/readers.h"

namespace pinnace::expr {
namespace {

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

// What a conjunction can load by itself.
FixedLoad::Fast fast_load(const FixedLoad& load) {
    using Fast = FixedLoad::Fast;
    if (load.code == 's') return load.count == 8 ? Fast::text_8 : Fast::no;
    if (load.is_big_endian || load.count != 1) return Fast::no;
    switch (load.code) {
        case 'q':
            return Fast::integer_64;
        case 'i':
            return Fast::integer_32;
        case 'I':
            return Fast::unsigned_32;
        case 'd':
            return Fast::real_64;
        default:
            return Fast::no;
    }
}

// The load of `path` if it is the field, or an element of it; else `load` stays as it is.
void match(const StructField& field, const Path& path, FixedLoad* load) {
    if (field.path.steps.empty() || field.code == 'x') return;
    const bool is_text = field.code == 's' || field.code == 'p';
    const std::uint32_t element_count = is_text ? 1 : field.count;
    std::uint32_t index = 0;
    std::uint32_t count = element_count;
    if (path.steps.size() == field.path.steps.size() + 1 && path.steps.back().is_index()) {
        index = path.steps.back().index;
        Path whole = path;
        whole.steps.pop_back();
        if (!(whole == field.path) || index >= element_count) return;
        count = 1;
    } else if (!(path == field.path)) {
        return;
    }
    if (count == 0) return;  // as Python's "0i": no element at all
    load->offset = field.offset + index * field.size;
    load->count = is_text ? field.count : count;
    load->size = static_cast<std::uint8_t>(field.size);
    load->code = normal_code(field);
    load->is_big_endian = field.is_big_endian;
    load->is_text = is_text;
    load->fast = fast_load(*load);
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
        if (plan.owner != id_ || body.size() != layout_.size) [[unlikely]]
            return read_rarely(body, set, values);
        values.set_fixed(set, plan.loads, reinterpret_cast<const char*>(body.data()));
        return true;
    }

 private:
    // The first message of a set, and messages of another size.
    [[gnu::noinline]] bool read_rarely(std::span<const std::byte> body, const FieldSet& set,
                                       FieldValues& values) {
        if (body.size() != layout_.size) {
            values.reset(set);
            return false;
        }
        make_plan(set, &set.fixed_plan());
        return read_fields(body, set, values);
    }

    void make_plan(const FieldSet& set, FieldSet::FixedPlan* plan) const {
        std::vector<FixedLoad> loads(set.slot_count());
        for (std::size_t slot = 0; slot < loads.size(); ++slot) {
            const Path& path = set.path(static_cast<FieldSlot>(slot));
            for (const StructField& field : layout_.fields) match(field, path, &loads[slot]);
        }
        *plan = {id_, std::make_shared<const std::vector<FixedLoad>>(std::move(loads))};
    }

    StructLayout layout_;
    std::uint64_t id_ = 0;  // no other layout of the process has it
};

}  // namespace

std::unique_ptr<MessageReader> make_struct_reader(StructLayout layout) {
    return std::make_unique<StructReader>(std::move(layout));
}

}  // namespace pinnace::expr
