// Loops over channels-last float tensors: x[row * channels + c], row over (n, *size).
//
// Batch normalization (with a residual and relu folded in) and pooling over 2-d windows. Each
// function picks the loops of a level (levels.h).
#ifndef CYNET_CHANNELS_LAST_H
#define CYNET_CHANNELS_LAST_H

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "common/half.h"
#include "isa/levels.h"
#include "parallel.h"

#ifdef CYNET_X86_LEVELS
#include <immintrin.h>
#endif

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
  const float *scale, *shift;    // as forward applied them: relu's mask without y
  const float *gamma, *mean, *inv_std;
  float *dx, *dresidual, *dgamma, *dbeta;
  bool add_x, add_residual, add_gamma, add_beta;
  bool constant;                 // mean and variance were given
};

struct PoolWindow {
  int64_t batch, channels, in_size[2], out_size[2], kernel[2], stride[2], pad[2], pad_after[2];
  int type;       // 0 max, 1 average, 2 sum
  int count_pad;  // averages divide by the window as far as the padded input goes
};

constexpr int64_t kRowsABlock = 64;   // summed in float
constexpr int64_t kReadAtOnce = 4;    // places of a part: prefetchers ask for more of memory
constexpr int64_t kPage = 1024;       // floats of a page of memory
constexpr int64_t kMapped = 1024;     // floats of an array that are written together

// Rows of one piece of work: about 128 KB, whole blocks. Sums of pieces are added in order.
static inline int64_t norm_rows(const NormShape* s) {
  return std::clamp<int64_t>((1 << 15) / s->channels / kRowsABlock, 1, 32) * kRowsABlock;
}
static inline int64_t norm_parts(const NormShape* s) {
  return (s->rows + norm_rows(s) - 1) / norm_rows(s);
}

// Bytes of scratch for both directions.
static inline size_t norm_space(const NormShape* s) {
  return (2 * norm_parts(s) * s->channels) * sizeof(double) + 4 * s->channels * sizeof(float);
}

}  // namespace cynet

#define CYNET_LOOPS "isa/simd.h"
#include "isa/for_each_isa.h"
#define CYNET_LOOPS "normalization/channels_last_loops.h"
#include "isa/for_each_isa.h"

#define CYNET_PICK(function) \
  static decltype(&baseline::function) const levels[] = CYNET_AT_LEVELS(function)

namespace cynet {

inline void norm_statistics(int level, const NormShape* s, const float* x, int threads,
                            double* space) {
  CYNET_PICK(norm_statistics);
  levels[level](s, x, threads, space);
}

inline void norm_apply(int level, const NormShape* s, const float* x, const float* scale,
                       const float* shift, const float* residual, float* y, bool add,
                       int threads) {
  CYNET_PICK(norm_apply);
  levels[level](s, x, scale, shift, residual, y, add, threads);
}

inline void norm_backward(int level, const NormShape* s, const NormGradient* g, int threads,
                          double* space) {
  CYNET_PICK(norm_backward);
  levels[level](s, g, threads, space);
}

inline void window_pool(int level, const PoolWindow* s, const float* x, float* y, bool add,
                        int threads) {
  CYNET_PICK(window_pool);
  levels[level](s, x, y, add, threads);
}

inline void window_unpool(int level, const PoolWindow* s, const float* dy, const float* x,
                          float* dx, bool add, int threads) {
  CYNET_PICK(window_unpool);
  levels[level](s, dy, x, dx, add, threads);
}

#undef CYNET_PICK

}  // namespace cynet

#endif
