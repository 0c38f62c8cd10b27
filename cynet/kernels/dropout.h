// Dropout: masks drawn from a Philox stream, and their application.
#ifndef CYNET_DROPOUT_H
#define CYNET_DROPOUT_H

#include <cstdint>

#include "parallel.h"
#include "philox.h"

namespace cynet {

// to[i] = give(whether element i behind block `first` of the stream is at least p)
template <typename T, class Give>
inline void dropout_draw(uint64_t seed, uint64_t stream, int64_t first, double p, T* to, int64_t n,
                         int threads, const Give& give) {
  const Philox random(seed, stream);
  const float limit = static_cast<float>(p);
  parallel_for(threads, (n + 3) / 4, [=](int64_t begin, int64_t end) {
    uint32_t words[4];
    for (int64_t block = begin; block < end; ++block) {
      random.block(static_cast<uint64_t>(first + block), words);
      const int64_t last = n - block * 4 < 4 ? n - block * 4 : 4;
      for (int64_t k = 0; k < last; ++k) to[block * 4 + k] = give(unit_float(words[k]) >= limit);
    }
  });
}

inline void dropout_mask(uint64_t seed, uint64_t stream, double p, bool* keep, int64_t n,
                         int threads) {
  dropout_draw(seed, stream, 0, p, keep, n, threads, [](bool kept) { return kept; });
}

// What elements are to be multiplied by: 0, or 1 / (1 - p). `first` is a block of four words.
template <typename T>
void dropout_factors(uint64_t seed, uint64_t stream, int64_t first, double p, T* factor, int64_t n,
                     int threads) {
  const T scale = p < 1 ? static_cast<T>(1 / (1 - p)) : T(0);
  dropout_draw(seed, stream, first, p, factor, n, threads,
               [scale](bool kept) { return kept ? scale : T(0); });
}

// y = x * scale where keep, else 0; or added
template <typename T>
void dropout_apply(const T* x, const bool* keep, T scale, T* y, int64_t n, bool add, int threads) {
  parallel_for(threads, n, [=](int64_t begin, int64_t end) {
    if (add) {
      for (int64_t i = begin; i < end; ++i) y[i] += keep[i] ? x[i] * scale : T(0);
    } else {
      for (int64_t i = begin; i < end; ++i) y[i] = keep[i] ? x[i] * scale : T(0);
    }
  });
}

// The same where the mask repeats: its stride is 0 along the axes it lacks.
template <typename T>
void dropout_spread(const T* x, const bool* keep, T scale, T* y, int ndim, const int64_t* shape,
                    const int64_t* stride, bool add) {
  int64_t at[8] = {0}, n = 1, k = 0;
  for (int axis = 0; axis < ndim; ++axis) n *= shape[axis];
  for (int64_t i = 0; i < n; ++i) {
    const T value = keep[k] ? x[i] * scale : T(0);
    y[i] = add ? y[i] + value : value;
    for (int axis = ndim - 1; axis >= 0; --axis) {
      k += stride[axis];
      if (++at[axis] < shape[axis]) break;
      k -= stride[axis] * shape[axis];
      at[axis] = 0;
    }
  }
}

}  // namespace cynet

#endif
