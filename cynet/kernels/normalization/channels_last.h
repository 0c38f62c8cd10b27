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

struct NormGradient {  // arrays of a normalization's gradient
  const float *dy, *x, *y;       // y: the output, needed for relu's mask with a residual
  const float *scale, *shift;    // scale and shift of forward: give relu's mask without y
  const float *gamma, *mean, *inv_std;
  float *dx, *dresidual, *dgamma, *dbeta;
  bool add_x, add_residual, add_gamma, add_beta;
  bool constant;                 // mean and variance are constants
};

constexpr int64_t kBlockRows = 64;   // summed in float
constexpr int64_t kPartRows = 4;    // rows that are read together: prefetchers like it
constexpr int64_t kPageFloats = 1024;       // floats of a page of memory
constexpr int64_t kMapFloats = 1024;     // floats that are written together

// Rows of one task: about 128 KB, a multiple of kBlockRows. Sums of tasks are added in order.
static inline int64_t norm_row_count(const NormShape* s) {  // rows of one task
  return std::clamp<int64_t>((1 << 15) / s->channels / kBlockRows, 1, 32) * kBlockRows;
}
static inline int64_t norm_part_count(const NormShape* s) {  // number of tasks
  return (s->rows + norm_row_count(s) - 1) / norm_row_count(s);
}

// Bytes of workspace for forward and backward.
static inline size_t norm_workspace_bytes(const NormShape* s) {
  return (2 * norm_part_count(s) * s->channels) * sizeof(double) + 4 * s->channels * sizeof(float);
}

}  // namespace cynet

#define CYNET_PER_ISA_FILE "normalization/channels_last_loops.h"
#include "isa/for_each_isa.h"

#endif
