// SPDX-License-Identifier: Apache-2.0
// Counts what watched threads ask of the heap. Link allocation_watch.cpp, which replaces operator new; under
// a sanitizer, which replaces it itself, nothing is counted and kAllocationsAreCounted is false.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PINNACE_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define PINNACE_SANITIZED 1
#endif
#endif
#ifndef PINNACE_SANITIZED
#define PINNACE_SANITIZED 0
#endif

namespace pinnace::testing {

inline constexpr bool kAllocationsAreCounted = PINNACE_SANITIZED == 0;

// Of the calling thread.
void watch_allocations(bool on);
// Of all watched threads.
long watched_allocation_count();

}  // namespace pinnace::testing
