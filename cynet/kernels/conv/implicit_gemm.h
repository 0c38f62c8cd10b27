// Implicit gemm: convolutions of row-major float32 images as products of the weights with rows that
// are read from the image in place, or with a stride from a copy of it (implicit_gemm_loops.h).
#ifndef CYNET_IMAGE_PRODUCTS_H
#define CYNET_IMAGE_PRODUCTS_H

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

// The sizes of one group of one image: channels, depth, height, width, pad, and the output. Padding
// or a stride takes a copy. In it every stride-th number of an axis forms an image of its own, a
// phase, and an output is a sum over contiguous rows of the phases.
struct ImageShape {  // sizes of a convolution of one group of one image
  int64_t channels, filters;
  int64_t size[3], out[3], kernel[3], stride[3], dilate[3], pad[3];
  int64_t batch, groups;

  // The number of input rows that an output row sums; floats that hold their offsets.
  int64_t summed_rows() const { return channels * kernel[0] * kernel[1] * kernel[2]; }
  int64_t row_offset_floats() const { return (2 * summed_rows() + 15) / 16 * 16; }
  bool is_strided() const { return stride[0] > 1 || stride[1] > 1 || stride[2] > 1; }
  bool needs_copy() const { return is_strided() || pad[0] || pad[1] || pad[2]; }
  // The size of a phase along an axis.
  int64_t phase_size(int axis) const { return (size[axis] + stride[axis] - 1) / stride[axis]; }
  int64_t input_size(int axis) const { return size[axis] - 2 * pad[axis]; }  // without the padding
  // The number of floats of a channel, split into the phases of its strides.
  int64_t channel_floats() const {  // of a channel, split into phases
    return stride[0] * phase_size(0) * stride[1] * phase_size(1) * stride[2] * phase_size(2);
  }
  int64_t input_size() const { return channels * input_size(0) * input_size(1) * input_size(2); }
  int64_t output_size() const { return filters * out[0] * out[1] * out[2]; }
  // The offset of element (d, h, w) of a channel in the phases.
  int64_t phase_offset(int64_t d, int64_t h, int64_t w) const {  // of an element in the phases
    const int64_t phase = (d % stride[0] * stride[1] + h % stride[1]) * stride[2] + w % stride[2];
    return ((phase * phase_size(0) + d / stride[0]) * phase_size(1) + h / stride[1]) *
               phase_size(2) +
           w / stride[2];
  }
};

}  // namespace cynet

#define CYNET_PER_ISA_FILE "isa/simd.h"
#include "isa/for_each_isa.h"
#define CYNET_PER_ISA_FILE "gemm/microkernel_loops.h"
#include "isa/for_each_isa.h"
#define CYNET_PER_ISA_FILE "conv/implicit_gemm_loops.h"
#include "isa/for_each_isa.h"

namespace cynet {

// Floats of workspace, aligned to 64 bytes: offsets of rows, and copies of images.
inline int64_t image_workspace_floats(const ImageShape& s, int threads) {
  return s.row_offset_floats() +
         (s.needs_copy() ? threads * (s.channels * s.channel_floats() + FLOATS_APART) : 0);
}

// y = w * x (+ bias) (+ y): x (batch, groups * channels, ...), w (groups * filters, channels, ...),
// y (batch, groups * filters, ...). `bias` may be NULL. The sums have the order of w, whatever the
// number of threads.
inline void convolve_nchw(int level, const ImageShape& s, const float* x, const float* w,
                          const float* bias, float* y, bool add, int threads, float* space) {
  static constexpr decltype(&baseline::convolve_rows) table[] = CYNET_AT_LEVELS(convolve_rows);
  static constexpr decltype(&baseline::copy_to_phases) copies[] = CYNET_AT_LEVELS(copy_to_phases);
  const auto run = table[level];
  const auto copy = copies[level];
  const int64_t units = s.batch * s.groups, rows = s.out[0] * s.out[1], depth = s.summed_rows();
  int64_t* offsets = reinterpret_cast<int64_t*>(space);
  float* held = space + s.row_offset_floats();
  int64_t* offset = offsets;
  for (int64_t c = 0; c < s.channels; ++c)
    for (int64_t i = 0; i < s.kernel[0]; ++i)
      for (int64_t j = 0; j < s.kernel[1]; ++j)
        for (int64_t k = 0; k < s.kernel[2]; ++k)
          *offset++ = c * s.channel_floats() +
                      s.phase_offset(i * s.dilate[0], j * s.dilate[1], k * s.dilate[2]);
  const auto unit = [&](int64_t u, const float* image, int64_t begin, int64_t end) {
    const int64_t group = u % s.groups;
    run(s, image, offsets, w + group * s.filters * depth, bias ? bias + group * s.filters : nullptr,
        y + u * s.output_size(), add, begin, end);
  };
  if (units >= threads) {
    return for_parts(threads, [&](int64_t part) {
      float* own = held + part * (s.channels * s.channel_floats() + FLOATS_APART);
      for (int64_t u = units * part / threads; u < units * (part + 1) / threads; ++u) {
        if (s.needs_copy()) copy(s, x + u * s.input_size(), 0, s.channels, own);
        unit(u, s.needs_copy() ? own : x + u * s.input_size(), 0, rows);
      }
    });
  }
  for (int64_t u = 0; u < units; ++u) {  // threads share the rows
    if (s.needs_copy())
      parallel_for(threads, s.channels, [&](int64_t begin, int64_t end) {
        copy(s, x + u * s.input_size(), begin, end, held);
      });
    parallel_for(threads, rows, [&](int64_t begin, int64_t end) {
      unit(u, s.needs_copy() ? held : x + u * s.input_size(), begin, end);
    });
  }
}

}  // namespace cynet

#endif
