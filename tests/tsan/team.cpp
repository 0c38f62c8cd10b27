// The team of threads by itself: `team THREADS CALLERS LOOPS` exits with 0 when all was right.
// tests/kernels/threading/test_team.py runs it, and run.sh under ThreadSanitizer.
#include "threading/openmp_runtime.h"

#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

using namespace cynet;

#define CHECK(what)                                           \
  do {                                                        \
    if (!(what)) {                                            \
      std::fprintf(stderr, "line %d: %s\n", __LINE__, #what); \
      std::exit(1);                                           \
    }                                                         \
  } while (0)

struct Sums {
  std::vector<long> of_part;
  bool nested;
};

static void add_part(void* arg, int part, int parts) {
  Sums& sums = *static_cast<Sums*>(arg);
  CHECK(parts == static_cast<int>(sums.of_part.size()) && is_in_share());
  sums.of_part[part] += part;
  if (sums.nested) {  // a loop in a share stays on its thread
    Sums inner = {std::vector<long>(3), false};
    run_parts(3, add_part, &inner);
    CHECK(inner.of_part[1] == 1 && inner.of_part[2] == 2);
  }
}

static void loops(int threads, int times) {
  for (int parts : {1, 2, threads, threads + 1, 7, 200}) {
    Sums sums = {std::vector<long>(parts), true};
    for (int i = 0; i < times; ++i) run_parts(parts, add_part, &sums);
    for (int part = 0; part < parts; ++part)
      CHECK(sums.of_part[part] == static_cast<long>(part) * times);
    CHECK(!is_in_share());
  }
}

struct Work {
  long n, total;
  std::vector<long> of_part;
};

static void region(void* arg) {  // what a library does in one: a loop, a barrier, a sum
  Work& r = *static_cast<Work*>(arg);
  const int part = openmp_part_now(), parts = openmp_parts_now();
  for (long chunk : {0L, 3L}) {
    long begin, end, sum = 0;
    if (openmp_loop_start(2, 2 + 5 * r.n, 5, chunk, &begin, &end)) do {
        for (long i = begin; i < end; i += 5) sum += i;
      } while (openmp_loop_next(&begin, &end));
    openmp_loop_end();
    r.of_part[part] = sum;
    openmp_barrier();
    if (part == parts - 1) {
      r.total = 0;
      for (int p = 0; p < parts; ++p) r.total += r.of_part[p];
    }
    openmp_barrier();
    CHECK(r.total == 2 * r.n + 5 * r.n * (r.n - 1) / 2);
  }
}

static void plain(void* arg) {  // a region without a barrier
  ++static_cast<Work*>(arg)->of_part[openmp_part_now()];
}

static void regions(int threads, int times) {
  for (int i = 0; i < times; ++i) {
    if (i % 5 == 0) team.sharing.until = now_ns() + 200000;  // the team rests for a while
    Work counts = {0, 0, std::vector<long>(threads)};
    openmp_start(plain, &counts, threads);
    plain(&counts);
    openmp_end();
    for (long count : counts.of_part) CHECK(count == 1);
    Work r = {100 + i % 7, 0, std::vector<long>(threads)};
    openmp_start(region, &r, threads);
    region(&r);
    openmp_end();
    openmp_parallel(region, &r, 1, 0);
    CHECK(openmp_parts_now() == 1 && !openmp_in_parallel());
  }
}

static void note_control(void* arg, int part, int) {
  static_cast<unsigned*>(arg)[part] = read_float_control();
}

static void controls(int threads) {  // parts round as the caller does
  const unsigned before = read_float_control();
#if defined(__x86_64__)
  set_float_control(before | 0x8040);
#endif
  for (int i = 0; i < 100; ++i) {
    std::vector<unsigned> found(threads);
    run_parts(threads, note_control, found.data());
    for (unsigned control : found) CHECK((control | 63) == (read_float_control() | 63));
  }
  set_float_control(before);
}

static void judgement() {  // losses beyond what was gained let the team rest
  static LoopSlot slot;
  slot.shares = 2;
  team.credit = 0, team.sharing.until = 0;
  const auto after = [](int64_t own, int mine, int64_t helped, int64_t elapsed) {
    const int64_t now = now_ns();
    slot.helped = helped, slot.begin = now - elapsed;
    measure_gain(slot, own, mine, now);
    return now;
  };
  after(1000000, 1, 1000000, 1000000);  // gained a millisecond
  CHECK(team.credit == 1000000 && !is_team_paused());
  after(900000, 2, 0, 1800000);  // helpers were woken and came too late
  CHECK(team.credit == 100000 && !is_team_paused());
  after(2000000, 1, 1000000, 2000000);  // a helper on the caller's core
  CHECK(team.credit == 100000 && !is_team_paused());
  int64_t now = after(1000, 1, 3000000000, 2001000);  // a helper that had no core
  const auto rest = [&] { return team.sharing.until - now; };
  // as long as the loss: it was alone
  CHECK(is_team_paused() && rest() > 1500000 && rest() < 2100000);
  for (int64_t times : {2, 4, 8, 16, 32, 64, 64}) {  // those that follow each other
    team.sharing.until = now_ns() - 1000;
    now = after(1000, 2, 0, 2001000);
    CHECK(rest() > times * 1900000 && rest() < times * 2100000);
  }
  now = after(0, 2, 0, 1000000000);
  CHECK(rest() <= MAX_PAUSE_NS);
  team.sharing.until = now_ns() - 65 * 2001000;  // the last one is long ago
  now = after(1000, 2, 0, 2001000);
  CHECK(rest() < 2100000);
  team.credit = 0, team.sharing.until = 0;
}

int main(int, char** arguments) {
  const int threads = std::atoi(arguments[1]), callers = std::atoi(arguments[2]);
  const int times = std::atoi(arguments[3]);
  set_thread_limit(threads);
  judgement();
  controls(threads);
  std::vector<std::thread> all;
  for (int i = 0; i < callers; ++i)
    all.emplace_back([=] { i % 3 == 2 ? regions(threads, times) : loops(threads, times); });
  regions(threads, times);
  for (std::thread& thread : all) thread.join();
  CHECK(team.helpers == (threads > 1 ? threads - 1 : 0));
  return 0;
}
