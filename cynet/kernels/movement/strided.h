// Copies between strided views: the base of transposition, slicing, reversal, tiling, joining and
// splitting. The memory of the two views must not overlap. Included by strided.pyx alone.
#ifndef CYNET_STRIDED_H
#define CYNET_STRIDED_H

#include <cstdint>
#include <cstring>

#include "common/bfloat16.h"
#include "isa/kernel_table.h"
#include "isa/levels.h"
#include "parallel.h"
#include "common/wrapping.h"

namespace cynet {

enum { STRIDED_AXES = 16 };

// dst[i . dst_stride] (op)= src[i . src_stride] over all indices i of `shape`; strides in elements.
struct StridedSpace {  // shape and strides of both sides
  int ndim;
  int64_t shape[STRIDED_AXES], dst_stride[STRIDED_AXES], src_stride[STRIDED_AXES];
};

enum { STRIDED_WRITE, STRIDED_ADD, STRIDED_SUBTRACT };

inline void merge_strided_axes(StridedSpace* s) {
  int n = 0;
  for (int i = 0; i < s->ndim; ++i) {
    if (s->shape[i] == 1) continue;
    if (n > 0 && s->dst_stride[n - 1] == s->dst_stride[i] * s->shape[i] &&
        s->src_stride[n - 1] == s->src_stride[i] * s->shape[i]) {
      s->shape[n - 1] *= s->shape[i];
    } else {
      s->shape[n++] = s->shape[i];
    }
    s->dst_stride[n - 1] = s->dst_stride[i];
    s->src_stride[n - 1] = s->src_stride[i];
  }
  if (n == 0) {
    s->shape[0] = 1;
    s->dst_stride[0] = s->src_stride[0] = 1;
    n = 1;
  }
  s->ndim = n;
}

template <typename T, int mode>
CYNET_XINLINE void write_with_mode(T& dst, T src) {
  if constexpr (mode == STRIDED_WRITE) {
    dst = src;
  } else if constexpr (is_narrow<T>) {
    const float sign = mode == STRIDED_ADD ? 1.0f : -1.0f;
    dst = T(static_cast<float>(dst) + sign * static_cast<float>(src));
  } else if constexpr (mode == STRIDED_ADD) {
    dst = sum_of(dst, src);
  } else {
    dst = difference_of(dst, src);
  }
}

}  // namespace cynet

#define CYNET_PER_ISA_FILE "movement/strided_loops.h"
#include "isa/for_each_isa.h"

