// Dropout: masks drawn from a Philox stream, and their application.
#ifndef CYNET_DROPOUT_H
#define CYNET_DROPOUT_H

#include <cstdint>

#include "parallel.h"
#include "philox.h"

namespace cynet {

// keep[i] = element i of the stream is at least p
inline void dropout_mask(uint64_t seed, uint64_t stream, double p, bool* keep, int64_t n,
                         int threads) {
  const Philox random(seed, stream);
  const float limit = static_cast<float>(p);
  parallel_for(threads, (n + 3) / 4, [=](int64_t begin, int64_t end) {
    uint32_t words[4];
    for (int64_t block = begin; block < end; ++block) {
      random.block(static_cast<uint64_t>(block), words);
      const int64_t last = n - block * 4 < 4 ? n - block * 4 : 4;
      for (int64_t k = 0; k < last; ++k) keep[block * 4 + k] = unit_float(words[k]) >= limit;
    }
  });
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
