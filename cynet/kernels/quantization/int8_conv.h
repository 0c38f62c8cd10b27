// Convolutions of channels-last 8-bit integers by int8 weights: exact 32-bit sums, each followed by
// an epilogue. FullyConnected is a convolution of one pixel.
//
// Products are those of 16-bit integers (two in a lane of 32), which is exact for all values, and
// on AVX2 as fast as the saturating ones of 8 bits.
#ifndef CYNET_INT8_CONV_H
#define CYNET_INT8_CONV_H

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <limits>

#include "common/half.h"
#include "isa/kernel_table.h"
#include "isa/levels.h"
#include "parallel.h"

#ifdef CYNET_X86_LEVELS
#include <immintrin.h>
#endif

namespace cynet {

struct Int8Conv {  // shape of a convolution of 8-bit integers
  int64_t batch, channels, filters, groups;
  int64_t in_size[3], out_size[3], kernel[3], stride[3], dilate[3], pad[3];

  int64_t out_pixels() const { return batch * out_size[0] * out_size[1] * out_size[2]; }
  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }  // elements of a filter
  int64_t channels_per_group() const { return channels / groups; }
  int64_t filters_per_group() const { return filters / groups; }
  enum { MAX_TAPS = 64 };
  bool is_depthwise() const {
    return groups == channels && groups == filters && taps() <= MAX_TAPS;
  }
};

// out = min(max(sum * scale[f] + bias[f] + residual * residual_unit, low), high), rounded to even
// where out is of integers; without `scale` the sum itself, plus whole[f].
struct Int8Epilogue {  // how sums of products become outputs
  const float *scale, *bias;
  const int32_t* whole;  // sums of whole filters, or nullptr
  const void* residual;  // residual in the shape of out, of residual_dtype, or nullptr
  int residual_dtype, out_dtype;
  float residual_unit, low, high;
};

enum { INT8_BLOCK = 96 << 10 };  // bytes of rows that a thread has widened at a time
enum { INT8_ROWS = 96 };  // maximum number of rows

}  // namespace cynet

#define CYNET_PER_ISA_FILE "quantization/int8_vectors.h"
#include "isa/for_each_isa.h"
#define CYNET_PER_ISA_FILE "quantization/int8_conv_loops.h"
#include "isa/for_each_isa.h"

