// Float32 matrix products for the shapes at which BLAS and oneDNN are slow, and convolutions of
// small images made of them.
//
// Such shapes have 64 to a few hundred rows and a short sum: recurrent layers and 1x1 convolutions.
// In a small image many taps of a window fall outside. So each output pixel is a product of its
// own, of all images by the weights of the taps that it has (4 of 9 in a corner of a 3x3 window),
// and nothing is multiplied by padding.
#ifndef CYNET_PRODUCTS_H
#define CYNET_PRODUCTS_H

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

// c = relu(a b + bias + c). a is (m, k), or (k, m) where `a_transposed`; b is (k, n), or (n, k)
// where `b_transposed`. Rows are a_row, b_row and c_row floats apart; `bias` has n floats or is
// NULL. `b_shared`: all threads have just read the whole of b. `packed`: b from pack_operand, which
// is read instead of b; a is not transposed then.
struct Product {  // arguments of c = a b
  int64_t m, n, k;
  const float* a;
  int64_t a_row;
  bool a_transposed;
  const float* b;
  int64_t b_row;
  bool b_transposed;
  float* c;
  int64_t c_row;
  const float* bias;
  bool relu, add;
  bool b_shared = false;
  const float* mask = nullptr;
  float* sums = nullptr;
  bool add_sums = false;
  const float* packed = nullptr;
};

// Sizes of x (batch, height, width, channels in memory) and of a window; y is (batch, out_height,
// out_width, filters), w (filters, channels, kernel_h, kernel_w).
struct ConvWindow {  // sizes of a convolution
  int64_t batch, height, width, channels, filters, out_height, out_width;
  int64_t kernel_h, kernel_w, stride_h, stride_w, dilate_h, dilate_w, pad_h, pad_w;
};

namespace products {

struct TermOffsets {  // where the factors of a term lie
  int64_t a, b;  // offsets of the factors: floats in a, vectors in the panel
};

// A part of the result with its own factors: it begins at float `c` of the result and is the sum of
// the terms begin .. end.
struct ResultPart {  // a part of c with its terms
  int64_t c, begin, end;
};

struct IndexRange {  // begin .. end - 1
  int64_t begin, end;
};

// The constants of a product. `step` is the distance of a's rows, or of its columns if a is
// transposed (LINES is false).
struct TileJob {  // constants of a product's tiles
  const float* a;
  int64_t step, depth, c_row;
  bool relu, add;
  const float *mask = nullptr, *masked = nullptr;  // start of the mask and of the result
  float* sums = nullptr;  // sums over the rows of a transposed a
  bool add_sums = false;
};

inline int64_t input_pixels(const ConvWindow& s) { return s.height * s.width; }
inline int64_t output_pixels(const ConvWindow& s) { return s.out_height * s.out_width; }
inline int64_t tap_count(const ConvWindow& s) { return s.kernel_h * s.kernel_w; }
constexpr int64_t MAX_TAPS = 49;  // largest window that the functions below accept

// Rows of a panel per tap for n channels, padded against cache conflicts. The taps of a channel are
// written together; if they were whole pages apart, they would share a few cache sets, hence the 8.
inline int64_t rows_per_tap(int64_t n) { return n % 32 ? n : n + 8; }  // n: channels

// Calls body(output pixel, input pixel, tap) for each tap of an output pixel inside the image.
template <class Body>
inline void for_taps(const ConvWindow& s, const Body& body) {
  for (int64_t p = 0; p < output_pixels(s); ++p)
    for (int64_t tap = 0; tap < tap_count(s); ++tap) {
      const int64_t row = p / s.out_width * s.stride_h - s.pad_h + tap / s.kernel_w * s.dilate_h;
      const int64_t column = p % s.out_width * s.stride_w - s.pad_w + tap % s.kernel_w * s.dilate_w;
      if (row >= 0 && row < s.height && column >= 0 && column < s.width)
        body(p, row * s.width + column, tap);
    }
}

enum WindowProduct { FORWARD, DATA, WEIGHT };  // the output, or a gradient

// Targets and terms of forward, of the data gradient or of the weight gradient. They are stored in
// scratch: `size` targets, then the terms.
struct WindowTerms {  // lists of output parts and their terms
  ResultPart* targets;
  TermOffsets* terms;
  int64_t size;

  static int64_t target_count(const ConvWindow& s, WindowProduct kind) {
    return kind == FORWARD ? output_pixels(s) : kind == DATA ? input_pixels(s) : tap_count(s);
  }
  // Floats of scratch, a multiple of 16.
  static int64_t scratch_floats(const ConvWindow& s, WindowProduct kind) {
    const int64_t bytes = target_count(s, kind) * sizeof(ResultPart) +
                          output_pixels(s) * tap_count(s) * sizeof(TermOffsets);
    return (bytes + 63) / 64 * 16;
  }

