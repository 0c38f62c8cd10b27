// Implements GNU OpenMP's functions by the team, for libraries that import them.
//
// Its threads meet at barriers within a region, so the parts of one must run at once: there are as
// many helpers as parts, one region runs at a time, and the caller takes a part that has not begun
// only when its own is over. Helpers are called even while the team rests: oneDNN's own barriers
// spin on memory and cannot be seen from here. Included by parallel.pyx only.
#ifndef CYNET_OPENMP_RUNTIME_H
#define CYNET_OPENMP_RUNTIME_H

#include "threading/import_table.h"
#include "threading/team.h"

namespace cynet {

enum { DEEPEST = 16 };  // nested regions; only the outermost has threads

struct ParallelRegion {  // a thread's part of a region and its loop
  int part, parts;
  bool openmp_team;    // the region uses the team of threads
  int64_t turn;  // number of chunks of the loop that this thread has had
  int64_t first, count, step, chunk;
};

static struct {
  std::atomic<uint32_t> held;  // 1: the team is in use; 2: others wait for it
  std::atomic<uint32_t> arrived, round;  // threads that have arrived at the barrier, and its round
  void (*body)(void*);
  void* data;
} openmp_team;

static thread_local ParallelRegion regions_within[DEEPEST] = {{0, 1, false, 0, 0, 0, 0, 0}};
static thread_local int depth = 0;
static thread_local int max_threads = MAX_SHARES;  // limit of this thread's regions

static void lock_team() {  // waits until no other region uses the team
  uint32_t free = 0;
  if (openmp_team.held.compare_exchange_strong(free, 1)) return;
  while (openmp_team.held.exchange(2)) sleep_while(&openmp_team.held, 2);
}

static void unlock_team() {
  if (openmp_team.held.exchange(0) == 2) wake_sleepers(&openmp_team.held, 1);
}

static void enter_region(int part, int parts, bool has_team) {  // pushes it on this thread's stack
  regions_within[++depth] = {part, parts, has_team, 0, 0, 0, 0, 0};
}

static void run_openmp_part(void*, int part, int parts) {
  enter_region(part, parts, true);
  openmp_team.body(openmp_team.data);
  --depth;
}

// True if a region of this many parts can run: all helpers exist, or could be created now.
static bool openmp_can_run(int parts) {
  while (!inside) {
    start_helpers(parts - 1);
    if (team.helpers.load() >= parts - 1) return true;
    if (team.making.load()) std::this_thread::yield();  // another thread is creating helpers
    else if (now_ns() < team.retry_at.load()) return false;
  }
  return true;
}

// The maximum number of threads of a region: the helpers that could be created.
static int openmp_threads() {
  const int limit = team.limit.load(std::memory_order_relaxed);
  const int maximum = limit < max_threads ? limit : max_threads;
  if (inside || maximum < 2) return 1;
  if (openmp_can_run(maximum)) return maximum;
  return team.helpers.load() + 1;
}

// Makes regions of the calling thread single-threaded if `alone`, until the next call.
static inline void set_single_threaded(bool alone) { max_threads = alone ? 1 : MAX_SHARES; }

extern "C" {

static void openmp_start(void (*body)(void*), void* data, unsigned parts) {
  const bool alone = parts < 2 || inside || !openmp_can_run(static_cast<int>(parts));
  if (!alone) {
    lock_team();
    openmp_team.body = body, openmp_team.data = data;
    openmp_team.arrived.store(0);
    const int n = static_cast<int>(parts);
    fill_slot(team.slots[0], n, n, run_openmp_part, nullptr);
    open_shares(team.slots[0]);
    inside = true;
  }
  enter_region(0, alone ? 1 : static_cast<int>(parts), !alone);
}

static void openmp_end() {
  const bool alone = !regions_within[depth--].openmp_team;
  if (alone) return;
  close_shares(team.slots[0]);
  inside = false;
  unlock_team();
}

static void openmp_parallel(void (*body)(void*), void* data, unsigned parts, unsigned) {
  openmp_start(body, data, parts);
  body(data);
  openmp_end();
}

static void openmp_barrier() {
  const ParallelRegion& region = regions_within[depth];
  if (!region.openmp_team) return;
  const uint32_t round = openmp_team.round.load();
  if (openmp_team.arrived.fetch_add(1) + 1 == static_cast<uint32_t>(region.parts)) {
    openmp_team.arrived.store(0);
    openmp_team.round.fetch_add(1);
    wake_sleepers(&openmp_team.round, region.parts);
    return;
  }
  const int64_t begin = now_ns(), until = begin + BRIEF_NS;
  for (int spins = 1; openmp_team.round.load() == round; ++spins) {
    pause_cpu();
    if (spins % 32 == 0 && now_ns() > until) sleep_while(&openmp_team.round, round);
  }
  const int64_t stood = now_ns() - begin;  // time at the barrier, which is no work
  if (region.part == 0) team.slots[0].stood += stood;
  else team.slots[0].helped.fetch_sub(stood, std::memory_order_relaxed);
}

static int openmp_part_now() { return regions_within[depth].part; }
static int openmp_parts_now() { return regions_within[depth].parts; }
static int openmp_in_parallel() { return inside || regions_within[depth].parts > 1; }

static bool openmp_loop_next(long* begin, long* end) {
  ParallelRegion& r = regions_within[depth];
  int64_t from, to;
  if (r.chunk) {
    from = (r.turn * r.parts + r.part) * r.chunk;
    to = from + r.chunk;
  } else {
    if (r.turn) return false;
    const int64_t each = r.count / r.parts, rest = r.count % r.parts;
    from = r.part * each + (r.part < rest ? r.part : rest);
    to = from + each + (r.part < rest);
  }
  ++r.turn;
  if (to > r.count) to = r.count;
  if (from >= to) return false;
  *begin = r.first + from * r.step;
  *end = r.first + to * r.step;
  return true;
}

static bool openmp_loop_start(long first, long last, long step, long chunk, long* begin,
                              long* end) {
  ParallelRegion& r = regions_within[depth];
  r.turn = 0, r.first = first, r.step = step, r.chunk = chunk;
  r.count = step > 0 ? (last - first + step - 1) / step : (first - last - step - 1) / -step;
  return openmp_loop_next(begin, end);
}

static void openmp_loop_end() {}  // nothing to wait for

}  // extern "C"

// The functions that a library compiled by GCC for OpenMP may import.
static const ImportEntry openmp_functions[] = {
    {"GOMP_parallel_start", reinterpret_cast<void*>(openmp_start)},
    {"GOMP_parallel_end", reinterpret_cast<void*>(openmp_end)},
    {"GOMP_parallel", reinterpret_cast<void*>(openmp_parallel)},
    {"GOMP_barrier", reinterpret_cast<void*>(openmp_barrier)},
    {"GOMP_loop_static_start", reinterpret_cast<void*>(openmp_loop_start)},
    {"GOMP_loop_static_next", reinterpret_cast<void*>(openmp_loop_next)},
    {"GOMP_loop_end_nowait", reinterpret_cast<void*>(openmp_loop_end)},
    {"omp_get_max_threads", reinterpret_cast<void*>(openmp_threads)},
    {"omp_get_thread_num", reinterpret_cast<void*>(openmp_part_now)},
    {"omp_get_num_threads", reinterpret_cast<void*>(openmp_parts_now)},
    {"omp_in_parallel", reinterpret_cast<void*>(openmp_in_parallel)},
};

// Lets a library's regions run on the team. Returns the result of `rebind_imports`.
static inline const char* lend_team(void* library) {
  static const char* const prefixes[] = {"GOMP_", "omp_"};
  return rebind_imports(library, prefixes, openmp_functions,
                        sizeof(openmp_functions) / sizeof(openmp_functions[0]));
}

// ---- forks

static void reset_after_fork() {
  forget_team();
  openmp_team.held.store(0);
}

static inline void watch_forks() {
#if !defined(_WIN32)
  pthread_atfork(nullptr, nullptr, reset_after_fork);
#endif
}

}  // namespace cynet

#endif
