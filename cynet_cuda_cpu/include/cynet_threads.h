// Threads of one block as fibres: barriers, warps, and what happens when they wait for ever.
//
// A fibre runs one thread after another, and only a thread that has to wait keeps its fibre: a
// block whose threads do not meet uses one. Nothing here is used by kernels that never synchronise.
#ifndef CYNET_THREADS_H
#define CYNET_THREADS_H

#include <setjmp.h>
#include <stdarg.h>

#include "cynet_fibre.h"

namespace cynet_emulator {

enum FailureKind {  // why a launch failed
  kNone,
  kBarrierDivergence,  // threads of a block wait at different barriers, or some have left
  kDeadlock,  // no thread can go on: each waits for others
  kWarpMask,  // a thread calls a warp function with a mask it is not in
  kTrap,  // __trap()
  kAssertion,  // assert
  kOutOfBounds,  // access outside of every array
  kIndex,  // index outside of an array whose size the compiler knows
  kMemory,  // the host has no memory for stacks
  kUnseen,  // a kernel waits at a barrier, although the compiler found none in it
  kFault,  // the processor refused the instruction (cynet_faults.h)
};

struct Failure {  // error of a launch
  int32_t kind;
  int32_t line;  // line of the user's source; 0: see `caller`
  uint32_t block[3];
  uint32_t thread[3];  // the first is ~0 where it is not known which
  uint64_t caller;  // code address, relative to the object's start
  int64_t offset;  // bytes from the start of what `region` or `text` names; or the index
  int64_t size;  // bytes of the missed memory
  int32_t access;  // bytes that were read or written; of a fault: its kind
  int32_t write;  // 1: written
  int32_t argument;  // index of the kernel's argument; -1: `text` names the missed memory
  char text[244];
};

enum ThreadState { kNotBegun, kRuns, kAtBarrier, kInWarp, kLeft };  // of a Thread
enum WarpKind { kSyncWarp, kShuffle, kVote, kMatch, kSum, kLeast, kMax, kAnd, kOr, kXor };

struct Thread {  // one CUDA thread
  Fibre* fibre;
  int state;
  int line;  // source line where the thread waits
  unsigned mask;  // lanes that take part in the warp function
  int kind;  // the warp function
  int source;  // the lane to read,
  bool is_signed;  // how to compare,
  uint64_t value;  // value that the thread passes to the warp function
  uint64_t result;  // result that the warp function returns to the thread
};

static const unsigned kAllLanes = 0xffffffffu;  // mask of a whole warp
// True while the thread runs the kernel's own code. Volatile, since the checks that the compiler
// inserts at accesses read it.
static volatile __thread bool checking = false;
static inline void set_checking(bool now) {  // checks memory accesses from now on, or not
#if CYNET_CHECKED
  __asm__ volatile("" ::: "memory");
  checking = now;
  __asm__ volatile("" ::: "memory");
#else
  (void)now;
#endif
}

struct Block {  // a CUDA block that runs here
  Thread* threads;
  int* ready;  // ring of threads that may go on
  int count, next, left, waiting;
  int first, pending;  // index of the ring's first thread, and number of threads in the ring
  int yes, all_yes, any_yes, total_yes;
  Fibre* running;
  Fibre* free_fibres;
  Context home;
  void (*body)(void**);
  void** arguments;
  Failure* failure;
  bool failed;
};

static __thread Block* block = nullptr;

static inline void set_thread_index(int t) {  // sets threadIdx
  threadIdx.x = t % blockDim.x;
  threadIdx.y = t / blockDim.x % blockDim.y;
  threadIdx.z = t / blockDim.x / blockDim.y;
}

// Records the failure of thread t of the running block, which ends the launch.
__attribute__((format(printf, 5, 6))) static void note_failure(Block* b, int t, int kind, int line,
                                                               const char* format, ...) {
  set_thread_index(t);
  Failure* failure = b->failure;
  memset(failure, 0, sizeof(Failure));
  failure->kind = kind;
  failure->line = line;
  failure->argument = -1;
  failure->block[0] = blockIdx.x, failure->block[1] = blockIdx.y, failure->block[2] = blockIdx.z;
  failure->thread[0] = threadIdx.x, failure->thread[1] = threadIdx.y;
  failure->thread[2] = threadIdx.z;
  va_list values;
  va_start(values, format);
  vsnprintf(failure->text, sizeof(failure->text), format, values);
  va_end(values);
  b->failed = true;
}

// The jump target after a failure, for a kernel whose threads run in a loop.
static __thread jmp_buf* way_out = nullptr;

// Leaves a fibre, or the loop, whose launch has failed; it is never resumed.
__attribute__((noreturn)) static void stop() {
  if (!block->running) longjmp(*way_out, 1);
  set_checking(false);
  for (;;) leave_fibre(block->running, &block->home);
}

__attribute__((noreturn, noinline)) static void fail(int kind, int line, const char* text = "") {
  set_checking(false);
  const int place = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  note_failure(block, place, kind, line, "%s", text);
  stop();
}

// Suspends the running thread until it is made ready.
static void suspend_thread() {  // lets other threads run
  Fibre* self = block->running;
  leave_fibre(self, &block->home);
  set_thread_index(self->thread);
}

static inline void make_thread_ready(int t) {  // puts thread t into the ring
  block->threads[t].state = kRuns;
  int place = block->first + block->pending++;
  if (place >= block->count) place -= block->count;
  block->ready[place] = t;
}

// ----- barriers
enum { kPlain, kCount, kAndAll, kOrAny };

// Makes all threads ready, which have reached the barrier. False for divergence in the checking
// mode, which it records.
static bool release_barrier(int self) {  // wakes all threads; false: they diverged
  Block* b = block;
#if CYNET_CHECKED
  int waits = 0;
  while (b->threads[waits].state != kAtBarrier) ++waits;
  const int line = b->threads[waits].line;
  for (int t = waits; t < b->count; ++t)
    if (b->threads[t].state == kAtBarrier && b->threads[t].line != line) {
      note_failure(b, waits, kBarrierDivergence, line, "others wait at line %d",
                   b->threads[t].line);
      return false;
    }
  if (b->left) {
    note_failure(b, waits, kBarrierDivergence, line, "%d of the block's %d threads have left",
                 b->left, b->count);
    return false;
  }
#endif
  b->total_yes = b->yes;
  b->all_yes = b->yes == b->waiting;
  b->any_yes = b->yes > 0;
  b->yes = b->waiting = 0;
  for (int t = 0; t < b->count; ++t)
    if (b->threads[t].state == kAtBarrier) {
      if (t == self) b->threads[t].state = kRuns;
      else make_thread_ready(t);
    }
  return true;
}

static int barrier(int line, int kind = kPlain, int predicate = 0) {  // __syncthreads and its votes
  Block* b = block;
  set_checking(false);
  if (!b->running) fail(kUnseen, line);
  const int self = b->running->thread;
  b->threads[self].state = kAtBarrier;
  b->threads[self].line = line;
  b->yes += predicate != 0;
  if (++b->waiting + b->left < b->count) suspend_thread();
  else if (!release_barrier(self)) stop();
  const int answer = kind == kCount ? b->total_yes : kind == kAndAll ? b->all_yes : b->any_yes;
  set_checking(true);
  return answer;
}

// ----- warps
static uint64_t combine_lanes(const Thread& a, uint64_t x, uint64_t y) {  // a step of a reduction
  const bool less = a.is_signed ? static_cast<int32_t>(x) < static_cast<int32_t>(y)
                                : static_cast<uint32_t>(x) < static_cast<uint32_t>(y);
  switch (a.kind) {
    case kSum: return static_cast<uint32_t>(x + y);
    case kLeast: return less ? x : y;
    case kMax: return less ? y : x;
    case kAnd: return x & y;
    case kOr: return x | y;
    default: return x ^ y;
  }
}

// Completes a function of the warp that begins at thread `base` if all in the mask have called it.
static bool complete_warp_function(int base, unsigned mask, int kind, int self) {
  Thread* warp = block->threads + base;
  unsigned present = 0;
  for (int l = 31; l >= 0; --l) {  // the last lane mostly comes last
    if (!(mask >> l & 1) || base + l >= block->count || warp[l].state == kLeft) continue;
    if (warp[l].state != kInWarp || warp[l].mask != mask || warp[l].kind != kind) return false;
    present |= 1u << l;
  }
#if CYNET_CHECKED
  for (int l = 0; l < 32 && base + l < block->count; ++l)
    if (((mask & ~present) >> l & 1) != 0) {
      const int first = base + __builtin_ctz(present);
      note_failure(block, first, kWarpMask, block->threads[first].line,
                   "lane %d is in the mask 0x%08x and has left the kernel", l, mask);
      stop();
    }
#endif
  uint64_t together = 0;
  for (int l = 0, first = 1; l < 32; ++l) {
    if (!(present >> l & 1)) continue;
    if (kind == kVote) together |= (warp[l].value != 0 ? 1ull : 0ull) << l;
    else if (kind >= kSum)
      together = first ? warp[l].value : combine_lanes(warp[l], together, warp[l].value);
    first = 0;
  }
  for (int l = 0; l < 32; ++l) {
    if (!(present >> l & 1)) continue;
    if (kind == kShuffle) {
      const int from = warp[l].source;
      warp[l].result = present >> from & 1 ? warp[from].value : warp[l].value;
    } else if (kind == kMatch) {
      warp[l].result = 0;
      for (int m = 0; m < 32; ++m)
        if ((present >> m & 1) && warp[m].value == warp[l].value) warp[l].result |= 1ull << m;
    } else {
      warp[l].result = together;
    }
  }
  for (int l = 0; l < 32; ++l) {
    if (!(present >> l & 1)) continue;
    if (base + l == self) warp[l].state = kRuns;
    else make_thread_ready(base + l);
  }
  return true;
}

static uint64_t warp_function(int line, unsigned mask, int kind, uint64_t value, int source = 0,
                              bool is_signed = false) {
  set_checking(false);
  if (!block->running) fail(kUnseen, line);
  const int self = block->running->thread, base = self & ~31, lane = self & 31;
  if (!(mask >> lane & 1)) {
    note_failure(block, self, kWarpMask, line, "lane %d calls it with the mask 0x%08x", lane, mask);
    stop();
  }
  const int lanes = block->count - base;
  if (lanes < 32) mask &= (1u << lanes) - 1;
  Thread& own = block->threads[self];
  own.state = kInWarp;
  own.line = line, own.mask = mask, own.kind = kind, own.value = value, own.source = source;
  own.is_signed = is_signed;
  if (!complete_warp_function(base, mask, kind, self)) suspend_thread();
  const uint64_t answer = own.result;
  set_checking(true);
  return answer;
}

// Thread t has left the kernel: completes warp functions that waited only for it.
static void leave_warp_functions(int t) {  // completes those that wait for thread t
  const int base = t & ~31;
  for (int l = 0; l < 32 && base + l < block->count; ++l) {
    Thread& other = block->threads[base + l];
    if (other.state == kInWarp && (other.mask >> (t & 31) & 1))
      complete_warp_function(base, other.mask, other.kind, -1);
  }
}

// ----- running a block
// What every fibre does: the threads that have not begun, one after another.
static void fibre_main() {  // runs threads until none is left
  for (;;) {
    Block* b = block;
    Fibre* self = b->running;
    while (b->next < b->count) {
      const int t = b->next++;
      self->thread = t;
      b->threads[t].fibre = self;
      b->threads[t].state = kRuns;
      set_thread_index(t);
      b->body(b->arguments);
      b->threads[t].state = kLeft;
      ++b->left;
      leave_warp_functions(t);
    }
    self->next = b->free_fibres;
    b->free_fibres = self;
    leave_fibre(self, &b->home);
  }
}

static const char* const kWarpNames[] = {
    "__syncwarp",        "__shfl_sync",       "a vote",
    "__match_any_sync",  "__reduce_add_sync", "__reduce_min_sync",
    "__reduce_max_sync", "__reduce_and_sync", "__reduce_or_sync",
    "__reduce_xor_sync"};

static void note_deadlock(Block* b) {  // records the failure
  int t = 0;
  while (b->threads[t].state != kInWarp) ++t;
  const Thread& waits = b->threads[t];
  note_failure(b, t, kDeadlock, waits.line,
               "it waits in %s for lanes of the mask 0x%08x that never come",
               kWarpNames[waits.kind], waits.mask);
}

// The stacks that a system thread caches between launches.
enum { kMaxCachedFibres = 256 };
struct FibreCache {  // unused fibres of a system thread
  Fibre* first = nullptr;
  int count = 0;
  ~FibreCache() {
    while (first) {
      Fibre* next = first->next;
      free_fibre(first);
      first = next;
    }
  }
};
static thread_local FibreCache fibre_cache;

static Fibre* take_fibre(Block* b) {  // from a cache, or new
  Fibre* fibre = b->free_fibres;
  if (fibre) {
    b->free_fibres = fibre->next;
  } else if (fibre_cache.first) {
    fibre = fibre_cache.first;
    fibre_cache.first = fibre->next;
    --fibre_cache.count;
  } else {
    fibre = new_fibre();
    if (fibre) begin_fibre(fibre, fibre_main);
  }
  return fibre;
}

// Runs all threads of one block; false after a failure.
static bool run_block(Block* b) {  // runs all threads; false after a failure
  b->next = b->left = b->waiting = b->first = b->pending = b->yes = 0;
  for (int t = 0; t < b->count; ++t) b->threads[t].state = kNotBegun;
  for (;;) {
    Fibre* fibre;
    if (b->pending) {
      fibre = b->threads[b->ready[b->first]].fibre;
      if (++b->first == b->count) b->first = 0;
      --b->pending;
    } else if (b->next < b->count) {
      fibre = take_fibre(b);
      if (!fibre) {
        note_failure(b, b->next, kMemory, 0, "no memory for the stacks of %d threads", b->count);
        return false;
      }
    } else if (b->left == b->count) {
      return true;
    } else if (b->waiting && b->waiting + b->left == b->count) {
      if (!release_barrier(-1)) return false;
      continue;
    } else {
      note_deadlock(b);
      return false;
    }
    b->running = fibre;
    enter_fibre(&b->home, fibre);
    if (b->failed) return false;
    b->running = nullptr;
  }
}

// Allocates the blocks of `count` threads that this system thread runs in a launch.
static bool init_block(Block* b, int count, void (*body)(void**), void** arguments,
                       Failure* failure) {
  memset(b, 0, sizeof(Block));
  b->count = count;
  b->body = body;
  b->arguments = arguments;
  b->failure = failure;
  b->threads = static_cast<Thread*>(malloc(count * sizeof(Thread)));
  b->ready = static_cast<int*>(malloc(count * sizeof(int)));
  block = b;
  return b->threads && b->ready;
}

static void close_block(Block* b) {  // frees its memory and fibres
  if (b->failed) {  // fibres of threads that stopped early
    for (int t = 0; t < b->count; ++t) {
      const Thread& each = b->threads[t];
      if (each.state != kNotBegun && each.state != kLeft && each.fibre != b->running)
        free_fibre(each.fibre);
    }
    if (b->running) free_fibre(b->running);
  }
  while (b->free_fibres) {
    Fibre* fibre = b->free_fibres;
    b->free_fibres = fibre->next;
    if (fibre_cache.count < kMaxCachedFibres) {
      fibre->next = fibre_cache.first;
      fibre_cache.first = fibre;
      ++fibre_cache.count;
    } else {
      free_fibre(fibre);
    }
  }
  free(b->threads);
  free(b->ready);
  block = nullptr;
}

// ----- what device code calls
__attribute__((noreturn)) static void assertion_failed(const char* text, int line) {
  fail(kAssertion, line, text);
}

template <typename T>
static inline uint64_t to_word(T value) {  // the value's bytes in a 64-bit word
  static_assert(sizeof(T) <= 8, "a warp function moves values of at most 8 bytes");
  uint64_t word = 0;
  memcpy(&word, &value, sizeof(T));
  return word;
}
template <typename T>
static inline T from_word(uint64_t word) {  // the opposite of to_word
  T value;
  memcpy(&value, &word, sizeof(T));
  return value;
}

static inline int lane_index() {  // of the running thread in its warp
  return static_cast<int>((threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) &
                          31);
}

template <typename T>
static inline T shuffle(int line, unsigned mask, T value, int source, int width = 32) {
  const int own = lane_index();
  return from_word<T>(warp_function(line, mask, kShuffle, to_word(value),
                                    (own & ~(width - 1)) + (source & (width - 1))));
}
template <typename T>
static inline T shuffle_up(int line, unsigned mask, T value, unsigned delta, int width = 32) {
  const int own = lane_index(), within = own & (width - 1);
  const int source = within < static_cast<int>(delta) ? own : own - static_cast<int>(delta);
  return from_word<T>(warp_function(line, mask, kShuffle, to_word(value), source));
}
template <typename T>
static inline T shuffle_down(int line, unsigned mask, T value, unsigned delta, int width = 32) {
  const int own = lane_index(), within = own & (width - 1);
  const bool inside = delta < static_cast<unsigned>(width - within);
  const int source = inside ? own + static_cast<int>(delta) : own;
  return from_word<T>(warp_function(line, mask, kShuffle, to_word(value), source));
}
template <typename T>
static inline T shuffle_xor(int line, unsigned mask, T value, int flip, int width = 32) {
  const int own = lane_index(), other = (own ^ flip) & 31;
  const bool beyond = (other & ~(width - 1)) > (own & ~(width - 1));
  return from_word<T>(warp_function(line, mask, kShuffle, to_word(value), beyond ? own : other));
}

static inline unsigned ballot(int line, unsigned mask, int predicate) {  // __ballot_sync
  return static_cast<unsigned>(warp_function(line, mask, kVote, predicate != 0));
}
static inline int any(int line, unsigned mask, int predicate) {  // __any_sync
  return ballot(line, mask, predicate) != 0;
}
static inline int all(int line, unsigned mask, int predicate) {  // __all_sync
  return ballot(line, mask, !predicate) == 0;
}
template <typename T>
static inline unsigned match_any(int line, unsigned mask, T value) {  // __match_any_sync
  return static_cast<unsigned>(warp_function(line, mask, kMatch, to_word(value)));
}
static inline unsigned reduce(int line, int kind, unsigned mask, unsigned value) {
  return static_cast<unsigned>(warp_function(line, mask, kind, value));
}
static inline int reduce(int line, int kind, unsigned mask, int value) {  // __reduce_*_sync
  return static_cast<int>(warp_function(line, mask, kind, static_cast<uint32_t>(value), 0, true));
}
static inline void sync_warp(int line, unsigned mask = kAllLanes) {  // __syncwarp
  warp_function(line, mask, kSyncWarp, 0);
}

// Lanes of the warp that have not left the kernel.
static inline unsigned active_mask(int line) {  // __activemask: lanes that call it
  set_checking(false);
  if (!block->running) fail(kUnseen, line);
  const int self = block->running->thread, base = self & ~31;
  unsigned mask = 0;
  for (int l = 0; l < 32 && base + l < block->count; ++l)
    if (block->threads[base + l].state != kLeft) mask |= 1u << l;
  set_checking(true);
  return mask;
}

}  // namespace cynet_emulator

