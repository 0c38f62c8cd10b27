// The threads that help with the loops of CPU kernels: one team for the process.
//
// A loop has parts, and the result of a part does not depend on the thread that computes it. The
// caller opens the parts in a slot, awake helpers claim some of them, the caller claims the others.
// So a helper that gets no core only delays the part it has begun. Included by parallel.pyx only:
// this state exists once. Its reasons: docs/architecture/threads.md
#ifndef CYNET_TEAM_H
#define CYNET_TEAM_H

#include <atomic>
#include <cstdint>
#include <thread>

#include "threading/clock.h"
#include "threading/wake.h"

#if defined(__x86_64__) || defined(_M_X64)
#include <immintrin.h>
#endif
#if !defined(_WIN32)
#include <pthread.h>
#include <signal.h>
#endif

namespace cynet {

typedef void (*PartFunction)(void* arg, int part, int parts);

constexpr int MAX_SLOTS = 16;  // maximum concurrent loops; openmp_runtime.h uses the first slot
constexpr int MAX_SHARES = 64;  // maximum shares of a loop, a bit each; a share is one part or more

// All times are in nanoseconds.
constexpr int64_t SPIN_NS = 150000;  // a helper spins this long for the next loop, then it sleeps
constexpr int64_t WAIT_NS = 200000;  // a caller spins this long for the end of helpers' shares
constexpr int64_t BRIEF_NS = 20000;  // WAIT_NS where other programs' threads use the cores
constexpr int64_t STOLEN_NS = 100000;  // a spinning thread that misses this much had no core
// maximum gained time that is offset against losses
constexpr int64_t CREDIT_NS = 4000000;  // maximum gained time that counts against losses
constexpr int64_t LOSS_NS = 1000000;  // loss beyond the credit after which the team pauses
constexpr int64_t MAX_PAUSE_FACTOR = 64;  // maximum pause in multiples of the loss: costs 1.5 %
constexpr int64_t MAX_PAUSE_NS = 1000000000;  // longest pause of a team that cost time
constexpr int64_t RETRY_NS = 1000000000;  // pause after a thread could not be made

struct alignas(128) LoopSlot {  // a loop that helpers may join
  std::atomic<uint64_t> open;  // shares that no thread has begun
  std::atomic<uint32_t> left;  // shares that are not done
  std::atomic<uint32_t> sleeps;  // the caller sleeps on `left`
  std::atomic<uint32_t> taken;  // a caller has taken the slot
  std::atomic<int64_t> helped;  // nanoseconds that helpers took for their shares
  int parts, shares;
  PartFunction function;
  void* arg;
  int64_t begin, woken;  // times when the caller opened the loop, and had woken helpers
  int64_t stood;  // nanoseconds that the caller waited at barriers
  unsigned control;  // the caller's rounding and flushing of denormal numbers
};

// A pause after helpers have cost time: as long as the loss, and up to MAX_PAUSE_FACTOR times as
// long if losses follow each other. So a thread that misses its core once, as on any machine, costs
// little, and one that has none costs 1.5 %.
struct TeamPause {  // pause after helpers cost time
  std::atomic<int64_t> until;
  std::atomic<int64_t> factor;

  bool is_lasting(int64_t now) const { return now < until.load(std::memory_order_relaxed); }

