// Batch normalization of the channels of (outer, channels, inner), and instance normalization.
// Floats whose channels are neighbours in memory have loops of their own (channels_last_loops.h).
#ifndef CYNET_LANES
#include "kernel.h"
#include "normalization/channels_last.h"
#include "reduce/line_reduce.h"

namespace cynet {
// `given`: the statistics are always the moving ones. `fixed`: gamma counts as 1, and gets gradient
// 0. `variance`: the third output is the variance, else 1 / sqrt(variance + eps). `last`: memory is
// (outer, inner, channels), of floats.
#define BATCH_NORM_FIELDS(field)                                                          \
  field(int64_t, outer) field(int64_t, channels) field(int64_t, inner) field(double, eps) \
      field(double, momentum) field(bool, fixed) field(bool, given) field(bool, relu)     \
          field(bool, residual) field(bool, variance) field(bool, last)
CYNET_PARAMS(BatchNorm, BATCH_NORM_FIELDS)
#define SAMPLE_NORM_FIELDS(field)                                                     \
  field(int64_t, batch) field(int64_t, channels) field(int64_t, n) field(double, eps) \
      field(bool, relu)
CYNET_PARAMS(SampleNorm, SAMPLE_NORM_FIELDS)

static NormShape norm_shape_of(const BatchNorm& p) {
  return {p.outer * p.inner, p.channels, p.eps, p.fixed, p.relu, p.residual};
}
static NormShape norm_shape_of(const SampleNorm& p) {
  return {p.n, p.channels, p.eps, false, p.relu, false};
}

static bool is_computed_by_rows(const Args& args, const BatchNorm& p) {
  return p.last || (p.inner == 1 && args.in[0]->dtype == F32);
}

// Doubles for a value of each channel, rounded up to whole cache lines.
static int64_t padded_channels(int64_t channels) { return (channels + 7) / 8 * 8; }

static int64_t batch_norm_workspace_bytes(const Args& args) {
  const BatchNorm& p = args.as<BatchNorm>();
  const NormShape rows = norm_shape_of(p);
  const int64_t own = 8 * padded_channels(p.channels);
  if (is_computed_by_rows(args, p))
    return own + norm_workspace_bytes(&rows) + 2 * p.channels * sizeof(float);
  return own + (p.relu ? args.in[0]->size * element_size(args.in[0]->dtype) : 0);
}

static int64_t sample_norm_workspace_bytes(const Args& args) {
  const SampleNorm& p = args.as<SampleNorm>();
  const NormShape rows = norm_shape_of(p);
  return norm_workspace_bytes(&rows) + 4 * p.channels * sizeof(float);
}

static double variance_of(double inverse, double eps) { return 1 / (inverse * inverse) - eps; }
}  // namespace cynet

#define CYNET_PER_ISA_FILE "normalization/batch_norm.cc"
#include "isa/for_each_isa.h"