  // `a_step`: distance of two pixels in a; `c_step`: distance of two targets in c.
  WindowTerms(const ConvWindow& s, WindowProduct kind, int64_t a_step, int64_t c_step, float* space)
      : targets(reinterpret_cast<ResultPart*>(space)),
        terms(reinterpret_cast<TermOffsets*>(targets + target_count(s, kind))),
        size(target_count(s, kind)) {
    const auto target = [&](int64_t p, int64_t q, int64_t tap) {
      return kind == FORWARD ? p : kind == DATA ? q : tap;
    };
    for (int64_t i = 0; i < size; ++i) targets[i] = {i * c_step, 0, 0};
    for_taps(s, [&](int64_t p, int64_t q, int64_t tap) { ++targets[target(p, q, tap)].end; });
    for (int64_t i = 0, begin = 0; i < size; ++i) {
      targets[i].begin = begin;
      begin += targets[i].end;
      targets[i].end = targets[i].begin;
    }
    for_taps(s, [&](int64_t p, int64_t q, int64_t tap) {
      TermOffsets& term = terms[targets[target(p, q, tap)].end++];
      if (kind == FORWARD) term = {q * a_step, tap * rows_per_tap(s.channels)};
      else if (kind == DATA) term = {p * a_step, tap * rows_per_tap(s.filters)};
      else term = {p * a_step, q * s.batch};
    });
  }
};

// Divides a result among threads: `rows` by `columns` parts.
struct ThreadGrid {  // division of a result among threads
  int64_t rows, columns;

  // The result is m x n, in `vectors` of columns and `blocks` of rows. Every thread reads the
  // smaller operand. If the operand of the columns is in all caches anyway, threads take rows
  // instead: then each writes contiguous memory that no other core holds, and the update of the
  // weights reads it there.
  ThreadGrid(int64_t threads, int64_t m, int64_t n, int64_t vectors, int64_t blocks,
             bool b_shared = false)
      : rows(1), columns(1) {
    const bool fit = vectors >= 2 * threads, by_rows = blocks >= threads;
    if (by_rows && (!fit || m > 2 * n)) rows = threads;
    else if (b_shared && blocks >= 4 * threads) rows = threads;
    else columns = std::min(threads, vectors);
  }
  int64_t part_count() const { return rows * columns; }
};

// Uses of a narrow product. LIKE_OTHER_KERNELS: as one of `product`'s
// algorithms, which all add in the same order. INSTEAD_OF_BLAS: by itself.
enum NarrowUse { LIKE_OTHER_KERNELS, INSTEAD_OF_BLAS };  // what it competes with

// The start of part i when `size` is divided into n parts.
inline int64_t part_start(int64_t size, int64_t i, int64_t n) { return size * i / n; }

}  // namespace products
}  // namespace cynet

#define CYNET_PER_ISA_FILE "isa/simd.h"
#include "isa/for_each_isa.h"
#define CYNET_PER_ISA_FILE "isa/simd_transpose.h"
#include "isa/for_each_isa.h"
#define CYNET_PER_ISA_FILE "gemm/microkernel_loops.h"
#include "isa/for_each_isa.h"
#define CYNET_PER_ISA_FILE "gemm/small_loops.h"
#include "isa/for_each_isa.h"
#define CYNET_PER_ISA_FILE "gemm/narrow_loops.h"
#include "isa/for_each_isa.h"
#define CYNET_PER_ISA_FILE "conv/scatter_loops.h"
#include "isa/for_each_isa.h"
#include "gemm/amx.h"

