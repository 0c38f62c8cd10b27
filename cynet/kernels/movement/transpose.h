// Transposes matrices of floats in memory.
#ifndef CYNET_SWAP_H
#define CYNET_SWAP_H

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "common/half.h"
#include "isa/levels.h"
#include "parallel.h"

#ifdef CYNET_X86_LEVELS
#include <immintrin.h>
#endif

namespace cynet {

// to[j * to_step + i] (+)= from[i * from_step + j] for i < rows, j < columns.
struct Transposition {
  int64_t rows, columns, from_step, to_step;
  bool add;
};

}  // namespace cynet

#define CYNET_PER_ISA_FILE "isa/simd.h"
#include "isa/for_each_isa.h"
#define CYNET_PER_ISA_FILE "isa/simd_transpose.h"
#include "isa/for_each_isa.h"
#define CYNET_PER_ISA_FILE "movement/transpose_loops.h"
#include "isa/for_each_isa.h"

namespace cynet {

// Transposes `count` matrices; place(k, &from, &to) returns the offsets of the k-th.
template <typename Place>
inline void transpose_matrices(int level, const Transposition& s, int64_t count, int threads,
                               const Place& place) {
  constexpr int64_t ROWS = 1024, COLUMNS = 64;  // rows and columns of a unit of work
  static constexpr decltype(&baseline::transpose_part) table[] = CYNET_AT_LEVELS(transpose_part);
  const int64_t down = (s.rows + ROWS - 1) / ROWS, across = (s.columns + COLUMNS - 1) / COLUMNS;
  parallel_for(threads, count * down * across, [&](int64_t begin, int64_t end) {
    for (int64_t work = begin; work < end; ++work) {
      const int64_t i = work / across % down * ROWS, j = work % across * COLUMNS;
      const float* from;
      float* to;
      place(work / across / down, &from, &to);
      table[level](s, from, to, i, std::min(i + ROWS, s.rows), j, std::min(j + COLUMNS, s.columns));
    }
  });
}

// dst (+)= src, strided views of floats without axes of length 1 or that could be joined, if it is
// a transposition: both views have an axis of stride 1, but not the same one. Else it returns false
// and does nothing.
inline bool try_transpose(int level, int ndim, const int64_t* shape, const int64_t* dst_stride,
                          const int64_t* src_stride, float* dst, const float* src, bool add,
                          int threads) {
  constexpr int64_t MAX_SINGLE_LINES = 4;  // up to so many lines, single copies are as fast
  constexpr int AXES = 16;
  int row = -1, column = -1, others[AXES], n = 0;
  int64_t count = 1;
  for (int i = 0; i < ndim; ++i) {
    if (dst_stride[i] == 1 && row < 0) {
      row = i;
    } else if (src_stride[i] == 1 && column < 0) {
      column = i;
    } else {
      others[n++] = i;
      count *= shape[i];
    }
  }
  if (row < 0 || column < 0 || src_stride[row] == 1) return false;
  const Transposition s = {shape[row], shape[column], src_stride[row], dst_stride[column], add};
  const bool triple = (s.rows == 3 && s.to_step == 3) || (s.columns == 3 && s.from_step == 3);
  if (std::min(s.rows, s.columns) < MAX_SINGLE_LINES && !triple) return false;
  transpose_matrices(level, s, count, threads, [&](int64_t k, const float** from, float** to) {
    *from = src;
    *to = dst;
    for (int i = n - 1; i >= 0; --i) {
      const int64_t length = shape[others[i]];
      *from += k % length * src_stride[others[i]];
      *to += k % length * dst_stride[others[i]];
      k /= length;
    }
  });
  return true;
}

// y[j * y_step + i] (+)= x[i * x_step + j] for i < rows, j < columns, on one thread.
inline void transpose_2d(int level, int64_t rows, int64_t columns, const float* x, int64_t x_step,
                         float* y, int64_t y_step, bool add) {
  transpose_matrices(level, {rows, columns, x_step, y_step, add}, 1, 1,
                     [=](int64_t, const float** from, float** to) { *from = x, *to = y; });
}

// y[b][j][i] (+)= x[b][i][j]: x (batch, rows, columns), y (batch, columns, rows).
inline void transpose_3d(int level, int64_t batch, int64_t rows, int64_t columns, const float* x,
                         float* y, bool add, int threads) {
  if (rows == 1 || columns == 1)  // a vector has the same memory layout
    return parallel_for(threads, batch * rows * columns, [=](int64_t begin, int64_t end) {
      if (!add) std::memcpy(y + begin, x + begin, (end - begin) * sizeof(float));
      else
        for (int64_t i = begin; i < end; ++i) y[i] += x[i];
    });
  const Transposition s = {rows, columns, columns, rows, add};
  transpose_matrices(level, s, batch, threads, [=](int64_t k, const float** from, float** to) {
    *from = x + k * rows * columns;
    *to = y + k * rows * columns;
  });
}

}  // namespace cynet

#endif
