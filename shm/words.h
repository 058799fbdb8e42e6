// SPDX-License-Identifier: Apache-2.0
// Words in shared memory: how they are loaded, stored and fenced, in one place for all of shm.
//
// Shared structs are plain integers; std::atomic_ref is laid over them at each access. A word that a peer
// writes is loaded once into a local and only the local is looked at (architecture rule 3): load_once()
// cannot be repeated by the compiler, since it is an atomic load.
//
// full_fence() is the only sequentially consistent fence in shm. Two protocols of Dekker's shape rest on it:
// a sleeper and its waker (doorbell.h), a reader's pin and the reuse of a slot (log.h). In both, each side
// stores its own word, fences, and then loads the other's; at least one of them sees the other. Acquire and
// release are not enough for that, since neither orders a store before a later load.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#if defined(__SANITIZE_THREAD__)
#define PINNACE_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define PINNACE_TSAN 1
#endif
#endif
#ifndef PINNACE_TSAN
#define PINNACE_TSAN 0
#endif

namespace pinnace::shm {

// A handle on a shared word. Loads work on read-only mappings too; that the const is cast away is needed
// because C++23 has no atomic_ref of a const type yet.
template <class T>
std::atomic_ref<T> shared(const T& word) {
    static_assert(std::is_integral_v<T> && std::atomic_ref<T>::is_always_lock_free);
    return std::atomic_ref<T>(const_cast<T&>(word));
}

// Relaxed: the word carries no other data with it, or an acquire or a fence of the caller orders it.
template <class T>
T load_relaxed(const T& word) {
    return shared(word).load(std::memory_order_relaxed);
}

template <class T>
void store_relaxed(T& word, T value) {
    shared(word).store(value, std::memory_order_relaxed);
}

// Copies a struct of whole 64-bit words out of memory that a peer may be writing: each word is loaded exactly
// once, and stored where it will be looked at. (A copy of the copy would load 16 bytes over two fresh stores
// of 8, which the processor cannot forward: that cost 5 ns each time.) Relaxed: the caller has loaded the
// struct's commit word with acquire before.
template <class T>
[[gnu::always_inline]] inline void load_once(const T& source, T& to) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % 8 == 0 && alignof(T) >= 8);
    const auto* from = reinterpret_cast<const std::uint64_t*>(&source);
    auto* bytes = reinterpret_cast<std::byte*>(&to);
    [&]<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
        (
            (void)[&] {
                const std::uint64_t word = load_relaxed(from[kIndex]);
                std::memcpy(bytes + 8 * kIndex, &word, sizeof word);
            }(),
            ...);
    }(std::make_index_sequence<sizeof(T) / 8>());
}

// g++ 12 refuses fences under the thread sanitizer, which does not model them. There, a read-modify-write of
// one common word takes the fence's place: all of them have one order, and the later one synchronizes with
// the earlier.
inline void full_fence() {
#if PINNACE_TSAN
    static std::atomic<std::uint32_t> common{0};
    common.fetch_add(1, std::memory_order_seq_cst);  // pair: caller
#else
    std::atomic_thread_fence(std::memory_order_seq_cst);  // pair: caller
#endif
}

// Copies bytes into and out of slots of the log, where a reader may be looking while the writer reuses the
// slot. The reader throws away what it copied if the slot's generation moved, so a torn copy does no harm,
// but to C++ the plain copy is a race. These two functions are the only place where we accept it (with the
// compiler kept from assuming anything by the fences around them); the thread sanitizer gets relaxed atomic
// bytes and words instead.
inline void copy_shared(std::byte* to, const std::byte* from, std::size_t size) {
#if PINNACE_TSAN
    auto word_wise = [](const std::byte* at) { return reinterpret_cast<std::uintptr_t>(at) % 8 == 0; };
    std::size_t done = 0;
    if (word_wise(to) && word_wise(from)) {
        for (; done + 8 <= size; done += 8) {
            store_relaxed(*reinterpret_cast<std::uint64_t*>(to + done),
                          load_relaxed(*reinterpret_cast<const std::uint64_t*>(from + done)));
        }
    }
    for (; done < size; ++done) {
        store_relaxed(*reinterpret_cast<unsigned char*>(to + done),
                      load_relaxed(*reinterpret_cast<const unsigned char*>(from + done)));
    }
#else
    std::memcpy(to, from, size);
#endif
}

// Between a copy out of the log and the second look at the generation.
// A hint: the address need not be one that can be written.
inline void prefetch_for_write(const std::byte* at) { __builtin_prefetch(at, 1); }

inline void copied_fence() {
#if !PINNACE_TSAN
    std::atomic_thread_fence(std::memory_order_acquire);  // pair: slot
#endif
}

}  // namespace pinnace::shm