namespace cynet {

// Bytes of the packed weight (filters, channels / groups, *kernel), and the packing.
inline int64_t int8_packed_size(int level, const Int8Conv& c) {
  static int64_t (*const of[])(const Int8Conv&) = CYNET_AT_LEVELS(int8_packed_bytes);
  return of[level](c);
}
inline void int8_pack(int level, const Int8Conv& c, const int8_t* weight, void* packed) {
  static void (*const of[])(const Int8Conv&, const int8_t*, int16_t*) =
      CYNET_AT_LEVELS(int8_pack_weight);
  of[level](c, weight, static_cast<int16_t*>(packed));
}
// Bytes of workspace.
inline int64_t int8_workspace_bytes(int level, const Int8Conv& c, int threads) {
  static int64_t (*const of[])(const Int8Conv&) = CYNET_AT_LEVELS(int8_bytes_per_thread);
  return of[level](c) * threads;
}
// data (batch, *in_size, channels) of uint8 or int8, out (batch, *out_size, filters).
inline void int8_conv(int level, const Int8Conv& c, const void* data, bool is_signed,
                      const void* packed, const Int8Epilogue& e, void* out, int threads,
                      char* space) {
  typedef void (*Run)(const Int8Conv&, const void*, const int16_t*, const Int8Epilogue&, void*, int,
                      char*);
  static const Run of[2][N_LEVEL] = {CYNET_AT_LEVELS(int8_convolve<uint8_t>),
                                     CYNET_AT_LEVELS(int8_convolve<int8_t>)};
  of[is_signed][level](c, data, static_cast<const int16_t*>(packed), e, out, threads, space);
}

// The index of the first NaN of n floats, or -1.
inline int64_t nan_index(const float* x, int64_t n, int threads) {
  std::atomic<bool> some{false};
  parallel_for(threads, n, [=, &some](int64_t begin, int64_t end) {
    int wrong = 0;
    for (int64_t i = begin; i < end; ++i) wrong |= x[i] != x[i];
    if (wrong) some = true;
  });
  if (!some) return -1;
  return std::find_if(x, x + n, [](float v) { return v != v; }) - x;
}

// Transposes eight rows by eight columns of bytes by swapping the parts beside the diagonal of each
// square, first those of four by four. (Little-endian words.)
inline void transpose_8x8_bytes(const uint8_t* from, int64_t from_step, uint8_t* to,
                                int64_t to_step) {
  uint64_t row[8];
  for (int i = 0; i < 8; ++i) std::memcpy(&row[i], from + i * from_step, 8);
  const uint64_t low[3] = {0x00ff00ff00ff00ffu, 0x0000ffff0000ffffu, 0x00000000ffffffffu};
  for (int k = 2; k >= 0; --k)
    for (int i = 0; i < 8; ++i) {
      const int width = 1 << k;
      if (i & width) continue;
      const uint64_t change = (row[i] >> 8 * width ^ row[i + width]) & low[k];
      row[i + width] ^= change;
      row[i] ^= change << 8 * width;
    }
  for (int i = 0; i < 8; ++i) std::memcpy(to + i * to_step, &row[i], 8);
}
// Transposes the columns of bytes that whole words can move; returns their number.
inline int64_t transpose_by_words(const uint8_t* from, uint8_t* to, int64_t rows, int64_t columns,
                                  int64_t first, int64_t last, int64_t n) {
  if (rows == 3) {  // pixels of three channels; a word's fourth byte is the next one's first
    for (int64_t c = 0; c + 1 < n; ++c) {
      const uint32_t pixel =
          from[c] | uint32_t(from[columns + c]) << 8 | uint32_t(from[2 * columns + c]) << 16;
      std::memcpy(to + 3 * c, &pixel, 4);
    }
    return n - 1;
  }
  if ((last - first) % 8) return 0;
  for (int64_t c = 0; c + 8 <= n; c += 8)
    for (int64_t r = first; r < last; r += 8)
      transpose_8x8_bytes(from + r * columns + c, columns, to + c * rows + r, rows);
  return n / 8 * 8;
}
// from (batch, rows, columns) to (batch, columns, rows), optionally added to the output
template <typename T>
inline void transpose_planes(const T* from, T* to, int64_t batch, int64_t rows, int64_t columns,
                             bool add, int threads) {
  enum { ROWS = 32, COLUMNS = 1024 };  // rows and columns of a piece of work
  const int64_t down = (rows + ROWS - 1) / ROWS, across = (columns + COLUMNS - 1) / COLUMNS;
  parallel_for(threads, batch * down * across, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i / across % down * ROWS, left = i % across * COLUMNS;
      const int64_t last = std::min<int64_t>(first + ROWS, rows);
      const int64_t n = std::min<int64_t>(COLUMNS, columns - left);
      const T* source = from + i / across / down * rows * columns + left;
      T* target = to + i / across / down * rows * columns + left * rows;
      int64_t c = 0;
      if constexpr (sizeof(T) == 1)
        if (!add) c = transpose_by_words(source, target, rows, columns, first, last, n);
      for (; c < n; ++c)
        for (int64_t r = first; r < last; ++r) {
          T& place = target[c * rows + r];
          const T value = source[r * columns + c];
          place = add ? static_cast<T>(place + value) : value;
        }
    }
  });
}
// transpose_planes for elements of `size` bytes, 1 or 4; integers wrap.
inline void transpose_integers(const void* from, void* to, int64_t size, int64_t batch,
                               int64_t rows, int64_t columns, bool add, int threads) {
  if (size == 1)
    transpose_planes(static_cast<const uint8_t*>(from), static_cast<uint8_t*>(to), batch, rows,
                     columns, add, threads);
  else
    transpose_planes(static_cast<const uint32_t*>(from), static_cast<uint32_t*>(to), batch, rows,
                     columns, add, threads);
}

}  // namespace cynet

#endif
