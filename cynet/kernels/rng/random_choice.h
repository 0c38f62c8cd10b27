// Random orders and draws from tables of probabilities (CPU).
#ifndef CYNET_RANDOM_CHOICE_H
#define CYNET_RANDOM_CHOICE_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "parallel.h"
#include "rng/philox.h"

namespace cynet {

// A permutation of 0 .. n - 1 (Fisher and Yates, one thread: each exchange needs the one before).
inline void fill_permutation(uint64_t seed, uint64_t stream, int64_t* out, int64_t n) {
  const Philox key(seed, stream);
  for (int64_t i = 0; i < n; ++i) out[i] = i;
  for (int64_t i = n - 1; i > 0; --i) {
    uint32_t w[4];
    key.block((uint64_t)i, w);
    std::swap(out[i], out[(int64_t)integer_below(w[0], w[1], (uint64_t)i + 1)]);
  }
}

// Copies row order[i] of `in` to row i of `out`; rows have `bytes` bytes.
inline void gather_rows(const char* in, char* out, const int64_t* order, int64_t n, int64_t bytes,
                        int threads) {
  parallel_for(threads, n, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) memcpy(out + i * bytes, in + order[i] * bytes, bytes);
  });
}

// Computes running sums of each row; returns the first row with invalid weights (negative, not
// finite, or all zero), or -1.
template <typename T>
inline int64_t compute_running_sums(const T* weights, double* sums, int64_t rows, int64_t k) {
  for (int64_t r = 0; r < rows; ++r) {
    double sum = 0;
    for (int64_t j = 0; j < k; ++j) {
      const double w = static_cast<double>(weights[r * k + j]);
      if (!(w >= 0)) return r;
      sums[r * k + j] = sum += w;
    }
    if (!(sum > 0) || std::isinf(sum)) return r;
  }
  return -1;
}

// choices[i] = the index of the entry that uniform number i selects; `each` draws from every row.
inline void draw_choice(uint64_t seed, uint64_t stream, const double* sums, int64_t rows, int64_t k,
                        int64_t each, int64_t* choices, int threads) {
  const Philox key(seed, stream);
  parallel_for(threads, rows * each, [=, &key](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const double* row = sums + (i / each) * k;
      uint32_t w[4];
      key.block((uint64_t)i, w);
      const double at = unit_double(w[0], w[1]) * row[k - 1];
      int64_t found = std::upper_bound(row, row + k, at) - row;
      if (found == k)  // rounding error went past the end
        found = std::lower_bound(row, row + k, row[k - 1]) - row;
      choices[i] = found;
    }
  });
}

}  // namespace cynet

#endif