CYNET_SPACE_KERNEL(batch_norm, BatchNorm, 2, batch_norm_workspace_bytes, CYNET_FLOATS)
CYNET_SPACE_KERNEL(batch_norm_grad, BatchNorm, 3, batch_norm_workspace_bytes, CYNET_FLOATS)
CYNET_SPACE_KERNEL(instance_norm_last, SampleNorm, 1, sample_norm_workspace_bytes, float)
CYNET_SPACE_KERNEL(instance_norm_last_grad, SampleNorm, 1, sample_norm_workspace_bytes, float)
#else
namespace {

// Computes scale[c], then shift[c]: forward is x * scale + shift.
void compute_scales(const NormShape& s, const float* gamma, const float* beta, const float* mean,
                    const float* inverse, float* scale) {
  const int64_t n = s.channels;
  for (int64_t c = 0; c < n; ++c) {
    const double factor = (s.fixed ? 1.0 : double(gamma[c])) * inverse[c];
    scale[c] = float(factor);
    scale[n + c] = float(beta[c] - mean[c] * factor);
  }
}

void normalize_rows(const Args& args, const BatchNorm& p, bool given) {  // given mean, variance
  const NormShape s = norm_shape_of(p);
  const int64_t n = s.channels;
  const float* x = args.input<float>(0);
  double* space = static_cast<double*>(args.space);
  if (given) {
    for (int64_t c = 0; c < n; ++c) {
      space[c] = args.input<float>(3)[c];
      space[n + c] = args.input<float>(4)[c];
    }
  } else {
    norm_statistics(&s, x, args.threads, space);
  }
  float *mean = reinterpret_cast<float*>(space + 2 * n), *inverse = mean + n;
  float* scale = reinterpret_cast<float*>(space);  // written after the part that is read
  for (int64_t c = 0; c < n; ++c) {
    mean[c] = float(space[c]);
    inverse[c] = float(1 / std::sqrt(space[n + c] + p.eps));
  }
  for (int64_t c = 0; c < n; ++c) {
    put_number(args.output<float>(1), c, mean[c], args.add[1]);
    put_number(args.output<float>(2), c, p.variance ? variance_of(inverse[c], p.eps) : inverse[c],
               args.add[2]);
  }
  if (!args.wanted[0]) return;
  compute_scales(s, args.input<float>(1), args.input<float>(2), mean, inverse, scale);
  norm_apply(&s, x, scale, scale + n, args.input<float>(5), args.output<float>(0), args.add[0],
             args.threads);
}

template <typename T>
void normalize_channel(const Args& args, const BatchNorm& p, bool given, int64_t c) {
  const int64_t count = p.outer * p.inner, step = p.channels * p.inner, n = p.inner;
  const T* x = args.input<T>(0) + c * n;
  double mean = 0, variance = 0;
  if (given) {
    mean = args.input<T>(3)[c], variance = args.input<T>(4)[c];
  } else {
    for (int64_t i = 0; i < p.outer; ++i) mean += sum_of_line(x + i * step, n, T(0));
    mean /= count;
    for (int64_t i = 0; i < p.outer; ++i) variance += line_square_sum(x + i * step, n, T(mean));
    variance /= count;
  }
  const double inverse = 1 / std::sqrt(variance + p.eps), gamma = p.fixed ? 1 : args.input<T>(1)[c];
  put_number(args.output<T>(1), c, mean, args.add[1]);
  put_number(args.output<T>(2), c, p.variance ? variance_of(T(inverse), p.eps) : inverse,
             args.add[2]);
  if (!args.wanted[0]) return;
  const T scale = T(gamma * inverse), shift = T(args.input<T>(2)[c] - mean * gamma * inverse);
  const bool relu = p.relu;
  for (int64_t i = 0; i < p.outer; ++i) {
    const T* line = x + i * step;
    T* y = args.output<T>(0) + c * n + i * step;
    const auto value = [=](int64_t k) CYNET_XLAMBDA {
      const T v = line[k] * scale + shift;
      return relu && v < 0 ? T(0) : v;
    };
    if (args.add[0]) {
      CYNET_IVDEP
      for (int64_t k = 0; k < n; ++k) y[k] += value(k);
    } else {
      CYNET_IVDEP
      for (int64_t k = 0; k < n; ++k) y[k] = value(k);
    }
  }
}

// Writes y, mean and 1 / sqrt(variance + eps) or the variance; reads x, gamma, beta, the moving
// mean and variance and optionally a residual.
template <typename T>
void batch_norm(const Args& args) {
  const BatchNorm& p = args.as<BatchNorm>();
  const bool given = p.given || !args.training;
  if (std::is_same<T, float>::value && is_computed_by_rows(args, p))
    return normalize_rows(args, p, given);
  parallel_for(args.threads, p.channels, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) normalize_channel<T>(args, p, given, c);
  });
}

