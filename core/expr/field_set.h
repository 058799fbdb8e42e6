// SPDX-License-Identifier: Apache-2.0
// FieldSet: the fields that all the expressions over one topic name, so that one pass over a message takes
// out what all of them need; FieldValues: what that pass found.
//
// A set only grows. Each distinct path has a slot; an expression that is bound to the set (Expression::bind)
// finds its fields by their slots. Values that were read before the set grew have no value for the new slots:
// read the message again before an expression that was bound later is evaluated on it. A set, what is bound
// to it and its values belong to one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/expr/bytes.h"
#include "core/expr/path.h"
#include "core/expr/value.h"

namespace pinnace::expr {

using FieldSlot = std::uint16_t;
inline constexpr std::size_t kFieldCountMax = 65'000;

// A name in a message, to be looked up.
struct FieldName {
    std::string_view text;
    std::uint64_t head = 0;  // as head_of() gives it
};

// The paths as a tree, so that a reader goes down a message and the tree together.
struct FieldNode {
    static constexpr std::uint32_t kNoSlot = UINT32_MAX;

    struct Member {
        std::uint64_t head = 0;  // of the name, as head_of() gives it
        std::string name;
        std::uint32_t node = 0;
        std::uint32_t serial = 0;  // of all members of the set, from 0: where a reader keeps its marks
        std::uint32_t place = 0;   // in `members`
        std::uint32_t leaf_slot = kNoSlot;  // the node's slot if nothing goes on from it
    };
    struct Element {
        std::uint32_t index = 0;
        std::uint32_t node = 0;
    };

    std::uint32_t slot = kNoSlot;   // of the path that ends here
    std::vector<Member> members;    // steps by name that go on from here
    std::vector<Element> elements;  // steps by index

    // The member of that name, null if there is none.
    const Member* find(std::string_view name) const { return find(FieldName{name, head_of(name)}); }
    const Member* find(const FieldName& name) const {
        if (members.size() > kLinearCount) return find_by_hash(name.text);
        for (const Member& member : members) {
            if (member.head == name.head && (name.text.size() <= 4 || equal_bytes(member.name, name.text)))
                return &member;
        }
        return nullptr;
    }

 private:
    friend class FieldSet;
    static constexpr std::size_t kLinearCount = 8;

    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view name) const { return std::hash<std::string_view>()(name); }
    };
    const Member* find_by_hash(std::string_view name) const;

    std::uint64_t sizes_ = 0;  // bit n: there is a member whose name's size is n, modulo 64

    std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> places_;  // in `members`, by name
};

// Where and how a field of fixed place is loaded.
struct FixedLoad {
    // The loads that a conjunction makes itself.
    enum class Fast : std::uint8_t { no, integer_64, integer_32, unsigned_32, real_64, text_8 };

    std::uint32_t offset = 0;
    std::uint32_t count = 0;  // of elements; of a text its size
    std::uint8_t size = 0;    // of an element
    char code = 0;            // 0: always NULL
    Fast fast = Fast::no;
    bool is_big_endian = false;
    bool is_text = false;
};
static_assert(sizeof(FixedLoad) == 16);

class FieldSet {
 public:
    FieldSet();

    // The slot of the path; a new one if no expression has named it before. kFieldCountMax paths at most: one
    // more gives the slot of a field that is always NULL.
    FieldSlot add(const Path& path);

    std::size_t slot_count() const { return paths_.size(); }
    const Path& path(FieldSlot slot) const { return paths_[slot]; }
    const FieldNode& root() const { return nodes_[0]; }
    const FieldNode& node(std::uint32_t index) const { return nodes_[index]; }
    std::uint32_t member_count() const { return member_count_; }

    // What a reader of messages of fixed layout has worked out for this set, by slot; `owner` is its layout's
    // number. Empty again when the set grows.
    struct FixedPlan {
        std::uint64_t owner = 0;
        // Shared, since values that were read before the set grew still need theirs.
        std::shared_ptr<const std::vector<FixedLoad>> loads;
    };
    FixedPlan& fixed_plan() const { return fixed_plan_; }