#define __syncthreads() ((void)::cynet_emulator::barrier(__LINE__))
#define __syncthreads_count(p) \
  ::cynet_emulator::barrier(__LINE__, ::cynet_emulator::kCount, static_cast<bool>(p))
#define __syncthreads_and(p) \
  ::cynet_emulator::barrier(__LINE__, ::cynet_emulator::kAndAll, static_cast<bool>(p))
#define __syncthreads_or(p) \
  ::cynet_emulator::barrier(__LINE__, ::cynet_emulator::kOrAny, static_cast<bool>(p))
#define __syncwarp(...) ::cynet_emulator::sync_warp(__LINE__, ##__VA_ARGS__)
#define __shfl_sync(...) ::cynet_emulator::shuffle(__LINE__, __VA_ARGS__)
#define __shfl_up_sync(...) ::cynet_emulator::shuffle_up(__LINE__, __VA_ARGS__)
#define __shfl_down_sync(...) ::cynet_emulator::shuffle_down(__LINE__, __VA_ARGS__)
#define __shfl_xor_sync(...) ::cynet_emulator::shuffle_xor(__LINE__, __VA_ARGS__)
#define __ballot_sync(...) ::cynet_emulator::ballot(__LINE__, __VA_ARGS__)
#define __any_sync(...) ::cynet_emulator::any(__LINE__, __VA_ARGS__)
#define __all_sync(...) ::cynet_emulator::all(__LINE__, __VA_ARGS__)
#define __match_any_sync(...) ::cynet_emulator::match_any(__LINE__, __VA_ARGS__)
#define CYNET_WARP_REDUCE(kind, ...) ::cynet_emulator::reduce(__LINE__, kind, __VA_ARGS__)
#define __reduce_add_sync(...) CYNET_WARP_REDUCE(::cynet_emulator::kSum, __VA_ARGS__)
#define __reduce_min_sync(...) CYNET_WARP_REDUCE(::cynet_emulator::kLeast, __VA_ARGS__)
#define __reduce_max_sync(...) CYNET_WARP_REDUCE(::cynet_emulator::kMax, __VA_ARGS__)
#define __reduce_and_sync(...) CYNET_WARP_REDUCE(::cynet_emulator::kAnd, __VA_ARGS__)
#define __reduce_or_sync(...) CYNET_WARP_REDUCE(::cynet_emulator::kOr, __VA_ARGS__)
#define __reduce_xor_sync(...) CYNET_WARP_REDUCE(::cynet_emulator::kXor, __VA_ARGS__)
#define __activemask() ::cynet_emulator::active_mask(__LINE__)
#define __trap() ::cynet_emulator::fail(::cynet_emulator::kTrap, __LINE__)
#include <assert.h>

static inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
static inline void __threadfence_block() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
static inline void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

#endif
