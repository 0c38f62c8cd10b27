// Parallel loops for C++ kernels: divides a range among the threads of the team (team.h).
//
// The number of threads of a kernel is decided in parallel.pyx (`threads_for`) and passed on, so
// that the process has one setting and a range below the grain stays on the caller's thread. A
// range has as many parts as threads were requested, whichever thread computes them.
#ifndef CYNET_PARALLEL_H
#define CYNET_PARALLEL_H

#include <cstdint>
#include <type_traits>

// Calls function(arg, part, parts) for each part, on the caller and on helper threads. All modules
// share the implementation in parallel.pyx (kernels/threading/threads.py).
extern "C" {
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
void cynet_run_parts(int parts, void (*function)(void* arg, int part, int parts), void* arg);
}

namespace cynet {

// A result of more bytes does not fit a last-level cache. (On virtual machines sysconf reports the
// size of many caches together.)
enum { BEYOND_CACHES = 32 << 20 };

// Floats between the writes of one thread and the data of others. Prefetchers run ahead of a core's
// reads, into the next page, and steal lines that another core writes.
enum { FLOATS_APART = 2048 };

template <typename Body>
struct BodyRange {  // parallel_for's body and its n
  Body* body;
  int64_t n;
  static void run(void* arg, int part, int parts) {  // a part of the range
    const BodyRange& range = *static_cast<BodyRange*>(arg);
    const int64_t each = range.n / parts, rest = range.n % parts;
    const int64_t begin = part * each + (part < rest ? part : rest);
    const int64_t end = begin + each + (part < rest ? 1 : 0);
    (*range.body)(begin, end);
  }
};

// Calls body(begin, end) for at most `threads` contiguous parts of [0, n); body must not throw.
template <typename Body>
inline void parallel_for(int threads, int64_t n, Body&& body) {
  if (n <= 0) return;
  if (threads > n) threads = static_cast<int>(n);
  if (threads < 2) {
    body(static_cast<int64_t>(0), n);
    return;
  }
  typedef typename std::remove_reference<Body>::type Function;
  BodyRange<Function> range = {&body, n};
  cynet_run_parts(threads, BodyRange<Function>::run, &range);
}

// Calls body(part) for each part, one per thread.
template <typename Body>
inline void for_parts(int64_t parts, const Body& body) {
  parallel_for(static_cast<int>(parts), parts, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) body(part);
  });
}

typedef void (*RangeFunction)(void* arg, int64_t begin, int64_t end);

// parallel_for for a C function and its argument.
inline void parallel_ranges(int threads, int64_t n, RangeFunction function, void* arg) {
  parallel_for(threads, n, [=](int64_t begin, int64_t end) { function(arg, begin, end); });
}

}  // namespace cynet

#if defined(CYNET_TEAM) && defined(_OPENMP) && defined(__GNUC__) && !defined(__clang__)
// `prange` in cynet's own modules: GCC moves the loop to a function and calls GOMP_parallel, which
// in these modules is the one below. Each part reads its number and the number of parts to find its
// iterations. A region holds one loop (tests/test_house.py), so its barrier is its end.
namespace cynet {

struct OpenMPRegion {
  void (*body)(void*);
  void* data;
};

static thread_local int region_part = 0, region_parts = 1;

static void run_region(void* arg, int part, int parts) {
  const OpenMPRegion& region = *static_cast<OpenMPRegion*>(arg);
  const int outer_part = region_part, outer_parts = region_parts;
  region_part = part, region_parts = parts;
  region.body(region.data);
  region_part = outer_part, region_parts = outer_parts;
}

}  // namespace cynet

#define CYNET_HIDDEN __attribute__((weak, visibility("hidden")))  // not exported

extern "C" {

CYNET_HIDDEN void GOMP_parallel(void (*body)(void*), void* data, unsigned parts, unsigned) {
  cynet::OpenMPRegion region = {body, data};
  if (parts > 1) cynet_run_parts(static_cast<int>(parts), cynet::run_region, &region);
  else cynet::run_region(&region, 0, 1);
}
CYNET_HIDDEN void GOMP_barrier() {}
CYNET_HIDDEN int omp_get_thread_num() noexcept { return cynet::region_part; }
CYNET_HIDDEN int omp_get_num_threads() noexcept { return cynet::region_parts; }
CYNET_HIDDEN int omp_get_max_threads() noexcept { return 1; }
}

#undef CYNET_HIDDEN
#endif

#endif
