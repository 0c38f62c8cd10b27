// Convolutions of row-major float32 images without a stride, by products of the weights with lines
// of the image that lie as they are (image_products_loops.h).
#ifndef CYNET_IMAGE_PRODUCTS_H
#define CYNET_IMAGE_PRODUCTS_H

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "half.h"
#include "levels.h"
#include "parallel.h"

#ifdef CYNET_X86_LEVELS
#include <immintrin.h>
#endif

namespace cynet {

// One group of one image: channels of depth, height, width, with the pad, and the output's.
struct ImageShape {
  int64_t channels, filters;
  int64_t size[3], out[3], kernel[3], dilate[3], pad[3];
  int64_t batch, groups;

  // lines that an output is a sum of, and floats for where they begin
  int64_t depth() const { return channels * kernel[0] * kernel[1] * kernel[2]; }
  int64_t offsets() const { return (2 * depth() + 15) / 16 * 16; }
  bool padded() const { return pad[0] || pad[1] || pad[2]; }
  // floats of the image of a group, of its own without the pad, and of its output
  int64_t floats() const { return channels * size[0] * size[1] * size[2]; }
  int64_t given() const {
    return channels * (size[0] - 2 * pad[0]) * (size[1] - 2 * pad[1]) * (size[2] - 2 * pad[2]);
  }
  int64_t made() const { return filters * out[0] * out[1] * out[2]; }
};

}  // namespace cynet

#define CYNET_LOOPS "vectors.h"
#include "each_level.h"
#define CYNET_LOOPS "line_sums_loops.h"
#include "each_level.h"
#define CYNET_LOOPS "image_products_loops.h"
#include "each_level.h"

namespace cynet {

// Whether little is computed for pixels between the rows, of which a row has kernel - 1.
inline bool image_suits(const ImageShape& s) { return 3 * s.size[2] <= 4 * s.out[2]; }

// Floats of scratch, to be aligned to 64: where the lines begin, and padded images.
inline int64_t image_space(const ImageShape& s, int threads) {
  return s.offsets() + (s.padded() ? threads * (s.floats() + FLOATS_APART) : 0);
}

// Channels begin .. end of an image with zeros around them.
inline void pad_image(const ImageShape& s, const float* x, int64_t begin, int64_t end, float* to) {
  const int64_t height = s.size[1], width = s.size[2], line = width - 2 * s.pad[2];
  const int64_t slices = s.size[0] - 2 * s.pad[0], rows = height - 2 * s.pad[1];
  std::fill(to + begin * s.size[0] * height * width, to + end * s.size[0] * height * width, 0.0f);
  for (int64_t c = begin; c < end; ++c)
    for (int64_t d = 0; d < slices; ++d) {
      const int64_t first = (c * s.size[0] + d + s.pad[0]) * height + s.pad[1];
      for (int64_t h = 0; h < rows; ++h)
        std::memcpy(to + (first + h) * width + s.pad[2], x + ((c * slices + d) * rows + h) * line,
                    line * sizeof(float));
    }
}

// y = w * x (+ bias) (+ y): x (batch, groups * channels, ...), w (groups * filters, channels, ...),
// y (batch, groups * filters, ...). `bias` may be NULL. Sums are taken in the order of w whatever
// the number of threads.
inline void image_forward(int level, const ImageShape& s, const float* x, const float* w,
                          const float* bias, float* y, bool add, int threads, float* space) {
  static constexpr decltype(&baseline::image_rows) table[] = CYNET_AT_LEVELS(image_rows);
  const auto run = table[level];
  const int64_t units = s.batch * s.groups, rows = s.out[0] * s.out[1], depth = s.depth();
  int64_t* offsets = reinterpret_cast<int64_t*>(space);
  float* padded = space + s.offsets();
  int64_t* offset = offsets;
  for (int64_t c = 0; c < s.channels; ++c)
    for (int64_t i = 0; i < s.kernel[0]; ++i)
      for (int64_t j = 0; j < s.kernel[1]; ++j)
        for (int64_t k = 0; k < s.kernel[2]; ++k) {
          const int64_t row = (c * s.size[0] + i * s.dilate[0]) * s.size[1] + j * s.dilate[1];
          *offset++ = row * s.size[2] + k * s.dilate[2];
        }
  const auto unit = [&](int64_t u, const float* image, int64_t begin, int64_t end) {
    const int64_t group = u % s.groups;
    run(s, image, offsets, w + group * s.filters * depth,
        bias ? bias + group * s.filters : nullptr, y + u * s.made(), add, begin, end);
  };
  if (units >= threads) {
    return for_parts(threads, [&](int64_t part) {
      float* own = padded + part * (s.floats() + FLOATS_APART);
      for (int64_t u = units * part / threads; u < units * (part + 1) / threads; ++u) {
        if (s.padded()) pad_image(s, x + u * s.given(), 0, s.channels, own);
        unit(u, s.padded() ? own : x + u * s.given(), 0, rows);
      }
    });
  }
  for (int64_t u = 0; u < units; ++u) {  // rows are shared out
    if (s.padded())
      parallel_for(threads, s.channels, [&](int64_t begin, int64_t end) {
        pad_image(s, x + u * s.given(), begin, end, padded);
      });
    parallel_for(threads, rows, [&](int64_t begin, int64_t end) {
      unit(u, s.padded() ? padded : x + u * s.given(), begin, end);
    });
  }
}

}  // namespace cynet

#endif