  void start_pause(int64_t now, int64_t loss) {
    const int64_t whole =
        loss < MAX_PAUSE_NS / MAX_PAUSE_FACTOR ? loss * MAX_PAUSE_FACTOR : MAX_PAUSE_NS;
    const int64_t before = factor.load(std::memory_order_relaxed);
    const bool again = now - until.load(std::memory_order_relaxed) < whole;
    const int64_t times = again ? (before < MAX_PAUSE_FACTOR ? 2 * before : MAX_PAUSE_FACTOR) : 1;
    factor.store(times, std::memory_order_relaxed);
    until.store(now + (loss < whole / times ? loss * times : whole), std::memory_order_relaxed);
  }
};

struct Team {  // the helper threads and their loops
  LoopSlot slots[MAX_SLOTS];
  alignas(128) std::atomic<int> used{1};  // all slots that were ever taken have lower indices
  std::atomic<int> limit;  // threads that one loop may use
  std::atomic<int> helpers;  // threads made
  std::atomic<int> making;
  std::atomic<int64_t> retry_at;
  TeamPause spinning;  // pause in which helpers do not spin
  TeamPause sharing;  // pause in which loops run on their callers alone
  std::atomic<int64_t> credit;
  alignas(128) std::atomic<uint32_t> bell;  // the word that helpers sleep on
  std::atomic<int> sleepers;
};

static Team team;
static thread_local bool inside = false;  // a share of a loop

static inline void pause_cpu() {
#if defined(__x86_64__) || defined(_M_X64)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

static inline unsigned read_float_control() {
#if defined(__x86_64__) || defined(_M_X64)
  return _mm_getcsr();
#else
  return 0;
#endif
}

static inline void set_float_control(unsigned control) {
#if defined(__x86_64__) || defined(_M_X64)
  if (_mm_getcsr() != control) _mm_setcsr(control);
#else
  (void)control;
#endif
}

// ---- shares

static void run_share(const LoopSlot& slot, int share) {
  const int parts = slot.parts, shares = slot.shares;
  const int first = static_cast<int>(static_cast<int64_t>(parts) * share / shares);
  const int end = static_cast<int>(static_cast<int64_t>(parts) * (share + 1) / shares);
  for (int part = first; part < end; ++part) slot.function(slot.arg, part, parts);
}

// Claims a share for the calling thread: `wanted` if it is open, else the first open one, else -1.
static inline int claim_share(LoopSlot& slot, int wanted) {
  uint64_t open = slot.open.load(std::memory_order_relaxed);
  while (open) {
    int share = wanted;
    if (!(open >> share & 1))
      for (share = 0; !(open >> share & 1);) ++share;
    const uint64_t bit = static_cast<uint64_t>(1) << share;
    open = slot.open.fetch_and(~bit, std::memory_order_acq_rel);
    if (open & bit) return share;
  }
  return -1;
}

// ---- helpers

static inline bool has_work() {
  const int used = team.used.load(std::memory_order_acquire);
  for (int i = 0; i < used; ++i)
    if (team.slots[i].open.load(std::memory_order_seq_cst)) return true;
  return false;
}

// Runs shares, first `wanted`, until none is open.
static void help_callers(int wanted) {
  const int used = team.used.load(std::memory_order_acquire);
  for (int i = 0; i < used; ++i) {
    LoopSlot& slot = team.slots[i];
    int share;
    while ((share = claim_share(slot, wanted)) >= 0) {
      const int64_t begin = now_ns();
      set_float_control(slot.control);
      run_share(slot, share);
      slot.helped.fetch_add(now_ns() - begin, std::memory_order_relaxed);
      if (slot.left.fetch_sub(1, std::memory_order_seq_cst) == 1 &&
          slot.sleeps.load(std::memory_order_seq_cst))
        wake_sleepers(&slot.left, 1);
    }
  }
}

// Spins for work; returns false when it is time to sleep.
static bool look_for_work() {
  int64_t last = now_ns();
  if (team.spinning.is_lasting(last)) return false;
  const int64_t until = last + SPIN_NS;
  for (;;) {
    for (int i = 0; i < 16; ++i) {
      if (has_work()) return true;
      pause_cpu();
    }
    const int64_t now = now_ns();
    if (now - last > STOLEN_NS) {
      team.spinning.start_pause(now, now - last);
      return false;
    }
    if (now > until) return false;
    last = now;
  }
}

static void run_helper(int id) {
  inside = true;
  for (;;) {
    help_callers(id % MAX_SHARES);
    if (look_for_work()) continue;
    const uint32_t rung = team.bell.load();
    team.sleepers.fetch_add(1);
    if (!has_work()) sleep_while(&team.bell, rung);
    team.sleepers.fetch_sub(1);
  }
}

static bool start_helper(int id) {
  bool made = true;
#if !defined(_WIN32)
  // Helpers block signals: Python's threads handle them. Signals of faulting instructions stay
  // unblocked: blocking them would end the process; CUDA kernels on the CPU report them as errors.
  sigset_t all, before;
  sigfillset(&all);
  static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
  for (int each : own) sigdelset(&all, each);
  pthread_sigmask(SIG_SETMASK, &all, &before);
#endif
  try {
    std::thread(run_helper, id).detach();
  } catch (...) {
    made = false;
  }
#if !defined(_WIN32)
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
#endif
  return made;
}

// Starts up to `wanted` helpers; returns true if there is at least one.
static bool start_helpers(int wanted) {
  int made = team.helpers.load(std::memory_order_acquire);
  if (made >= wanted || team.making.exchange(1)) return made > 0;
  if (now_ns() >= team.retry_at.load(std::memory_order_relaxed)) {
    made = team.helpers.load();
    while (made < wanted && start_helper(made + 1)) team.helpers.store(++made);
    if (made < wanted) team.retry_at.store(now_ns() + RETRY_NS);
  }
  team.making.store(0);
  return made > 0;
}

// ---- callers

static inline bool is_team_paused() {
  return team.sharing.until.load(std::memory_order_relaxed) && team.sharing.is_lasting(now_ns());
}

// Returns a free slot, or NULL if there are as many callers as helpers: all cores have work then.
static LoopSlot* claim_slot() {
  const int helpers = team.helpers.load(std::memory_order_relaxed);
  for (int i = 1; i < MAX_SLOTS && i <= helpers; ++i) {
    LoopSlot& slot = team.slots[i];
    if (slot.taken.load(std::memory_order_relaxed) || slot.taken.exchange(1)) continue;
    int used = team.used.load(std::memory_order_relaxed);
    while (used <= i && !team.used.compare_exchange_weak(used, i + 1)) {
    }
    return &slot;
  }
  return nullptr;
}

// Waits for helpers: spins as long as the caller's own shares took, then sleeps and frees the core.
static void wait_for_shares(LoopSlot& slot, int64_t start, int64_t own) {
  int64_t spin_ns = own < WAIT_NS ? own + BRIEF_NS : WAIT_NS;
  if (team.spinning.is_lasting(start)) spin_ns = BRIEF_NS;
  uint32_t left;
  int spins = 0;
  while ((left = slot.left.load(std::memory_order_acquire)) != 0) {
    pause_cpu();
    if (++spins % 32 == 0 && now_ns() - start > spin_ns) break;
  }
  if (!left) return;
  slot.sleeps.store(1);
  while ((left = slot.left.load()) != 0) sleep_while(&slot.left, left);
  slot.sleeps.store(0);
}

// Measures the time gained by helpers. Shares are alike, so the fastest shows the time of one on a
// core of its own: the gain is the time of all shares at that pace, minus the elapsed time. A
// helper that took the caller's core gains nothing. After losses the team rests.
static void measure_gain(const LoopSlot& slot, int64_t own, int mine, int64_t now) {
  const int theirs = slot.shares - mine;
  int64_t alone = own * slot.shares / mine;
  if (theirs) {
    const int64_t helped = slot.helped.load(std::memory_order_relaxed) * slot.shares / theirs;
    if (helped < alone) alone = helped;
  }
  int64_t credit = team.credit.load(std::memory_order_relaxed) + alone - (now - slot.begin);
  if (credit > CREDIT_NS) credit = CREDIT_NS;
  if (credit < -LOSS_NS) {
    team.sharing.start_pause(now, -credit);
    credit = 0;
  }
  team.credit.store(credit, std::memory_order_relaxed);
}

static void run_alone(int parts, PartFunction function, void* arg) {
  const bool before = inside;
  inside = true;
  for (int part = 0; part < parts; ++part) function(arg, part, parts);
  inside = before;
}

static void fill_slot(LoopSlot& slot, int parts, int shares, PartFunction function, void* arg) {
  slot.parts = parts, slot.shares = shares;
  slot.function = function, slot.arg = arg;
  slot.control = read_float_control();
  slot.stood = 0;
  slot.helped.store(0, std::memory_order_relaxed);
  slot.left.store(shares, std::memory_order_relaxed);
  slot.begin = slot.woken = now_ns();
}

// Opens all shares but the first, which the caller runs, and wakes helpers.
static void open_shares(LoopSlot& slot) {
  const int shares = slot.shares;
  slot.open.store(~static_cast<uint64_t>(0) >> (MAX_SHARES - shares) & ~static_cast<uint64_t>(1));
  const int asleep = team.sleepers.load();
  if (asleep > 0) {
    team.bell.fetch_add(1);
    wake_sleepers(&team.bell, asleep < shares ? asleep : shares - 1);
    slot.woken = now_ns();
  }
}

// Called after the caller's first share: runs the unclaimed shares, and waits for the rest.
static void close_shares(LoopSlot& slot) {
  int mine = 1;
  for (int share; (share = claim_share(slot, 0)) >= 0; ++mine) run_share(slot, share);
  const int64_t done = now_ns(), own = done - slot.woken;
  if (slot.left.fetch_sub(mine, std::memory_order_acq_rel) != static_cast<uint32_t>(mine))
    wait_for_shares(slot, done, own);
  if (mine < slot.shares || slot.woken != slot.begin)
    measure_gain(slot, own - slot.stood, mine, now_ns());
}

static void run_parts(int parts, PartFunction function, void* arg) {
  const int limit = team.limit.load(std::memory_order_relaxed);
  const int shares = parts < MAX_SHARES ? parts : MAX_SHARES;
  LoopSlot* slot = nullptr;
  if (!inside && !is_team_paused() && start_helpers((shares < limit ? shares : limit) - 1))
    slot = claim_slot();
  if (!slot) return run_alone(parts, function, arg);
  fill_slot(*slot, parts, shares, function, arg);
  open_shares(*slot);
  inside = true;
  run_share(*slot, 0);
  close_shares(*slot);
  inside = false;
  slot->taken.store(0, std::memory_order_release);
}

// ---- forks: a child has no helpers, and no loop is on its way but the forking thread's own

static void forget_team() {
  for (LoopSlot& slot : team.slots) {
    slot.open.store(0);
    slot.left.store(0);
    slot.sleeps.store(0);
    slot.taken.store(0);
  }
  team.helpers.store(0);
  team.making.store(0);
  team.retry_at.store(0);
  team.sleepers.store(0);
  team.sharing.until.store(0);
  team.spinning.until.store(0);
}

static inline bool is_in_share() { return inside; }
static inline void set_thread_limit(int threads) { team.limit.store(threads); }

// True if a helper is awake and can take a share at once.
static inline bool is_team_awake() {
  return team.helpers.load(std::memory_order_relaxed) >
             team.sleepers.load(std::memory_order_relaxed) &&
         !is_team_paused();
}

}  // namespace cynet

#endif