 private:
    void find_leaves();

    std::vector<Path> paths_;
    std::vector<FieldNode> nodes_;
    std::unordered_map<std::string, FieldSlot> slots_;
    std::uint32_t member_count_ = 0;
    mutable FixedPlan fixed_plan_;
};

// The fields' values of one message. Kept and used again for the next one: nothing is allocated once it has
// seen messages of that size. The values point into the message and the reader: they live until the body is
// gone or the reader reads the next one.
//
// Of a message of fixed layout only the place is kept at first. A conjunction loads what it needs from there;
// who asks for the values themselves makes all of them be loaded.
class FieldValues {
 public:
    // --- For readers
    // All fields absent.
    void reset(const FieldSet& set) {
        if (values_.size() != set.slot_count() || seen_.size() < set.member_count()) [[unlikely]]
            resize(set);
        for (Value& value : values_) value = Value::absent();
        repeated_.clear();
        fixed_body_ = nullptr;
        is_well_formed_ = false;
    }
    // The path of `slot` occurs (once more), with this value; a second occurrence makes an array.
    void add(std::uint32_t slot, const Value& value) {
        if (values_[slot].is_absent())
            values_[slot] = value;
        else
            add_further(slot, value);
    }
    // The occurrences are known to be whole: makes the arrays. Readers call it last.
    void finish() {
        is_well_formed_ = true;
        if (!repeated_.empty()) make_arrays();
    }
    // All at once, for a body of fixed layout with these loads, one a slot.
    void set_fixed(const FieldSet& set, const std::shared_ptr<const std::vector<FixedLoad>>& loads,
                   const char* body) {
        fixed_body_ = body;
        is_well_formed_ = true;
        // The same loads as before: then the size is right as well, since resize() forgets them.
        if (loads != fixed_loads_) [[unlikely]]
            take_loads(set, loads);
    }

    // Marks member `serial` as seen in the object `object`; false if it was seen there before (of members
    // that occur twice in one object the first one counts). Objects are numbered by next_object().
    bool mark(std::uint32_t serial, std::uint64_t object) {
        if (seen_[serial] == object) return false;
        seen_[serial] = object;
        return true;
    }
    std::uint64_t next_object() { return ++object_count_; }

    // --- For expressions
    const Value* data() const {
        if (fixed_body_ != nullptr) load_fixed();
        return values_.data();
    }
    const Value& operator[](FieldSlot slot) const { return data()[slot]; }
    std::size_t size() const { return values_.size(); }
    bool is_well_formed() const { return is_well_formed_; }
    // Null unless the values are still to be loaded from it.
    const char* fixed_body() const { return fixed_body_; }
    const std::shared_ptr<const std::vector<FixedLoad>>& fixed_loads() const { return fixed_loads_; }

 private:
    using FixedLoads = std::shared_ptr<const std::vector<FixedLoad>>;
    [[gnu::noinline]] void take_loads(const FieldSet& set, const FixedLoads& loads) {
        resize(set);
        fixed_loads_ = loads;
    }
    [[gnu::noinline]] void resize(const FieldSet& set) const;
    void add_further(std::uint32_t slot, const Value& value) const;
    void make_arrays() const;
    [[gnu::noinline]] void load_fixed() const;

    // Mutable: values of fixed layout are loaded when somebody asks for them. One thread has all of it.
    mutable std::vector<Value> values_;
    mutable std::vector<std::vector<Value>> occurrences_;  // of slots that occur more than once
    mutable std::vector<std::uint32_t> repeated_;          // those slots
    mutable std::vector<std::uint64_t> seen_;
    mutable const char* fixed_body_ = nullptr;
    mutable std::shared_ptr<const std::vector<FixedLoad>> fixed_loads_;
    std::uint64_t object_count_ = 0;
    bool is_well_formed_ = false;
};

}  // namespace pinnace::expr