namespace cynet {

// Bytes of scratch, to be aligned to 64.
inline size_t product_workspace_bytes(int level, int threads) {
  static constexpr int64_t table[] = CYNET_AT_LEVELS(SCRATCH_FLOATS);
  int64_t floats = table[level];
#ifdef CYNET_AMX
  if (level == AMX) floats = std::max(floats, amx::SCRATCH_FLOATS);
#endif
  return threads * floats * sizeof(float);
}

// AMX with a packed b, (k, n), or (n, k) where `transposed`, split into bfloat16
// beforehand: how many floats packing takes, packing.
inline int64_t product_packed_size(int64_t n, int64_t k) {
#ifdef CYNET_AMX
  return amx::packed_size<amx::DEPTH>(k, n);
#else
  return 0;
#endif
}

inline void pack_operand(const float* b, int64_t b_row, bool transposed, int64_t k, int64_t n,
                         float* to, int threads) {
#ifdef CYNET_AMX
  amx::pack_threaded<amx::DEPTH>(threads, b, b_row, transposed, k, n, to);
#endif
}

// Algorithms: b in packed panels; AMX tiles; narrow (b read in place, a not transposed).
enum ProductKernel { PANELS, TILES, NARROW };

// True if every thread reads all of a.
inline bool product_shares_a(int level, ProductKernel way, int64_t m, int64_t n, int threads) {
#ifdef CYNET_AMX
  if (way == TILES) return amx::thread_grid(m, n, threads, false).rows == 1;
#endif
  static constexpr decltype(&baseline::shares_a) table[] = CYNET_AT_LEVELS(shares_a);
  return table[level](m, n, threads);
}

// True if the product is narrow enough to read b in place, without workspace; a is not transposed.
inline bool product_is_narrow(int level, int64_t m, int64_t n, int64_t k, bool b_transposed,
                              products::NarrowUse of) {
  static constexpr decltype(&baseline::narrow_is_profitable) table[] =  // by CPU level
      CYNET_AT_LEVELS(narrow_is_profitable);
  return table[level](m, n, k, b_transposed, of);
}

inline void product(int level, ProductKernel way, const Product& p, int threads, char* space) {
  static constexpr decltype(&baseline::multiply) plain[] = CYNET_AT_LEVELS(multiply);
  static constexpr decltype(&baseline::multiply_narrow) few[] = CYNET_AT_LEVELS(multiply_narrow);
  float* scratch = reinterpret_cast<float*>(space);
  if (way == NARROW) return few[level](p, threads);
#ifdef CYNET_AMX
  if (way == TILES) return amx::multiply(p, threads, scratch);
#endif
  plain[level](p, threads, scratch);
}

// Bytes of scratch for forward, or for both gradients; it must be aligned to 64.
inline size_t window_workspace_bytes(int level, const ConvWindow& shape, int threads,
                                     bool backward) {
  static constexpr decltype(&baseline::window_scratch_floats) table[] =  // by CPU level
      CYNET_AT_LEVELS(window_scratch_floats);
  return table[level](shape, threads, backward) * sizeof(float);
}

// y = relu(x * w + bias + y): `bias` may be NULL, `relu` and `add` (of y) false.
inline void window_forward(int level, const ConvWindow& shape, const float* x, const float* w,
                           const float* bias, bool relu, float* y, bool add, int threads,
                           char* space) {
  static constexpr decltype(&baseline::window_forward) table[] = CYNET_AT_LEVELS(window_forward);
  table[level](shape, x, w, bias, relu, y, add, threads, reinterpret_cast<float*>(space));
}

// dx = gradient of x, or dx += with `add`.
inline void window_backward_data(int level, const ConvWindow& shape, const float* w,
                                 const float* dy, float* dx, bool add, int threads, char* space) {
  static constexpr decltype(&baseline::window_data_grad) table[] =  // by CPU level
      CYNET_AT_LEVELS(window_data_grad);
  table[level](shape, w, dy, dx, add, threads, reinterpret_cast<float*>(space));
}

// Bytes of scratch, aligned to 64; less if the weights are packed beforehand.
inline size_t scatter_workspace_bytes(int level, const ConvWindow& s, int threads, bool packed) {
  static constexpr decltype(&baseline::scatter_scratch) table[] = CYNET_AT_LEVELS(scatter_scratch);
  return table[level](s, threads, packed) * sizeof(float);
}

// The floats of the packed weights, and the packing. They must be aligned to 64.
inline int64_t scatter_packed_size(int level, const ConvWindow& s) {
  static constexpr decltype(&baseline::scatter_packed_floats) table[] =  // by CPU level
      CYNET_AT_LEVELS(scatter_packed_floats);
  return table[level](s);
}

inline void scatter_pack_w(int level, const ConvWindow& s, const float* w, int threads, float* to) {
  static constexpr decltype(&baseline::scatter_pack_w) table[] = CYNET_AT_LEVELS(scatter_pack_w);
  table[level](s, w, threads, to);
}

// dx = gradient of x, or dx += if `add`. Windows are not dilated. `packed`: w is packed.
inline void scatter_windows(int level, const ConvWindow& shape, const float* w, bool packed,
                            const float* dy, float* dx, bool add, int threads, char* space) {
  static constexpr decltype(&baseline::scatter_to_dx) table[] = CYNET_AT_LEVELS(scatter_to_dx);
  table[level](shape, w, packed ? w : nullptr, dy, dx, add, threads,
               reinterpret_cast<float*>(space));
}

// dw = gradient of w, or dw += with `add`.
inline void window_backward_weight(int level, const ConvWindow& shape, const float* x,
                                   const float* dy, float* dw, bool add, int threads, char* space) {
  static constexpr decltype(&baseline::window_weight_grad) table[] =  // by CPU level
      CYNET_AT_LEVELS(window_weight_grad);
  table[level](shape, x, dy, dw, add, threads, reinterpret_cast<float*>(space));
}

// dw (channels, 1, kernel_h, kernel_w) of a depthwise convolution: at most 64 pixels.
inline void window_depthwise_grad(int level, const ConvWindow& s, const float* x, const float* dy,
                                  float* dw, bool add, int threads) {
  static constexpr decltype(&baseline::depthwise_weight_grad) table[] =  // by CPU level
      CYNET_AT_LEVELS(depthwise_weight_grad);
  table[level](s, x, dy, dw, add, threads);
}

}  // namespace cynet

#endif