void rows_backward(const Args& args, const BatchNorm& p, bool given, const float* mean,
                   const float* inverse, char* space) {
  const NormShape s = norm_shape_of(p);
  float* own = reinterpret_cast<float*>(space + norm_workspace_bytes(&s));
  NormGradient g;
  g.dy = args.input<float>(0), g.x = args.input<float>(1), g.gamma = args.input<float>(2);
  g.y = args.input<float>(6);
  g.mean = mean, g.inv_std = inverse, g.constant = given;
  if (s.relu && !s.residual) compute_scales(s, g.gamma, args.input<float>(5), mean, inverse, own);
  g.scale = own, g.shift = own + s.channels;
  g.dx = args.output<float>(0), g.dgamma = args.output<float>(1), g.dbeta = args.output<float>(2);
  g.dresidual = args.output<float>(5);
  g.add_x = args.add[0], g.add_gamma = args.add[1], g.add_beta = args.add[2];
  g.add_residual = args.add[5];
  norm_backward(&s, &g, args.threads, reinterpret_cast<double*>(space));
}

template <typename T>
void channel_backward(const Args& args, const BatchNorm& p, bool given, int64_t c, double mean,
                      double inverse, const T* dy) {
  const int64_t count = p.outer * p.inner, step = p.channels * p.inner, n = p.inner;
  const T* x = args.input<T>(1) + c * n;
  double total = 0, product = 0;
  dy += c * n;
  for (int64_t i = 0; i < p.outer; ++i) {
    total += sum_of_line(dy + i * step, n, T(0));
    product += line_product(dy + i * step, x + i * step, n, T(mean));
  }
  put_number(args.output<T>(2), c, total, args.add[2]);
  put_number(args.output<T>(1), c, p.fixed ? 0 : product * inverse, args.add[1]);
  if (!args.wanted[0]) return;
  // dx = a dy + b x + d
  const double gamma = p.fixed ? 1 : args.input<T>(2)[c];
  const T a = T(gamma * inverse);
  const T b = T(given ? 0 : -gamma * inverse * inverse * inverse * product / count);
  const T d = T(given ? 0 : -gamma * inverse * total / count - b * mean);
  for (int64_t i = 0; i < p.outer; ++i) {
    const T *g = dy + i * step, *line = x + i * step;
    T* dx = args.output<T>(0) + c * n + i * step;
    if (args.add[0]) {
      CYNET_IVDEP
      for (int64_t k = 0; k < n; ++k) dx[k] += a * g[k] + b * line[k] + d;
    } else {
      CYNET_IVDEP
      for (int64_t k = 0; k < n; ++k) dx[k] = a * g[k] + b * line[k] + d;
    }
  }
}

// Writes dx, dgamma, dbeta, the moving mean and variance and optionally dresidual; reads dy, x,
// gamma, mean, 1 / sqrt(variance + eps) or the variance and, for relu, beta or y. dx may be dy.
template <typename T>
void batch_norm_grad(const Args& args) {
  const BatchNorm& p = args.as<BatchNorm>();
  const bool given = p.given || !args.training;
  const T *dy = args.input<T>(0), *inverse = args.input<T>(4);
  T *moving_mean = args.output<T>(3), *moving_var = args.output<T>(4);
  const T* mean = given ? moving_mean : args.input<T>(3);
  char* space = static_cast<char*>(args.space) + 8 * padded_channels(p.channels);
  if (given || p.variance) {
    T* own = static_cast<T*>(args.space);
    const T* variance = given ? moving_var : args.input<T>(4);
    for (int64_t c = 0; c < p.channels; ++c) own[c] = T(1 / std::sqrt(variance[c] + p.eps));
    inverse = own;
  }
  bool done = false;
  if constexpr (std::is_same<T, float>::value) {
    done = is_computed_by_rows(args, p);
    if (done) rows_backward(args, p, given, mean, inverse, space);
  }
  if (!done) {
    if (p.relu) {
      T* masked = reinterpret_cast<T*>(space);
      parallel_for(args.threads, args.in[0]->size, [&](int64_t begin, int64_t end) {
        const T *g = args.input<T>(0), *y = args.input<T>(6);
        CYNET_IVDEP
        for (int64_t i = begin; i < end; ++i) masked[i] = y[i] > 0 ? g[i] : T(0);
      });
      dy = masked;
    }
    parallel_for(args.threads, p.channels, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c)
        channel_backward(args, p, given, c, mean[c], inverse[c], dy);
    });
  }
  if (given) return;
  const double keep = p.momentum;
  for (int64_t c = 0; c < p.channels; ++c) {
    moving_mean[c] = T(keep * moving_mean[c] + (1 - keep) * mean[c]);
    moving_var[c] = T(keep * moving_var[c] + (1 - keep) * variance_of(inverse[c], p.eps));
  }
}

