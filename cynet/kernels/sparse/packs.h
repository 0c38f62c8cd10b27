// N columns of a row in vector registers, for the loops of sparse products.
#ifndef CYNET_SPARSE_PACKS_H
#define CYNET_SPARSE_PACKS_H

#include <type_traits>

#include "common/half.h"

namespace cynet {

// Accumulates N sums of products; vectors have BYTES bytes.
template <typename T, int N, int BYTES, typename = void>
struct RegisterSums {  // N sums in registers
  T at[N] = {};
  CYNET_XINLINE void add_product(T value, const T* row) {
    for (int j = 0; j < N; ++j) at[j] += value * row[j];
  }
  CYNET_XINLINE void store(T* out) const {
    for (int j = 0; j < N; ++j) out[j] = at[j];
  }
};

#if defined(__GNUC__)
template <typename T, int BYTES>
struct PackVector {  // a vector of BYTES bytes
  typedef T type __attribute__((vector_size(BYTES), may_alias));
  typedef T loose __attribute__((vector_size(BYTES), aligned(alignof(T)), may_alias));
};

template <typename T, int N, int BYTES>
struct RegisterSums<T, N, BYTES, typename std::enable_if<N * sizeof(T) % BYTES == 0>::type> {
  typedef typename PackVector<T, BYTES>::type Vector;
  typedef typename PackVector<T, BYTES>::loose Loose;
  enum { EACH = BYTES / sizeof(T) };
  Vector at[N / EACH] = {};
  CYNET_XINLINE void add_product(T value, const T* row) {
    for (int v = 0; v < N / EACH; ++v)
      at[v] += value * *reinterpret_cast<const Loose*>(row + v * EACH);
  }
  CYNET_XINLINE void store(T* out) const {
    for (int v = 0; v < N / EACH; ++v) *reinterpret_cast<Loose*>(out + v * EACH) = at[v];
  }
};
#endif

// Prefetches the cache lines of a row.
template <int BYTES>
CYNET_XINLINE void prefetch(const void* row) {
#if defined(__GNUC__)
  for (int at = 0; at < BYTES; at += 64) __builtin_prefetch(static_cast<const char*>(row) + at);
#endif
}

}  // namespace cynet

#endif
