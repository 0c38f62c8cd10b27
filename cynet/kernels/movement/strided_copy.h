// Copies with strides on both sides and a change of element type: assignment, slices, casts, fills.
#ifndef CYNET_STRIDED_COPY_H
#define CYNET_STRIDED_COPY_H

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "elementwise/convert.h"
#include "isa/kernel_table.h"
#include "isa/levels.h"
#include "parallel.h"

#ifdef CYNET_X86_LEVELS
#include <immintrin.h>
#endif

namespace cynet {

constexpr int kCopyAxes = 16;  // maximum axes of a copy

// Element (i, j, ...) of dst at dst + i * dst_stride[0] + ...; the same for src. Strides count
// elements and may be 0 (src only: broadcast) or negative.
struct StridedCopy {  // one copy between strided arrays
  void* dst;
  const void* src;
  int dst_type, src_type, ndim;  // DType codes of _typedefs.pxd
  int64_t shape[kCopyAxes], dst_stride[kCopyAxes], src_stride[kCopyAxes];
  bool shared;  // strided_copy sets it: several threads share the work
};

// Drops axes of length 1, and joins neighbours that are contiguous on both sides.
inline void coalesce_axes(StridedCopy* c) {
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

#define CYNET_PER_ISA_FILE "movement/strided_copy_loops.h"
#include "isa/for_each_isa.h"

namespace cynet {

typedef void (*CopyFunction)(const StridedCopy&, int64_t, int64_t);  // rows begin .. end
typedef void (*ConvertFunction)(void*, const void*, int64_t);  // dst, src, number of elements
typedef void (*MoveFunction)(void*, int64_t, const void*, int64_t, int64_t);  // dst and src: steps

template <typename D>
ConvertFunction convert_from(int level, int src_type) {
  static const ConvertFunction table[][N_LEVEL] = {
      CYNET_AT_LEVELS(convert_row<D, float>),   CYNET_AT_LEVELS(convert_row<D, double>),
      CYNET_AT_LEVELS(convert_row<D, half>),    CYNET_AT_LEVELS(convert_row<D, uint8_t>),
      CYNET_AT_LEVELS(convert_row<D, int32_t>), CYNET_AT_LEVELS(convert_row<D, int8_t>),
      CYNET_AT_LEVELS(convert_row<D, int64_t>), CYNET_AT_LEVELS(convert_row<D, bool>),
      CYNET_AT_LEVELS(convert_row<D, bfloat16>)};
  return table[dtype_index(src_type)][level];
}

inline ConvertFunction convert_function(int level, int dst_type, int src_type) {
  switch (dst_type) {
    case F32: return convert_from<float>(level, src_type);
    case F64: return convert_from<double>(level, src_type);
    case F16: return convert_from<half>(level, src_type);
    case U8: return convert_from<uint8_t>(level, src_type);
    case I32: return convert_from<int32_t>(level, src_type);
    case I8: return convert_from<int8_t>(level, src_type);
    case I64: return convert_from<int64_t>(level, src_type);
    case BF16: return convert_from<bfloat16>(level, src_type);
    default: return convert_from<bool>(level, src_type);
  }
}

// The index among four functions for elements of 1, 2, 4 and 8 bytes.
inline int element_size_index(int dtype) { return std::min<int>(3, element_size(dtype) / 2); }

inline MoveFunction move_function(int level, int dtype) {
  static const MoveFunction table[][N_LEVEL] = {
      CYNET_AT_LEVELS(move_elements<uint8_t>), CYNET_AT_LEVELS(move_elements<uint16_t>),
      CYNET_AT_LEVELS(move_elements<uint32_t>), CYNET_AT_LEVELS(move_elements<uint64_t>)};
  return table[element_size_index(dtype)][level];
}

// Copies rows begin .. end with a type conversion. Conversion works on contiguous elements: others
// are first gathered in a buffer in the first-level cache, or scattered from one afterwards.
inline void convert_range(const StridedCopy& c, int level, int64_t begin, int64_t end) {
  constexpr int64_t PART = 512;
  alignas(64) char given[PART * 8], made[PART * 8];
  const auto convert = convert_function(level, c.dst_type, c.src_type);
  const auto gather = move_function(level, c.src_type), spread = move_function(level, c.dst_type);
  const int64_t dst_size = element_size(c.dst_type), src_size = element_size(c.src_type);
  baseline::for_rows(
      c, begin, end, dst_size, src_size,
      [&](char* dst, const char* src, int64_t n, int64_t dst_step, int64_t src_step) {
        if (src_step == 0) {
          convert(made, src, 1);
          spread(dst, dst_step, made, 0, n);
          return;
        }
        if (src_step == 1 && dst_step == 1) return convert(dst, src, n);
        for (int64_t i = 0; i < n;
             i += PART, dst += PART * dst_step * dst_size, src += PART * src_step * src_size) {
          const int64_t m = std::min(PART, n - i);
          if (src_step != 1) gather(given, 1, src, src_step, m);
          convert(dst_step == 1 ? dst : made, src_step == 1 ? src : given, m);
          if (dst_step != 1) spread(dst, dst_step, made, 1, m);
        }
      });
}

// `given` must have no axis of length 0, and went through `coalesce_axes`.
inline void strided_copy(const StridedCopy* given, int threads, int level) {
  static const CopyFunction table[][N_LEVEL] = {
      CYNET_AT_LEVELS(copy_range<uint8_t>), CYNET_AT_LEVELS(copy_range<uint16_t>),
      CYNET_AT_LEVELS(copy_range<uint32_t>), CYNET_AT_LEVELS(copy_range<uint64_t>)};
  StridedCopy c = *given;
  c.shared = threads > 1;
  int64_t rows = c.ndim == 1 ? c.shape[0] : 1;
  for (int i = 0; i + 1 < c.ndim; ++i) rows *= c.shape[i];
  alignas(8) char one[8];
  if (c.dst_type != c.src_type &&
      std::all_of(c.src_stride, c.src_stride + c.ndim, [](int64_t step) { return step == 0; })) {
    convert_function(level, c.dst_type, c.src_type)(one, c.src, 1);  // a fill
    c.src = one;
    c.src_type = c.dst_type;
  }
  const CopyFunction copy = table[element_size_index(c.dst_type)][level];
  parallel_for(threads, rows, [&](int64_t begin, int64_t end) {
    if (c.dst_type != c.src_type) convert_range(c, level, begin, end);
    else copy(c, begin, end);
  });
}

inline bool are_rows_in_range(const int64_t* rows, int64_t n, int64_t size, int level) {
  typedef bool (*Within)(const int64_t*, int64_t, int64_t);
  static const Within table[] = CYNET_AT_LEVELS(are_in_range);
  return table[level](rows, n, size);
}

// Copies row rows[i] of src to row i of dst; rows have `nbytes` bytes.
inline void gather_rows(char* dst, const char* src, const int64_t* rows, int64_t n, int64_t nbytes,
                        int threads) {
  parallel_for(threads, n, [=](int64_t begin, int64_t end) {
    if (nbytes == 4) {  // no call for each
      for (int64_t i = begin; i < end; ++i) std::memcpy(dst + i * 4, src + rows[i] * 4, 4);
      return;
    }
    if (nbytes == 8) {
      for (int64_t i = begin; i < end; ++i) std::memcpy(dst + i * 8, src + rows[i] * 8, 8);
      return;
    }
    for (int64_t i = begin; i < end; ++i) {
      std::memcpy(dst + i * nbytes, src + rows[i] * nbytes, static_cast<size_t>(nbytes));
    }
  });
}

// Copies row i of src (`step` bytes apart) to row rows[i] of dst, in order: the last duplicate
// wins. Each thread has a part of every row.
inline void scatter_rows(char* dst, const char* src, int64_t step, const int64_t* rows, int64_t n,
                         int64_t nbytes, int threads) {
  constexpr int64_t PART = 2048;  // minimum bytes of a row per thread
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
