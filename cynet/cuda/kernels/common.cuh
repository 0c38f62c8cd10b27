// Shared code of the project's kernels: loops over elements, float arithmetic for narrow types,
// write or add requests, block sums. nvcc and the emulator compile the same text.
#ifndef CYNET_COMMON_CUH
#define CYNET_COMMON_CUH

#include <stdint.h>

#include <type_traits>

#include "common/bfloat16.h"
#include "elementwise/functors.h"

typedef long long Index;

// Every element i of first .. n - 1, spread over all threads of the grid.
#define CYNET_FOR_FROM(i, first, n)                                                            \
  for (Index i = (first) + static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x; i < (n); \
       i += static_cast<Index>(gridDim.x) * blockDim.x)
#define CYNET_FOR(i, n) CYNET_FOR_FROM(i, 0, n)  // each i below n, spread over all threads

// Returns i % n and sets i to i / n: in 32 bits where both fit, since a GPU divides those faster.
__device__ inline Index divide_index(Index* i, Index n) {  // returns *i % n; *i becomes *i / n
  if (((*i | n) >> 32) == 0) {
    const unsigned a = static_cast<unsigned>(*i), b = static_cast<unsigned>(n), q = a / b;
    *i = q;
    return a - q * b;
  }
  const Index q = *i / n, rest = *i - q * n;
  *i = q;
  return rest;
}

// The type of the arithmetic: float for narrow floats, the element's own type otherwise.
template <typename T>
struct OpMathType {  // the type in which T is computed
  typedef T type;
};
template <>
struct OpMathType<cynet::half> {  // float16 is computed in float
  typedef float type;
};
template <>
struct OpMathType<cynet::bfloat16> {  // bfloat16 is computed in float
  typedef float type;
};
template <typename T>
using opmath_t = typename OpMathType<T>::type;

// Convert an element to the type of the arithmetic and back. A GPU has an instruction for float16;
// the CPU's code (half.h) needs a dozen.
template <typename T>
__device__ inline opmath_t<T> widen(T x) {  // to the type of the arithmetic
#if defined(__CUDACC__)
  if constexpr (std::is_same<T, cynet::half>::value) {
    float wide;
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(x.bits));
    return wide;
  } else
#endif
    return static_cast<opmath_t<T>>(x);
}
template <typename T, typename V>
__device__ inline T narrow(V value) {  // back from the type of the arithmetic
#if defined(__CUDACC__)
  if constexpr (std::is_same<T, cynet::half>::value) {
    T x;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(x.bits) : "f"(static_cast<float>(value)));
    return x;
  } else
#endif
    return static_cast<T>(value);
}

template <typename T>
__device__ inline opmath_t<T> load(const T* x, Index i) {  // x[i], in the type of the arithmetic
  return widen(x[i]);
}

// The request of an output: overwrite, or add.
template <typename T, typename V>
__device__ inline void store(T* out, Index i, V value, int add) {  // writes or adds to out[i]
  if (add) out[i] = narrow<T>(cynet::sum_of(static_cast<V>(load(out, i)), value));
  else out[i] = narrow<T>(value);
}

// Neighbouring elements that a thread reads or writes at once, at most 16 bytes: with one element a
// thread too few bytes are in flight to keep the memory of a large GPU busy.
template <typename T>
struct alignas(sizeof(T) <= 4 ? 4 * sizeof(T) : 16) Pack {  // elements that a thread reads at once
  static constexpr int N = sizeof(T) <= 4 ? 4 : 16 / sizeof(T);
  T at[N];
};

template <typename T>
__device__ inline bool is_aligned(const T* x) {  // whether packs can be read
  return reinterpret_cast<uintptr_t>(x) % sizeof(Pack<T>) == 0;
}
// The i-th pack of x; with `stride` 0 a pack of copies of x[0].
template <typename T>
__device__ inline Pack<T> load_pack(const T* x, Index i, int stride = 1) {
  if (stride) return reinterpret_cast<const Pack<T>*>(x)[i];
  Pack<T> same;
  for (int k = 0; k < Pack<T>::N; ++k) same.at[k] = x[0];
  return same;
}
template <typename T>
__device__ inline Pack<T>& pack_of(T* out, Index i) {  // the i-th pack of `out`
  return reinterpret_cast<Pack<T>*>(out)[i];
}

// Keeps the following loop, which most threads run once, from being unrolled.
#if defined(__CUDACC__)
#define CYNET_NO_UNROLL _Pragma("unroll 1")
#else
#define CYNET_NO_UNROLL
#endif

// Atomic out[i] += value: several threads may have the same i. Types without an atomic addition
// compare and exchange the word they lie in.
__device__ inline void add_at(float* out, Index i, float value) { atomicAdd(out + i, value); }
__device__ inline void add_at(double* out, Index i, double value) { atomicAdd(out + i, value); }
__device__ inline void add_at(int* out, Index i, int value) { atomicAdd(out + i, value); }
__device__ inline void add_at(long long* out, Index i, long long value) {  // atomic out[i] += value
  typedef unsigned long long Word;
  atomicAdd(reinterpret_cast<Word*>(out + i), static_cast<Word>(value));
}
template <typename T>
__device__ inline void add_at(T* out, Index i, T value) {  // atomic out[i] += value
  const uintptr_t address = reinterpret_cast<uintptr_t>(out + i);
  unsigned* word = reinterpret_cast<unsigned*>(address & ~static_cast<uintptr_t>(3));
  const int shift = static_cast<int>(address & 3) * 8;
  const unsigned mask = (sizeof(T) == 1 ? 0xffu : 0xffffu) << shift;
  unsigned old = *word, before;
  do {
    before = old;
    T here;
    const unsigned own = (before & mask) >> shift;
    memcpy(&here, &own, sizeof(T));
    here = static_cast<T>(
        cynet::sum_of(static_cast<opmath_t<T>>(here), static_cast<opmath_t<T>>(value)));
    unsigned bits = 0;
    memcpy(&bits, &here, sizeof(T));
    old = atomicCAS(word, before, (before & ~mask) | (bits << shift));
  } while (old != before);
}

// `step(a, b)` folds b into a, over all threads of a block; the result is valid in thread 0. A
// block has at most 1024 threads, a multiple of 32.
template <typename T, class Step>
__device__ T fold_block(T value, T neutral, Step step) {  // the result is in thread 0
  __shared__ T partial[32];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  for (int d = 16; d > 0; d /= 2) step(value, __shfl_down_sync(0xffffffffu, value, d));
  __syncthreads();  // all threads have read `partial`
  if (lane == 0) partial[warp] = value;
  __syncthreads();
  if (warp == 0) {
    value = lane < static_cast<int>(blockDim.x >> 5) ? partial[lane] : neutral;
    for (int d = 16; d > 0; d /= 2) step(value, __shfl_down_sync(0xffffffffu, value, d));
  }
  return value;
}

// fold_block, with the result in all threads of the block.
template <typename T, class Step>
__device__ T fold_block_for_all(T value, T neutral, Step step) {  // all threads get the result
  __shared__ T result;
  value = fold_block(value, neutral, step);
  if (threadIdx.x == 0) result = value;
  __syncthreads();
  value = result;
  __syncthreads();
  return value;
}

struct Plus {  // step of fold_block: sum
  template <typename T>
  __device__ void operator()(T& a, T b) const {
    a += b;
  }
};
struct Larger {  // step of fold_block: maximum
  template <typename T>
  __device__ void operator()(T& a, T b) const {
    a = b > a ? b : a;
  }
};

#endif
