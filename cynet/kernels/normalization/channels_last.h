// Loops over channels-last float tensors: x[row * channels + c], row over (n, *size).
//
// Batch normalization, with a residual and relu folded in.
#ifndef CYNET_CHANNELS_LAST_H
#define CYNET_CHANNELS_LAST_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "common/half.h"
#include "isa/levels.h"
#include "parallel.h"

#include "isa/simd_levels.h"

namespace cynet {

struct NormShape {
  int64_t rows, channels;
  double eps;
  int fixed;     // gamma counts as 1 and has no gradient
  int relu;      // out = max(out, 0)
  int residual;  // out = norm(x) + residual, before relu
};

struct NormGradient {
  const float *dy, *x, *y;       // y: the output, read where a residual hides relu's mask
  const float *scale, *shift;    // scale and shift of forward: give relu's mask without y
  const float *gamma, *mean, *inv_std;
  float *dx, *dresidual, *dgamma, *dbeta;
  bool add_x, add_residual, add_gamma, add_beta;
  bool constant;                 // mean and variance were given
};

constexpr int64_t kRowsABlock = 64;   // summed in float
constexpr int64_t kReadAtOnce = 4;    // positions of a part: prefetchers read ahead more
constexpr int64_t kPage = 1024;       // floats of a page of memory
constexpr int64_t kMapped = 1024;     // floats of an array that are written together

// Rows of one task: about 128 KB, whole blocks. Sums of tasks are added in order.
static inline int64_t norm_rows(const NormShape* s) {
  return std::clamp<int64_t>((1 << 15) / s->channels / kRowsABlock, 1, 32) * kRowsABlock;
}
static inline int64_t norm_parts(const NormShape* s) {
  return (s->rows + norm_rows(s) - 1) / norm_rows(s);
}

// Bytes of scratch for both directions.
static inline size_t norm_workspace_bytes(const NormShape* s) {
  return (2 * norm_parts(s) * s->channels) * sizeof(double) + 4 * s->channels * sizeof(float);
}

}  // namespace cynet

#define CYNET_LOOPS "normalization/channels_last_loops.h"
#include "isa/for_each_isa.h"

#endif
