// SPDX-License-Identifier: Apache-2.0
// Ring arithmetic as pure functions over positions that only grow.
//
// A position counts bytes (or entries) since the ring's start and never wraps in practice; the place in
// memory is the position modulo the capacity. Everything here is templated on the position's type, so that
// tests wrap a narrow one, and takes the capacity as an argument, which each side holds in private memory
// (architecture rule 3).
//
// Preconditions: capacity is a power of two and at most half of the type's range, so that `full` and `empty`
// differ; `read` and `written` satisfy used(written, read) <= capacity.
#pragma once

#include <concepts>
#include <optional>

namespace pinnace::shm {

// Bytes or entries between the two cursors. The subtraction wraps as unsigned numbers do, which is what makes
// it right across the end of a narrow type.
template <std::unsigned_integral P>
constexpr P used(P written, P read) {
    return static_cast<P>(written - read);
}

template <std::unsigned_integral P>
constexpr P free_space(P capacity, P written, P read) {
    return static_cast<P>(capacity - used(written, read));
}

template <std::unsigned_integral P>
constexpr P offset_of(P position, P capacity) {
    return static_cast<P>(position & static_cast<P>(capacity - 1));
}

// What is left up to the end of the lap; at a lap's start the whole capacity.
template <std::unsigned_integral P>
constexpr P space_to_end(P position, P capacity) {
    return static_cast<P>(capacity - offset_of(position, capacity));
}

template <std::unsigned_integral P>
constexpr P round_up(P size, P alignment) {
    return static_cast<P>((size + static_cast<P>(alignment - 1)) &
                          static_cast<P>(~static_cast<P>(alignment - 1)));
}

template <std::unsigned_integral P>
constexpr bool is_power_of_two(P value) {
    return value != 0 && (value & static_cast<P>(value - 1)) == 0;
}

// Where a frame of `length` bytes goes: it never straddles the end of a lap, so the rest of a lap that is too
// short is filled with padding first.
template <std::unsigned_integral P>
struct Placement {
    P padding = 0;  // bytes of padding in front, 0 or the rest of the lap
    P start = 0;    // position of the frame
    P end = 0;      // position after the frame

    friend constexpr bool operator==(const Placement&, const Placement&) = default;
};

template <std::unsigned_integral P>
constexpr Placement<P> place(P capacity, P written, P length) {
    const P to_end = space_to_end(written, capacity);
    const P padding = length > to_end ? to_end : P{0};
    const P start = static_cast<P>(written + padding);
    return {padding, start, static_cast<P>(start + length)};
}

// The same, if what it takes is free. `length` must be at most the capacity.
template <std::unsigned_integral P>
constexpr std::optional<Placement<P>> place_if_free(P capacity, P written, P read, P length) {
    const Placement<P> placement = place(capacity, written, length);
    const P free = free_space(capacity, written, read);
    // Two comparisons instead of one sum, which could wrap in a narrow type.
    if (placement.padding > free || length > static_cast<P>(free - placement.padding)) return std::nullopt;
    return placement;
}

// Whether a cursor that the peer writes may have moved from `known` to `told`: forwards, and not past
// `limit`.
template <std::unsigned_integral P>
constexpr bool is_plausible_move(P known, P told, P limit) {
    return static_cast<P>(told - known) <= static_cast<P>(limit - known);
}

}  // namespace pinnace::shm
