// The square windows that Winograd's algorithm supports, how it cuts images into tiles, and in
// which of its forms it runs. Included by winograd.h.
#ifndef CYNET_WINOGRAD_SIZES_H
#define CYNET_WINOGRAD_SIZES_H

#include <algorithm>
#include <cstdint>

#include "isa/levels.h"

namespace cynet {

// Sizes of x (batch, height, width, channels in memory); y is (batch, (height + 2 pad_h - kernel) /
// stride + 1, (width + 2 pad_w - kernel) / stride + 1, filters), w (filters, channels, kernel,
// kernel); stride is 1 or 2.
struct WinogradShape {
  int64_t batch, height, width, channels, filters, kernel, pad_h, pad_w, stride;
};

namespace winograd {

constexpr int64_t MAX_KERNEL = 8;  // rows of the largest window

// Taps of a phase along one axis; outputs of a tile along one axis.
inline int64_t tap_count(int64_t kernel, int64_t stride) { return (kernel + stride - 1) / stride; }
inline int64_t tile_side(int64_t taps) { return taps == 2 ? 4 : 7 - taps; }

inline bool is_supported(int64_t kernel, int64_t stride) {
  const int64_t taps = tap_count(kernel, stride);
  return (stride == 1 || (stride == 2 && kernel > 2)) && taps > 1 && taps < 6 &&
         kernel <= MAX_KERNEL;
}

inline int64_t tap_count(const WinogradShape& s) { return tap_count(s.kernel, s.stride); }
inline int64_t tile_side(const WinogradShape& s) { return tile_side(tap_count(s)); }
inline bool is_supported(const WinogradShape& s) { return is_supported(s.kernel, s.stride); }

// An image, or with step 2 its four phases: pixel (i, j) of phase (p, q) is pixel (2 i + p - top, 2
// j + q - left) of the image, which may be outside.
struct Image {  // size of an image, or of its phases
  int64_t batch, height, width, channels, step, top, left;
  int64_t rows() const { return step == 1 ? height : (height - 1 + top) / 2 + 1; }  // of a phase
  int64_t columns() const { return step == 1 ? width : (width - 1 + left) / 2 + 1; }  // of a phase
  int64_t phases() const { return step * step; }  // of the strides
};

inline Image input_image(const WinogradShape& s) {
  const bool apart = s.stride == 2;
  return {
      s.batch, s.height, s.width, s.channels, s.stride, apart ? s.pad_h : 0, apart ? s.pad_w : 0};
}
inline Image output_image(const WinogradShape& s) {
  const auto length = [&](int64_t size, int64_t pad) {
    const int64_t free = size + 2 * pad - s.kernel;
    return free < 0 ? 0 : free / s.stride + 1;
  };
  return {s.batch, length(s.height, s.pad_h), length(s.width, s.pad_w), s.filters, 1, 0, 0};
}

struct Tile {  // where a tile begins
  int64_t image, row, column;  // position of the tile's first pixel, maybe outside of the image
};

// The tiles of side x side pixels of an image, row by row.
struct Tiles {  // how an image is cut into tiles
  int64_t side, down, across, count;
  Tiles(const Image& image, int64_t side)
      : side(side),
        down((image.rows() + side - 1) / side),
        across((image.columns() + side - 1) / side),
        count(image.batch * down * across) {}
  Tile operator()(int64_t tile, int64_t pad_h, int64_t pad_w) const {
    const int64_t column = tile % across, rest = tile / across;
    return {rest / down, rest % down * side - pad_h, column * side - pad_w};
  }
};

// True if the gradient of x uses tiles of dy: they are fewer, and each thread has an image.
inline bool uses_dy_tiles(const WinogradShape& s) {
  const int64_t side = tile_side(tap_count(s));
  return s.batch >= 8 &&
         4 * Tiles(input_image(s), side).count > 5 * Tiles(output_image(s), side).count;
}

// Winograd's loops have one form per CPU level (winograd_plans.h) and a second one for AVX-512, by
// rows of positions. By single positions each number that is read serves two multiplications, which
// processors with two multipliers need. With one vector of filters it serves only one, and then
// small blocks of tiles, by rows, are faster.
enum { AVX512_BY_ROW = N_LEVEL };

// The form for this machine and these sizes.
inline int choose_form(int level, const WinogradShape& s) {
#ifdef CYNET_X86_LEVELS
  const bool one = std::max(s.channels * s.stride * s.stride, s.filters) <= 16;
  if (level >= AVX512 && (one || has_single_avx512_unit())) return AVX512_BY_ROW;
#endif
  return level;
}

}  // namespace winograd
}  // namespace cynet

#endif