namespace cynet {

// Copies row by row along the last axis; if src is contiguous along another axis, copies square
// blocks of the two axes, which use the cache lines of both sides.
template <typename T, int mode>
void move_by_rows(int threads, int level, const StridedSpace& s, void* dst_, const void* src_) {
  enum { BLOCK = 16 };
  T* dst = static_cast<T*>(dst_);
  const T* src = static_cast<const T*>(src_);
  typedef void (*Row)(T* dst, int64_t ds, const T* src, int64_t ss, int64_t n);
  static const Row rows_of[] = CYNET_AT_LEVELS(move_strided_row<T, mode>);
  const Row move_strided_row = rows_of[level];
  const int last = s.ndim - 1;
  int transposed = -1;
  if (s.src_stride[last] != 1 && s.dst_stride[last] == 1)
    for (int i = 0; i < last; ++i)
      if (s.src_stride[i] == 1 && s.shape[i] >= 4) transposed = i;
  if (transposed >= 0) {
    StridedSpace rest = s;  // all axes; the transposed axis is counted in blocks
    const int64_t rows = s.shape[transposed], blocks = (rows + BLOCK - 1) / BLOCK;
    rest.shape[transposed] = blocks;
    rest.dst_stride[transposed] *= BLOCK;
    rest.src_stride[transposed] *= BLOCK;
    int64_t outer = 1;
    for (int i = 0; i < last; ++i) outer *= rest.shape[i];
    const int64_t n = s.shape[last], dr = s.dst_stride[transposed], sc = s.src_stride[last];
    parallel_for(threads, outer, [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) {
        int64_t index = o, d = 0, f = 0, height = BLOCK;
        for (int i = last - 1; i >= 0; --i) {
          const int64_t k = index % rest.shape[i];
          index /= rest.shape[i];
          d += k * rest.dst_stride[i];
          f += k * rest.src_stride[i];
          if (i == transposed && rows - k * BLOCK < BLOCK) height = rows - k * BLOCK;
        }
        for (int64_t c = 0; c < n; c += BLOCK) {
          const int64_t stop = c + BLOCK < n ? c + BLOCK : n;
          for (int64_t r = 0; r < height; ++r)
            for (int64_t k = c; k < stop; ++k)
              write_with_mode<T, mode>(dst[d + r * dr + k], src[f + r + k * sc]);
        }
      }
    });
    return;
  }
  int64_t outer = 1;
  for (int i = 0; i < last; ++i) outer *= s.shape[i];
  const int64_t n = s.shape[last], ds = s.dst_stride[last], ss = s.src_stride[last];
  if (outer == 1) {
    parallel_for(threads, n, [&](int64_t begin, int64_t end) {
      move_strided_row(dst + begin * ds, ds, src + begin * ss, ss, end - begin);
    });
    return;
  }
  parallel_for(threads, outer, [&](int64_t begin, int64_t end) {
    int64_t index[STRIDED_AXES], rest = begin, d = 0, f = 0;
    for (int i = last - 1; i >= 0; --i) {
      index[i] = rest % s.shape[i];
      rest /= s.shape[i];
      d += index[i] * s.dst_stride[i];
      f += index[i] * s.src_stride[i];
    }
    for (int64_t o = begin; o < end; ++o) {
      move_strided_row(dst + d, ds, src + f, ss, n);
      for (int i = last - 1; i >= 0; --i) {
        d += s.dst_stride[i];
        f += s.src_stride[i];
        if (++index[i] < s.shape[i]) break;
        d -= index[i] * s.dst_stride[i];
        f -= index[i] * s.src_stride[i];
        index[i] = 0;
      }
    }
  });
}

template <int mode>
void move_strided_dtype(int threads, int level, int dtype, const StridedSpace& s, void* dst,
                        const void* src) {
  switch (dtype) {
    case F32: return move_by_rows<float, mode>(threads, level, s, dst, src);
    case F64: return move_by_rows<double, mode>(threads, level, s, dst, src);
    case F16: return move_by_rows<half, mode>(threads, level, s, dst, src);
    case BF16: return move_by_rows<bfloat16, mode>(threads, level, s, dst, src);
    case I32: return move_by_rows<int32_t, mode>(threads, level, s, dst, src);
    case I64: return move_by_rows<int64_t, mode>(threads, level, s, dst, src);
    case BOOL: return move_by_rows<bool, mode>(threads, level, s, dst, src);
    default: return move_by_rows<uint8_t, mode>(threads, level, s, dst, src);
  }
}

inline void move_strided(int threads, int level, int dtype, int mode, const StridedSpace& s,
                         void* dst, const void* src) {
  if (mode == STRIDED_ADD)
    return move_strided_dtype<STRIDED_ADD>(threads, level, dtype, s, dst, src);
  if (mode == STRIDED_SUBTRACT)
    return move_strided_dtype<STRIDED_SUBTRACT>(threads, level, dtype, s, dst, src);
  switch (element_size(dtype)) {
    case 8: return move_by_rows<uint64_t, STRIDED_WRITE>(threads, level, s, dst, src);
    case 4: return move_by_rows<uint32_t, STRIDED_WRITE>(threads, level, s, dst, src);
    case 2: return move_by_rows<uint16_t, STRIDED_WRITE>(threads, level, s, dst, src);
    default: return move_by_rows<uint8_t, STRIDED_WRITE>(threads, level, s, dst, src);
  }
}

}  // namespace cynet

#endif