// Computes four floats per channel: mean, 1 / sqrt(variance + eps), and forward's scale and shift.
void sample_statistics(const NormShape& s, const float* x, const float* gamma, const float* beta,
                       int threads, double* space, float* own) {
  const int64_t n = s.channels;
  norm_statistics(&s, x, threads, space);
  for (int64_t c = 0; c < n; ++c) {
    const double inverse = 1 / std::sqrt(space[n + c] + s.eps);
    own[c] = float(space[c]), own[n + c] = float(inverse);
    if (beta) {
      const double factor = gamma[c] * inverse;
      own[2 * n + c] = float(factor);
      own[3 * n + c] = float(beta[c] - space[c] * factor);
    }
  }
}

// Computes y from x, gamma, beta; the layout is (batch, n, channels).
template <typename T>
void instance_norm_last(const Args& args) {
  const SampleNorm& p = args.as<SampleNorm>();
  const NormShape s = norm_shape_of(p);
  const int64_t n = p.channels, size = p.n * n;
  double* space = static_cast<double*>(args.space);
  float* own = reinterpret_cast<float*>(static_cast<char*>(args.space) + norm_workspace_bytes(&s));
  for (int64_t i = 0; i < p.batch; ++i) {
    const float* x = args.input<float>(0) + i * size;
    sample_statistics(s, x, args.input<float>(1), args.input<float>(2), args.threads, space, own);
    norm_apply(&s, x, own + 2 * n, own + 3 * n, nullptr, args.output<float>(0) + i * size,
               args.add[0], args.threads);
  }
}

// Computes dx, dgamma, dbeta from dy, x, gamma and, for relu, beta; dx may be dy.
template <typename T>
void instance_norm_last_grad(const Args& args) {
  const SampleNorm& p = args.as<SampleNorm>();
  const NormShape s = norm_shape_of(p);
  const int64_t n = p.channels, size = p.n * n;
  double* space = static_cast<double*>(args.space);
  float* own = reinterpret_cast<float*>(static_cast<char*>(args.space) + norm_workspace_bytes(&s));
  NormGradient g = {};
  g.gamma = args.input<float>(2), g.mean = own, g.inv_std = own + n;
  g.scale = own + 2 * n, g.shift = own + 3 * n;
  g.dgamma = args.output<float>(1), g.dbeta = args.output<float>(2);
  g.add_x = args.add[0];
  for (int64_t i = 0; i < p.batch; ++i) {
    g.dy = args.input<float>(0) + i * size, g.x = args.input<float>(1) + i * size;
    sample_statistics(s, g.x, g.gamma, p.relu ? args.input<float>(3) : nullptr, args.threads, space,
                      own);
    g.dx = args.wanted[0] ? args.output<float>(0) + i * size : nullptr;
    g.add_gamma = args.add[1] || i > 0, g.add_beta = args.add[2] || i > 0;
    norm_backward(&s, &g, args.threads, space);
  }
}
}
#endif
