// Atomic functions, for global and shared memory, as CUDA defines them; each returns the old value
// of the memory.
#ifndef CYNET_ATOMICS_H
#define CYNET_ATOMICS_H

namespace cynet_emulator {

template <size_t size>
struct WordOfSize;
template <>
struct WordOfSize<2> {  // integer of 2 bytes
  typedef uint16_t type;
};
template <>
struct WordOfSize<4> {  // integer of 4 bytes
  typedef uint32_t type;
};
template <>
struct WordOfSize<8> {  // integer of 8 bytes
  typedef uint64_t type;
};

// *p = change(*p) in one step.
template <typename T, typename Change>
__attribute__((always_inline)) inline T atomic_change(T* p, Change change) {
  typedef typename WordOfSize<sizeof(T)>::type W;
  W* word = reinterpret_cast<W*>(p);
  W before = __atomic_load_n(word, __ATOMIC_RELAXED), after;
  T value;
  do {
    memcpy(&value, &before, sizeof(T));
    const T next = change(value);
    memcpy(&after, &next, sizeof(T));
  } while (!__atomic_compare_exchange_n(word, &before, after, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED));
  return value;
}

}  // namespace cynet_emulator

#define CYNET_DEFINE_ATOMIC(T, name, expression)                                   \
  __attribute__((always_inline)) static inline T name(T* p, T v) {                 \
    return cynet_emulator::atomic_change(p, [=](T x) -> T { return expression; }); \
  }
// Each has the types that CUDA has, so that code that compiles here compiles for a GPU.
#define CYNET_4_INTEGERS(M) M(int) M(unsigned) M(long long) M(unsigned long long)  // applies M
#define CYNET_3_INTEGERS(M) M(int) M(unsigned) M(unsigned long long)  // applies M to types
#define CYNET_2_INTEGERS(M) M(int) M(unsigned)  // applies M to types

#define CYNET_ATOMIC_ADD(T) CYNET_DEFINE_ATOMIC(T, atomicAdd, x + v)
CYNET_3_INTEGERS(CYNET_ATOMIC_ADD)
CYNET_ATOMIC_ADD(float)
CYNET_ATOMIC_ADD(double)
CYNET_ATOMIC_ADD(__half)
CYNET_ATOMIC_ADD(__nv_bfloat16)
#define CYNET_ATOMIC_SUB(T) CYNET_DEFINE_ATOMIC(T, atomicSub, x - v)
CYNET_2_INTEGERS(CYNET_ATOMIC_SUB)
#define CYNET_ATOMIC_EXCH(T) CYNET_DEFINE_ATOMIC(T, atomicExch, ((void)x, v))
CYNET_3_INTEGERS(CYNET_ATOMIC_EXCH)
CYNET_ATOMIC_EXCH(float)
#define CYNET_ATOMIC_MIN_MAX(T)                    \
  CYNET_DEFINE_ATOMIC(T, atomicMin, v < x ? v : x) \
  CYNET_DEFINE_ATOMIC(T, atomicMax, v > x ? v : x)
CYNET_4_INTEGERS(CYNET_ATOMIC_MIN_MAX)
#define CYNET_ATOMIC_BITS(T)              \
  CYNET_DEFINE_ATOMIC(T, atomicAnd, x& v) \
  CYNET_DEFINE_ATOMIC(T, atomicOr, x | v) \
  CYNET_DEFINE_ATOMIC(T, atomicXor, x ^ v)
CYNET_3_INTEGERS(CYNET_ATOMIC_BITS)
#define CYNET_ATOMIC_CAS(T)                                                                  \
  __attribute__((always_inline)) static inline T atomicCAS(T* p, T compare, T v) {           \
    return cynet_emulator::atomic_change(p, [=](T x) -> T { return x == compare ? v : x; }); \
  }
CYNET_3_INTEGERS(CYNET_ATOMIC_CAS)
CYNET_ATOMIC_CAS(unsigned short)
CYNET_DEFINE_ATOMIC(unsigned, atomicInc, x >= v ? 0u : x + 1)
CYNET_DEFINE_ATOMIC(unsigned, atomicDec, x == 0 || x > v ? v : x - 1)
#undef CYNET_DEFINE_ATOMIC
#undef CYNET_4_INTEGERS
#undef CYNET_3_INTEGERS
#undef CYNET_2_INTEGERS
#undef CYNET_ATOMIC_ADD
#undef CYNET_ATOMIC_SUB
#undef CYNET_ATOMIC_EXCH
#undef CYNET_ATOMIC_MIN_MAX
#undef CYNET_ATOMIC_BITS
#undef CYNET_ATOMIC_CAS

// Atomics of a block and of the system are the same on one device: all threads that can see the
// memory are in one process.
#define atomicAdd_block atomicAdd
#define atomicAdd_system atomicAdd
#define atomicCAS_block atomicCAS
#define atomicCAS_system atomicCAS

#endif
