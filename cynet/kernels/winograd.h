// 3x3 convolutions of stride 1 with fewer multiplications: Winograd's F(4x4, 3x3).
//
// A 4x4 tile of outputs is A^T [(G w G^T) * (B^T x B)] A of a 6x6 tile of inputs (Lavin and Gray,
// "Fast algorithms for convolutional neural networks", 2015): 36 products instead of 144. Points of
// evaluation are 0, +-5/8, +-3/2 and infinity, for which the matrices are exact in float32 and
// errors a fifth of those with 0, +-1, +-2: about twice those of a direct sum. The gradients are
// the transposed maps: of x the same algorithm with w turned by 180 degrees and in and out
// exchanged, of w G^T [sum over tiles of (B^T x B) * (A dy A^T)] G.
#ifndef CYNET_WINOGRAD_H
#define CYNET_WINOGRAD_H

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "half.h"
#include "parallel.h"

#if defined(__GNUC__)
#define CYNET_XLAMBDA __attribute__((always_inline))
#else
#define CYNET_XLAMBDA
#endif

#if defined(__aarch64__)
#define WINOGRAD_REGISTERS 32
#else
#define WINOGRAD_REGISTERS 16
#endif

namespace cynet {

// Sizes of x (batch, height, width, channels in memory); y is (batch, height + 2 pad_h - 2,
// width + 2 pad_w - 2, filters), w (filters, channels, 3, 3). Pads of 0 .. 2.
struct WinogradShape {
  int64_t batch, height, width, channels, filters, pad_h, pad_w;
};

namespace winograd {

// The points' powers, and what scales G: 1 / (A2 B2), 1 / (2 A2 (A2 - B2)), 1 / (2 B2 (B2 - A2)).
constexpr float A1 = 0.625f, A2 = A1 * A1, A3 = A2 * A1, B1 = 1.5f, B2 = B1 * B1, B3 = B2 * B1;
constexpr float G0 = static_cast<float>(1 / (double(A2) * B2));
constexpr float GA = static_cast<float>(0.5 / (double(A2) * (double(A2) - B2)));
constexpr float GB = static_cast<float>(0.5 / (double(B2) * (double(B2) - A2)));

struct Image {
  int64_t batch, height, width, channels;
};

inline Image input_of(const WinogradShape& s) {
  return {s.batch, s.height, s.width, s.channels};
}
inline Image output_of(const WinogradShape& s) {
  return {s.batch, s.height + 2 * s.pad_h - 2, s.width + 2 * s.pad_w - 2, s.filters};
}

// y = relu(sum + bias + y), each where asked for.
struct Finish {
  const float* bias;
  bool relu, add;
};

struct Problem {
  Image from, to;
  int64_t pad_h, pad_w;
  Finish finish;
  const float* x;
  float* y;
};

struct Tile {
  int64_t image, row, column;  // of the first pixel, which may lie outside
};

// The 4x4 tiles of an image, row by row.
struct Tiles {
  int64_t down, across, count;
  explicit Tiles(const Image& image)
      : down((image.height + 3) / 4),
        across((image.width + 3) / 4),
        count(image.batch * down * across) {}
  Tile operator()(int64_t tile, int64_t pad_h, int64_t pad_w) const {
    const int64_t column = tile % across, rest = tile / across;
    return {rest / down, rest % down * 4 - pad_h, column * 4 - pad_w};
  }
};

// body(part) for the parts of a whole, one a thread.
template <class Body>
inline void for_parts(int threads, const Body& body) {
  parallel_for(threads, threads, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) body(part);
  });
}

}  // namespace winograd
}  // namespace cynet

#define CYNET_LOOPS "winograd_loops.h"
#include "each_level.h"

namespace cynet {

// Whether this is quicker than a direct sum: both in cycles of a vector of 16 floats, from times of
// the parts (docs/architecture/performance.md).
inline bool winograd_suits(const WinogradShape& s) {
  const winograd::Image y = winograd::output_of(s);
  if (s.batch < 1 || s.height < 1 || s.width < 1 || y.height < 1 || y.width < 1) return false;
  if (s.channels < 16 || s.filters < 16 || s.pad_h < 0 || s.pad_w < 0) return false;
  const double tiles = static_cast<double>(winograd::Tiles(y).count);
  const double c = (s.channels + 15) / 16, f = (s.filters + 15) / 16;
  const double odd = (s.channels % 16 ? 1000 : 0) + (s.filters % 16 ? 400 : 0);
  const double own = tiles * (600 * c * f + 260 * c + 240 * f + odd) + 40 * 256 * c * f;
  return 1.2 * own < 9.0 * s.batch * y.height * y.width * s.channels * f;
}

// Bytes of scratch, to be aligned to 64, for forward, or for both gradients.
inline size_t winograd_space(int level, const WinogradShape& shape, int threads, bool backward) {
  static constexpr decltype(&baseline::scratch) table[] = CYNET_AT_LEVELS(scratch);
  return table[level](shape, threads, backward) * sizeof(float);
}

// y = relu(x * w + bias + y): `bias` may be NULL, `relu` and `add` (of y) false.
inline void winograd_forward(int level, const WinogradShape& shape, const float* x, const float* w,
                             const float* bias, bool relu, float* y, bool add, int threads,
                             char* space) {
  static constexpr decltype(&baseline::forward) table[] = CYNET_AT_LEVELS(forward);
  table[level](shape, x, w, {bias, relu, add}, y, threads, reinterpret_cast<float*>(space));
}

// dx = gradient of x, or dx += with `add`.
inline void winograd_backward_data(int level, const WinogradShape& shape, const float* w,
                                   const float* dy, float* dx, bool add, int threads,
                                   char* space) {
  static constexpr decltype(&baseline::backward_data) table[] = CYNET_AT_LEVELS(backward_data);
  table[level](shape, w, dy, dx, add, threads, reinterpret_cast<float*>(space));
}

// dw = gradient of w, or dw += with `add`: one sum a thread, added in their order.
inline void winograd_backward_weight(int level, const WinogradShape& shape, const float* x,
                                     const float* dy, float* dw, bool add, int threads,
                                     char* space) {
  static constexpr decltype(&baseline::backward_weight) table[] = CYNET_AT_LEVELS(backward_weight);
  table[level](shape, x, dy, dw, add, threads, reinterpret_cast<float*>(space));
}

}  // namespace cynet

#endif
