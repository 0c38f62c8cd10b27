// Khatri-Rao products: columns of the product are Kronecker products of the factors' columns.
#ifndef CYNET_KHATRI_RAO_H
#define CYNET_KHATRI_RAO_H

#include <cstdint>

#include "parallel.h"

namespace cynet {

enum { MOST_FACTORS = 64 };

struct KhatriRao {
  int count;
  int64_t rows[MOST_FACTORS], columns, product;  // rows of each factor and of the product
};

// out (product, columns) (+)= the product of the factors (rows[i], columns)
template <typename T>
inline void khatri_rao_forward(const KhatriRao& k, int threads, const T* const* factors, T* out,
                               bool add) {
  parallel_for(threads, k.product, [=, &k](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const T* lines[MOST_FACTORS];
      int64_t at = row;
      for (int i = k.count - 1; i >= 0; --i) {
        lines[i] = factors[i] + at % k.rows[i] * k.columns;
        at /= k.rows[i];
      }
      T* to = out + row * k.columns;
      for (int64_t c = 0; c < k.columns; ++c) {
        T value = lines[0][c];
        for (int i = 1; i < k.count; ++i) value *= lines[i][c];
        to[c] = add ? to[c] + value : value;
      }
    }
  });
}

// dx (rows[which], columns) (+)= sums over the product's rows that have a row of the factor
template <typename T>
inline void khatri_rao_backward(const KhatriRao& k, int threads, int which, const T* grad,
                                const T* const* factors, T* dx, bool add) {
  int64_t inner = 1;
  for (int i = which + 1; i < k.count; ++i) inner *= k.rows[i];
  parallel_for(threads, k.rows[which], [=, &k](int64_t begin, int64_t end) {
    const int64_t own = k.rows[which], others = k.product / own;
    for (int64_t r = begin; r < end; ++r) {
      T* to = dx + r * k.columns;
      if (!add)
        for (int64_t c = 0; c < k.columns; ++c) to[c] = 0;
      for (int64_t other = 0; other < others; ++other) {
        const int64_t row = (other / inner * own + r) * inner + other % inner;
        const T *lines[MOST_FACTORS], *g = grad + row * k.columns;
        int64_t at = row;
        for (int i = k.count - 1; i >= 0; --i) {
          lines[i] = factors[i] + at % k.rows[i] * k.columns;
          at /= k.rows[i];
        }
        for (int64_t c = 0; c < k.columns; ++c) {
          T value = g[c];
          for (int i = 0; i < k.count; ++i)
            if (i != which) value *= lines[i][c];
          to[c] += value;
        }
      }
    }
  });
}

}  // namespace cynet

#endif
