// SPDX-License-Identifier: Apache-2.0
#include "tests/support/allocation_watch.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace pinnace::testing {
namespace {

thread_local bool is_watched = false;
std::atomic<long> count{0};

}  // namespace

void watch_allocations(bool on) { is_watched = on; }
long watched_allocation_count() { return count.load(std::memory_order_relaxed); }  // relaxed: a count

#if !PINNACE_SANITIZED
static void* allocate(std::size_t size) {
    if (is_watched) count.fetch_add(1, std::memory_order_relaxed);  // relaxed: a count
    void* memory = std::malloc(size);
    if (memory == nullptr) std::abort();
    return memory;
}
#endif

}  // namespace pinnace::testing

#if !PINNACE_SANITIZED
void* operator new(std::size_t size) { return pinnace::testing::allocate(size); }
void* operator new[](std::size_t size) { return pinnace::testing::allocate(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
#endif
