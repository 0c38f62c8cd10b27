// Copies with strides on both sides and a change of element type: assignment, slices, casts, fills.
#ifndef CYNET_STRIDED_COPY_H
#define CYNET_STRIDED_COPY_H

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "elementwise/convert.h"
#include "common/half.h"
#include "isa/levels.h"
#include "parallel.h"

#ifdef CYNET_X86_LEVELS
#include <immintrin.h>
#endif

namespace cynet {

constexpr int kCopyAxes = 16;

// Element (i, j, ...) of dst at dst + i * dst_stride[0] + ...; the same for src. Strides count
// elements and may be 0 (src only: broadcast) or negative.
struct StridedCopy {
  void* dst;
  const void* src;
  int dst_type, src_type, ndim;  // DType codes of _typedefs.pxd
  int64_t shape[kCopyAxes], dst_stride[kCopyAxes], src_stride[kCopyAxes];
  bool shared;  // by several threads: set by strided_copy
};

// Drops axes of length 1, joins neighbours that both sides walk as one; leaves at least one axis.
inline void coalesce(StridedCopy* c) {
  int n = 0;
  for (int i = 0; i < c->ndim; ++i) {
    if (c->shape[i] == 1) continue;
    if (n > 0 && c->dst_stride[n - 1] == c->dst_stride[i] * c->shape[i] &&
        c->src_stride[n - 1] == c->src_stride[i] * c->shape[i]) {
      c->shape[n - 1] *= c->shape[i];
      c->dst_stride[n - 1] = c->dst_stride[i];
      c->src_stride[n - 1] = c->src_stride[i];
      continue;
    }
    c->shape[n] = c->shape[i];
    c->dst_stride[n] = c->dst_stride[i];
    c->src_stride[n] = c->src_stride[i];
    ++n;
  }
  if (n == 0) {
    c->shape[0] = 1;
    c->dst_stride[0] = c->src_stride[0] = 1;
    n = 1;
  }
  c->ndim = n;
}

}  // namespace cynet

#define CYNET_LOOPS "movement/strided_copy_loops.h"
#include "isa/for_each_isa.h"

namespace cynet {

typedef void (*CopyFunction)(const StridedCopy&, int64_t, int64_t);

template <typename D>
CopyFunction copy_from(int level, int src_type) {
  static const CopyFunction table[][N_LEVEL] = {
      CYNET_AT_LEVELS(copy_range<D, float>),   CYNET_AT_LEVELS(copy_range<D, double>),
      CYNET_AT_LEVELS(copy_range<D, half>),    CYNET_AT_LEVELS(copy_range<D, uint8_t>),
      CYNET_AT_LEVELS(copy_range<D, int32_t>), CYNET_AT_LEVELS(copy_range<D, int8_t>),
      CYNET_AT_LEVELS(copy_range<D, int64_t>), CYNET_AT_LEVELS(copy_range<D, bool>)};
  return table[src_type][level];
}

inline CopyFunction copy_function(int level, int dst_type, int src_type) {
  switch (dst_type) {
    case 0: return copy_from<float>(level, src_type);
    case 1: return copy_from<double>(level, src_type);
    case 2: return copy_from<half>(level, src_type);
    case 3: return copy_from<uint8_t>(level, src_type);
    case 4: return copy_from<int32_t>(level, src_type);
    case 5: return copy_from<int8_t>(level, src_type);
    case 6: return copy_from<int64_t>(level, src_type);
    default: return copy_from<bool>(level, src_type);
  }
}

// `c` must have no axis of length 0, and went through `coalesce`.
inline void strided_copy(StridedCopy* c, int threads, int level) {
  c->shared = threads > 1;
  int64_t rows = c->ndim == 1 ? c->shape[0] : 1;
  for (int i = 0; i + 1 < c->ndim; ++i) rows *= c->shape[i];
  const CopyFunction function = copy_function(level, c->dst_type, c->src_type);
  parallel_for(threads, rows, [=](int64_t begin, int64_t end) { function(*c, begin, end); });
}

// Row i of dst from row rows[i] of src, all of `nbytes` bytes.
inline void gather_rows(char* dst, const char* src, const int64_t* rows, int64_t n, int64_t nbytes,
                        int threads) {
  parallel_for(threads, n, [=](int64_t begin, int64_t end) {
    if (nbytes == 4) {  // no call for each
      for (int64_t i = begin; i < end; ++i) std::memcpy(dst + i * 4, src + rows[i] * 4, 4);
      return;
    }
    for (int64_t i = begin; i < end; ++i) {
      std::memcpy(dst + i * nbytes, src + rows[i] * nbytes, static_cast<size_t>(nbytes));
    }
  });
}

// Row rows[i] of dst from row i of src, `step` bytes apart, in order: where a row occurs twice, the
// last one stays. Each thread has a part of every row.
inline void scatter_rows(char* dst, const char* src, int64_t step, const int64_t* rows, int64_t n,
                         int64_t nbytes, int threads) {
  constexpr int64_t PART = 2048;  // bytes of a row that are worth a thread
  threads = static_cast<int>(std::max<int64_t>(1, std::min<int64_t>(threads, nbytes / PART)));
  parallel_for(threads, (nbytes + PART - 1) / PART, [=](int64_t begin, int64_t end) {
    const int64_t from = begin * PART;
    const size_t size = static_cast<size_t>(std::min(end * PART, nbytes) - from);
    for (int64_t i = 0; i < n; ++i)
      std::memcpy(dst + rows[i] * nbytes + from, src + i * step + from, size);
  });
}

}  // namespace cynet

#endif
