// Reads and writes rows of arrays by index.
#ifndef CYNET_MOVEMENT_ROWS_H
#define CYNET_MOVEMENT_ROWS_H

#include <cstring>

#include "common/emit.h"
#include "kernel.h"

namespace cynet {

// Converts numbers of any dtype to indices, by truncation. With `saturate`, numbers beyond 64 bits
// become the smallest or largest index and NaN the smallest; else all of them the smallest.
template <bool SATURATE>
struct ReadIndices {  // converts indices to int64
  template <typename T>
  static void run(int threads, const void* numbers_, int64_t* index, int64_t n) {  // converts n
    const T* numbers = static_cast<const T*>(numbers_);
    parallel_for(threads, n, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const compute_t<T> number = static_cast<compute_t<T>>(numbers[i]);
        if constexpr (SATURATE) index[i] = saturate<int64_t>(number, INT64_MIN);
        else index[i] = convert_one<int64_t>(number);
      }
    });
  }
};

template <bool saturate = true>
inline int64_t* read_indices(const Args& args, const Blob& index) {
  int64_t* values = static_cast<int64_t*>(args.space);
  call_for_dtype<ReadIndices<saturate>>(index.dtype, args.threads_of(index.size), index.data,
                                        values, index.size);
  return values;
}

// Sets an output to zero for a write request, before values are added to it.
template <typename T>
inline void clear_output(const Args& args, int i) {
  if (!args.add[i]) std::memset(args.out[i]->data, 0, args.out[i]->size * sizeof(T));
}

template <typename T, bool add>
CYNET_NOINLINE void scatter_elements(const T* src, const int64_t* index, int64_t m, T* dst) {
  for (int64_t j = 0; j < m; ++j) emit(dst[index[j]], static_cast<compute_t<T>>(src[j]), add);
}

template <typename T>
CYNET_NOINLINE void gather_elements(const T* src, const int64_t* index, int64_t n, T* dst) {
  for (int64_t r = 0; r < n; ++r) dst[r] = src[index[r]];
}

// dst[o, j, :] (+)= src[o, index[j], :] of shapes (outer, m, inner) and (outer, n, inner)
template <typename T>
inline void gather(const Args& args, int64_t outer, int64_t n, int64_t inner, int64_t m,
                   const int64_t* index, const T* src, T* dst) {
  const bool add = args.add[0];
  parallel_for(args.threads_of(outer * m * inner), outer * m, [=](int64_t begin, int64_t end) {
    if (inner == 1 && outer == 1 && !add) {
      gather_elements(src, index + begin, end - begin, dst + begin);
      return;
    }
    for (int64_t r = begin; r < end; ++r) {
      const T* from = src + (r / m * n + index[r % m]) * inner;
      T* to = dst + r * inner;
      if (!add) {
        std::memcpy(to, from, static_cast<size_t>(inner) * sizeof(T));
      } else {
        for (int64_t i = 0; i < inner; ++i) emit(to[i], static_cast<compute_t<T>>(from[i]), true);
      }
    }
  });
}

// dst[o, index[j], :] = src[o, j, :], or += with `add`; j in order, so that the last of equal
// indices wins. Threads part the inner axis (or the outer one), never the indices.
template <typename T>
inline void scatter(const Args& args, bool add, int64_t outer, int64_t n, int64_t inner, int64_t m,
                    const int64_t* index, const T* src, T* dst) {
  if (outer == 1 && inner == 1) {
    if (add) scatter_elements<T, true>(src, index, m, dst);
    else scatter_elements<T, false>(src, index, m, dst);
    return;
  }
  const int threads = args.threads_of(outer * m * inner);
  auto part = [=](int64_t o, int64_t first, int64_t last) {
    for (int64_t j = 0; j < m; ++j) {
      const T* from = src + (o * m + j) * inner;
      T* to = dst + (o * n + index[j]) * inner;
      for (int64_t i = first; i < last; ++i) emit(to[i], static_cast<compute_t<T>>(from[i]), add);
    }
  };
  if (outer >= threads) {
    parallel_for(threads, outer, [=](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) part(o, 0, inner);
    });
  } else {
    for (int64_t o = 0; o < outer; ++o)
      parallel_for(inner >= 64 ? threads : 1, inner,
                   [=](int64_t begin, int64_t end) { part(o, begin, end); });
  }
}

}  // namespace cynet

#endif
