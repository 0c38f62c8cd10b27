// The one guarded door to OpenMP for C++ kernels: splits a range over threads.
//
// How many threads a kernel may use is decided in parallel.pyx (`threads_for`) and handed in, so
// that the setting exists once in the process and a range below the grain stays on the caller's
// thread.
#ifndef CYNET_PARALLEL_H
#define CYNET_PARALLEL_H

#include <chrono>
#include <cstdint>
#include <thread>

#ifdef _OPENMP
#include <omp.h>
#endif

#if !defined(_WIN32)
#include <pthread.h>
#endif

namespace cynet {

// A result of more bytes would drive all else out of a last-level cache. (What sysconf says of its
// size is that of many caches together on virtual machines.)
enum { BEYOND_CACHES = 32 << 20 };

// Floats between what a thread writes and what others read or write. Prefetchers run ahead of what
// a core reads, to the end of its page and into the next one, and take away what another core is
// writing there.
enum { FLOATS_APART = 2048 };

// body(begin, end) over [0, n) in at most `threads` contiguous parts; body must not throw.
template <typename Body>
inline void parallel_for(int threads, int64_t n, Body&& body) {
  if (n <= 0) return;
  if (threads > n) threads = static_cast<int>(n);
#ifdef _OPENMP
  if (threads > 1) {
#pragma omp parallel num_threads(threads)
    {
      const int64_t parts = omp_get_num_threads(), part = omp_get_thread_num();
      const int64_t each = n / parts, rest = n % parts;
      const int64_t begin = part * each + (part < rest ? part : rest);
      const int64_t end = begin + each + (part < rest ? 1 : 0);
      if (begin < end) body(begin, end);
    }
    return;
  }
#endif
  body(static_cast<int64_t>(0), n);
}

// body(part) for the parts of a whole, one a thread.
template <typename Body>
inline void for_parts(int64_t parts, const Body& body) {
  parallel_for(static_cast<int>(parts), parts, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) body(part);
  });
}

typedef void (*RangeFunction)(void* arg, int64_t begin, int64_t end);

// The same for a C function and its argument.
inline void parallel_ranges(int threads, int64_t n, RangeFunction function, void* arg) {
  parallel_for(threads, n, [=](int64_t begin, int64_t end) { function(arg, begin, end); });
}

// What OpenMP's runtime says; serial without it.
inline int omp_cores() {
#ifdef _OPENMP
  return omp_get_num_procs();
#else
  return 1;
#endif
}

inline bool omp_inside() {
#ifdef _OPENMP
  return omp_in_parallel();
#else
  return true;
#endif
}

// For libraries that ask OpenMP how many threads to use: a setting of the calling thread.
inline void use_threads(int n) {
#ifdef _OPENMP
  if (omp_get_max_threads() != n) omp_set_num_threads(n);
#endif
}

inline void call_elsewhere(void (*function)(void*), void* arg) {
  std::thread(function, arg).join();
}

// Forks so far in this process's ancestry: a thread whose OpenMP team was left behind in the parent
// would wait for it for ever, so such a thread goes on alone. Used by parallel.pyx only: one state
// a process.
static int fork_count = 1;
static thread_local int team_fork_count = 0;

static void count_fork() { ++fork_count; }

static inline void watch_forks() {
#if !defined(_WIN32)
  pthread_atfork(nullptr, nullptr, count_fork);
#endif
}

static inline bool team_is_here() {
  if (team_fork_count == 0) team_fork_count = fork_count;
  return team_fork_count == fork_count;
}

// Whether this thread's OpenMP team still looks for work. Noted when a loop is shared out and when
// the operator that did so is done; used by parallel.pyx only, like the state above.
static thread_local bool has_team = false;  // it may have one, that is
static thread_local bool team_works = false;
static thread_local int64_t team_rested_at = 0;

static inline int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

static inline void note_team_works() { has_team = team_works = true; }

static inline void note_team_rests() {
  if (!team_works) return;
  team_works = false;
  team_rested_at = now_ns();
}

static inline bool team_is_awake(int64_t spin_ns) {
  return team_works || (team_rested_at != 0 && now_ns() - team_rested_at < spin_ns);
}

// Ends the team of a thread that is going to sleep for long. GNU OpenMP lets its threads look for
// work for a few turns only once the teams of a process have more threads than there are cores.
static void release_team() {
#if defined(_OPENMP) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 9
  if (!has_team || !team_is_here() || omp_in_parallel()) return;
  omp_pause_resource_all(omp_pause_soft);
  has_team = team_works = false;
  team_rested_at = 0;
#endif
}

}  // namespace cynet

#endif
