// Copies byte pixels (H, W, C) into a batch (C, H, W), optionally mirrored and normalized.
#ifndef CYNET_IMAGE_INTO_BATCH_H
#define CYNET_IMAGE_INTO_BATCH_H

#include <cstdint>

namespace cynet {

constexpr int LOOP_PIXELS = 128;  // pixels that a loop processes together

}  // namespace cynet

#define CYNET_PER_ISA_FILE "image/into_batch_loops.h"
#include "isa/for_each_isa.h"

namespace cynet {

typedef void (*NormalizedRow)(const uint8_t*, int64_t, const float*, const float*, float*, int64_t);
typedef void (*ClippedRow)(const uint8_t*, int64_t, uint8_t, uint8_t*, int64_t);  // clips a row

template <int C>
inline NormalizedRow normalized_row_function(int level, bool mirrored) {
  static const NormalizedRow straight[] = CYNET_AT_LEVELS(write_normalized_row<C, false>);
  static const NormalizedRow turned[] = CYNET_AT_LEVELS(write_normalized_row<C, true>);
  return mirrored ? turned[level] : straight[level];
}

template <int C>
inline ClippedRow clipped_row_function(int level, bool mirrored) {
  static const ClippedRow straight[] = CYNET_AT_LEVELS(write_clipped_row<C, false>);
  static const ClippedRow turned[] = CYNET_AT_LEVELS(write_clipped_row<C, true>);
  return mirrored ? turned[level] : straight[level];
}

// out (channels, height, width) = (in - mean) * factor; rows are `stride` bytes apart.
inline void write_normalized(int level, const uint8_t* in, int64_t stride, int64_t height,
                             int64_t width, int channels, bool mirrored, const float* mean,
                             const float* factor, float* out) {
  const NormalizedRow row = channels == 1   ? normalized_row_function<1>(level, mirrored)
                            : channels == 3 ? normalized_row_function<3>(level, mirrored)
                                            : normalized_row_function<4>(level, mirrored);
  for (int64_t y = 0; y < height; ++y)
    row(in + y * stride, width, mean, factor, out + y * width, height * width);
}

// out (channels, height, width) = min(in, maximum)
inline void clip_image(int level, const uint8_t* in, int64_t stride, int64_t height, int64_t width,
                       int channels, bool mirrored, uint8_t maximum, uint8_t* out) {
  const ClippedRow row = channels == 1   ? clipped_row_function<1>(level, mirrored)
                         : channels == 3 ? clipped_row_function<3>(level, mirrored)
                                         : clipped_row_function<4>(level, mirrored);
  for (int64_t y = 0; y < height; ++y)
    row(in + y * stride, width, maximum, out + y * width, height * width);
}

}  // namespace cynet

#endif
