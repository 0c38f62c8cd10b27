// Layer normalization (scale and shift by vectors along the line) and instance normalization (scale
// and shift by two numbers for each line).
#ifndef CYNET_LANES
#include "kernel.h"
#include "reduce/line_reduce.h"

namespace cynet {
#define LAYER_NORM_FIELDS(field) \
  field(int64_t, outer) field(int64_t, n) field(int64_t, inner) field(double, eps)
CYNET_PARAMS(LayerNorm, LAYER_NORM_FIELDS)
#define INSTANCE_NORM_FIELDS(field) \
  field(int64_t, batch) field(int64_t, channels) field(int64_t, n) field(double, eps)
CYNET_PARAMS(InstanceNorm, INSTANCE_NORM_FIELDS)

// Columns that are a thread's unit of work, and that a loop sums together.
enum { SCALE_UNIT = 16, SCALE_TOGETHER = 256 };

// Bytes for the sums of dy and of dy (x - mean) of each line.
static int64_t instance_workspace_bytes(const Args& args) {
  const InstanceNorm& p = args.as<InstanceNorm>();
  return 2 * p.batch * p.channels * sizeof(double);
}
}  // namespace cynet

#define CYNET_PER_ISA_FILE "normalization/line_norm.cc"
#include "isa/for_each_isa.h"

CYNET_KERNEL(layer_norm, LayerNorm, 3, CYNET_FLOATS)
CYNET_KERNEL(layer_norm_scale_grad, LayerNorm, 3, CYNET_FLOATS)
CYNET_KERNEL(layer_norm_grad, LayerNorm, 3, CYNET_FLOATS)
CYNET_KERNEL(instance_norm, InstanceNorm, 3, CYNET_FLOATS)
CYNET_SPACE_KERNEL(instance_norm_grad, InstanceNorm, 4, instance_workspace_bytes, CYNET_FLOATS)
#else
namespace {
// y = or += (x - center) scale gamma + beta. EACH: gamma and beta are vectors, else numbers.
template <bool EACH, typename T>
CYNET_XINLINE void scale_line(const T* x, const T* gamma, const T* beta, T* y, int64_t n, T center,
                              T scale, bool add) {
  const T g = gamma[0], b = beta[0];
  const auto value = [=](int64_t i) CYNET_XLAMBDA {
    return (x[i] - center) * scale * (EACH ? gamma[i] : g) + (EACH ? beta[i] : b);
  };
  if (add) {
    CYNET_IVDEP
    for (int64_t i = 0; i < n; ++i) y[i] += value(i);
  } else {
    CYNET_IVDEP
    for (int64_t i = 0; i < n; ++i) y[i] = value(i);
  }
}

#if defined(__GNUC__)
enum { SHORT_LINE = 256 };

// Writes or adds a vector, or with `part` its first `rest` numbers.
CYNET_XINLINE void write_lanes(float* to, Vec value, bool part, int64_t rest, bool add) {
  if (add) value += part ? load_part(to, rest) : load(to);
  if (part) store_part(to, value, rest);
  else store(to, value);
}

// normalize_line for 1 to SHORT_LINE floats, which are read once.
template <bool EACH>
CYNET_XINLINE void normalize_short_line(const float* x, const float* gamma, const float* beta,
                                        float* y, int64_t n, double eps, bool add, double* mean,
                                        double* std) {
  const int count = static_cast<int>((n + LANES - 1) / LANES), last = count - 1;
  const int64_t rest = n - last * LANES;
  Vec v[SHORT_LINE / LANES], total = {}, squares = {};
  for (int k = 0; k < last; ++k) {
    v[k] = load(x + k * LANES);
    total += v[k];
  }
  v[last] = load_part(x + last * LANES, rest);
  total += v[last];
  *mean = sum_in_double(total) / n;
  const float center = static_cast<float>(*mean);
  for (int k = 0; k < last; ++k) {
    v[k] -= center;
    squares += v[k] * v[k];
  }
  v[last] = keep_first_lanes(v[last] - center, rest, 0.0f);
  squares += v[last] * v[last];
  *std = std::sqrt(sum_in_double(squares) / n + eps);
  const float scale = static_cast<float>(1 / *std);
  for (int k = 0; k < count; ++k) {
    const bool part = k == last;
    Vec value;
    if constexpr (EACH) {
      const Vec g = part ? load_part(gamma + k * LANES, rest) : load(gamma + k * LANES);
      const Vec b = part ? load_part(beta + k * LANES, rest) : load(beta + k * LANES);
      value = v[k] * scale * g + b;
    } else {
      value = v[k] * scale * gamma[0] + beta[0];
    }
    write_lanes(y + k * LANES, value, part, rest, add);
  }
}
#endif

// y = or += (x - mean) / std gamma + beta, with the mean and std of the row.
template <bool EACH, typename T>
void normalize_line(const T* x, const T* gamma, const T* beta, T* y, int64_t n, double eps,
                    bool add, double* mean, double* std) {
#if defined(__GNUC__)
  if constexpr (std::is_same<T, float>::value) {
    if (n <= SHORT_LINE)
      return normalize_short_line<EACH>(x, gamma, beta, y, n, eps, add, mean, std);
  }
#endif
  *mean = sum_of_line(x, n, T(0)) / n;
  const T center = static_cast<T>(*mean);
  *std = std::sqrt(line_square_sum(x, n, center) / n + eps);
  scale_line<EACH>(x, gamma, beta, y, n, center, static_cast<T>(1 / *std), add);
}

#if defined(__GNUC__)
// line_gradient for 1 to SHORT_LINE floats, which are read once.
CYNET_XINLINE void short_line_gradient(const float* dy, const float* x, const float* gamma,
                                       float mean, float scale, float* dx, int64_t n, bool add) {
  const int count = static_cast<int>((n + LANES - 1) / LANES), last = count - 1;
  const int64_t rest = n - last * LANES;
  Vec g[SHORT_LINE / LANES], v[SHORT_LINE / LANES], total = {}, product = {};
  for (int k = 0; k < last; ++k) {
    g[k] = load(dy + k * LANES) * load(gamma + k * LANES);
    v[k] = (load(x + k * LANES) - mean) * scale;
    total += g[k];
    product += g[k] * v[k];
  }
  g[last] = load_part(dy + last * LANES, rest) * load_part(gamma + last * LANES, rest);
  v[last] = (load_part(x + last * LANES, rest) - mean) * scale;
  total += g[last];
  product += g[last] * v[last];
  const float a = static_cast<float>(sum_in_double(total) / n);
  const float b = static_cast<float>(sum_in_double(product) / n);
  for (int k = 0; k < count; ++k) {
    write_lanes(dx + k * LANES, scale * (g[k] - a - b * v[k]), k == last, rest, add);
  }
}
#endif

// dx = or += the gradient of normalize_line, given mean and std; dx may be dy.
template <typename T>
void line_gradient(const T* dy, const T* x, const T* gamma, T mean, T std, T* dx, int64_t n,
                   bool add) {
  const T scale = 1 / std;
#if defined(__GNUC__)
  if constexpr (std::is_same<T, float>::value) {
    if (n <= SHORT_LINE) return short_line_gradient(dy, x, gamma, mean, scale, dx, n, add);
  }
#endif
  const T a = static_cast<T>(sum_of_terms<T>(n, [=](int64_t i) { return dy[i] * gamma[i]; }) / n);
  const T b = static_cast<T>(
      sum_of_terms<T>(n, [=](int64_t i) { return dy[i] * gamma[i] * ((x[i] - mean) * scale); }) /
      n);
  if (add) {
    CYNET_IVDEP
    for (int64_t i = 0; i < n; ++i)
      dx[i] += scale * (dy[i] * gamma[i] - a - b * ((x[i] - mean) * scale));
  } else {
    CYNET_IVDEP
    for (int64_t i = 0; i < n; ++i)
      dx[i] = scale * (dy[i] * gamma[i] - a - b * ((x[i] - mean) * scale));
  }
}

// Adds the first columns of dy (x - mean) / std, and of dy, over rows of n. Up to FEW_LINES rows
// are added in T, blocks of them in double.
enum { FEW_LINES = 64, GRADIENT_COLUMNS = 4 * LANES };

// Adds up to FEW_LINES rows of `width` columns.
template <typename T, bool WHOLE>
CYNET_XINLINE void add_column_sums(const T* dy, const T* x, const T* mean, const T* std,
                                   int64_t lines, int64_t n, int width, double* products,
                                   double* totals) {
  const int columns = WHOLE ? static_cast<int>(GRADIENT_COLUMNS) : width;
  T product[GRADIENT_COLUMNS] = {}, total[GRADIENT_COLUMNS] = {};
  for (int64_t line = 0; line < lines; ++line) {
    const T center = mean[line], scale = 1 / std[line];
    for (int i = 0; i < columns; ++i) {
      const T g = dy[line * n + i];
      product[i] += g * ((x[line * n + i] - center) * scale);
      total[i] += g;
    }
  }
  for (int i = 0; i < columns; ++i) products[i] += product[i], totals[i] += total[i];
}

template <typename T>
void compute_scale_grads(const T* dy, const T* x, const T* mean, const T* std, int64_t lines,
                         int64_t n, int64_t columns, double* products, double* totals) {
  for (int64_t i = 0; i < columns; ++i) products[i] = totals[i] = 0;
  for (int64_t first = 0; first < lines; first += FEW_LINES) {
    const int64_t few = lines - first < FEW_LINES ? lines - first : FEW_LINES;
    for (int64_t at = 0; at < columns; at += GRADIENT_COLUMNS) {
      const int64_t from = first * n + at, width = columns - at;
      if (width >= GRADIENT_COLUMNS)
        add_column_sums<T, true>(dy + from, x + from, mean + first, std + first, few, n, 0,
                                 products + at, totals + at);
      else
        add_column_sums<T, false>(dy + from, x + from, mean + first, std + first, few, n,
                                  static_cast<int>(width), products + at, totals + at);
    }
  }
}

#if defined(__GNUC__)
// instance_gradient for 1 to SHORT_LINE floats, which are read once.
CYNET_XINLINE void short_instance_gradient(const float* dy, const float* x, double gamma,
                                           double eps, float* dx, int64_t n, bool add,
                                           double* sums) {
  const int count = static_cast<int>((n + LANES - 1) / LANES), last = count - 1;
  const int64_t rest = n - last * LANES;
  Vec g[SHORT_LINE / LANES], v[SHORT_LINE / LANES], sum = {}, squares = {}, total = {};
  Vec product = {};
  for (int k = 0; k < last; ++k) {
    g[k] = load(dy + k * LANES);
    v[k] = load(x + k * LANES);
    total += g[k];
    sum += v[k];
  }
  g[last] = load_part(dy + last * LANES, rest);
  v[last] = load_part(x + last * LANES, rest);
  total += g[last];
  sum += v[last];
  const float center = static_cast<float>(sum_in_double(sum) / n);
  for (int k = 0; k < count; ++k) {
    v[k] -= center;
    if (k == last) v[k] = keep_first_lanes(v[k], rest, 0.0f);
    squares += v[k] * v[k];
    product += g[k] * v[k];
  }
  const double scale = 1 / std::sqrt(sum_in_double(squares) / n + eps),
               all = sum_in_double(product);
  sums[0] = all * scale;
  sums[1] = sum_in_double(total);
  if (!dx) return;
  const float a = static_cast<float>(gamma * scale), d = static_cast<float>(sums[1] / n);
  const float b = static_cast<float>(scale * scale * all / n);
  for (int k = 0; k < count; ++k) {
    write_lanes(dx + k * LANES, a * (g[k] - d - b * v[k]), k == last, rest, add);
  }
}
#endif

// The sum, or sum of squares, of (x - center) over numbers that are `step` apart.
template <typename T>
double centered_line_sum(const T* x, int64_t n, int64_t step, double center, bool squared) {
  if (step == 1) return squared ? line_square_sum(x, n, T(center)) : sum_of_line(x, n, T(center));
  double total = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double value = x[i * step] - center;
    total += squared ? value * value : value;
  }
  return total;
}

// Calls line(i, start) for the lines along the middle axis of (outer, n, inner).
template <class Line>
void for_layer_lines(const Args& args, const LayerNorm& p, Line line) {
  parallel_for(args.threads, p.outer * p.inner, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) line(i, i / p.inner * p.n * p.inner + i % p.inner);
  });
}

// y, mean, std from x, gamma, beta
template <typename T>
void layer_norm(const Args& args) {
  const LayerNorm& p = args.as<LayerNorm>();
  const T *gamma = args.input<T>(1), *beta = args.input<T>(2);
  T* const out = args.output<T>(0);
  const int64_t step = p.inner, n = p.n;
  for_layer_lines(args, p, [&](int64_t line, int64_t start) {
    const T* x = args.input<T>(0) + start;
    T* y = out + start;
    double mean, std;
    if (step == 1 && out) {
      normalize_line<true>(x, gamma, beta, y, n, p.eps, args.add[0], &mean, &std);
    } else {
      mean = centered_line_sum(x, n, step, 0, false) / n;
      std = std::sqrt(centered_line_sum(x, n, step, mean, true) / n + p.eps);
    }
    put_number(args.output<T>(1), line, mean, args.add[1]);
    put_number(args.output<T>(2), line, std, args.add[2]);
    if (!out || step == 1) return;
    const T center = T(mean), scale = T(1 / std);
    for (int64_t i = 0; i < n; ++i) {
      const T value = (x[i * step] - center) * scale * gamma[i] + beta[i];
      y[i * step] = args.add[0] ? y[i * step] + value : value;
    }
  });
}

// Computes dx from dy, x, gamma, mean, std; dx may be dy.
template <typename T>
void layer_norm_grad(const Args& args) {
  const LayerNorm& p = args.as<LayerNorm>();
  const T* gamma = args.input<T>(2);
  const int64_t step = p.inner, n = p.n;
  for_layer_lines(args, p, [&](int64_t line, int64_t start) {
    const T *dy = args.input<T>(0) + start, *x = args.input<T>(1) + start;
    const T mean = args.input<T>(3)[line], std = args.input<T>(4)[line], scale = 1 / std;
    T* dx = args.output<T>(0) + start;
    if (step == 1) return line_gradient(dy, x, gamma, mean, std, dx, n, args.add[0]);
    double total = 0, product = 0;
    for (int64_t i = 0; i < n; ++i) {
      const T value = dy[i * step] * gamma[i];
      total += value;
      product += value * (x[i * step] - mean) * scale;
    }
    const T a = T(total / n), b = T(product / n);
    for (int64_t i = 0; i < n; ++i) {
      const T value = scale * (dy[i * step] * gamma[i] - a - b * (x[i * step] - mean) * scale);
      dx[i * step] = args.add[0] ? dx[i * step] + value : value;
    }
  });
}

// Computes dgamma and dbeta from dy, x, mean, std.
template <typename T>
void layer_norm_scale_grad(const Args& args) {
  const LayerNorm& p = args.as<LayerNorm>();
  const T *dy = args.input<T>(0), *x = args.input<T>(1);
  const T *mean = args.input<T>(2), *std = args.input<T>(3);
  const auto give = [&](int64_t i, double product, double total) {
    put_number(args.output<T>(0), i, product, args.add[0]);
    put_number(args.output<T>(1), i, total, args.add[1]);
  };
  if (p.inner == 1) {
    const int64_t units = (p.n + SCALE_UNIT - 1) / SCALE_UNIT;
    parallel_for(args.threads, units, [&](int64_t begin, int64_t end) {
      double products[SCALE_TOGETHER], totals[SCALE_TOGETHER];
      const int64_t stop = end * SCALE_UNIT < p.n ? end * SCALE_UNIT : p.n;
      for (int64_t at = begin * SCALE_UNIT; at < stop; at += SCALE_TOGETHER) {
        const int64_t width = stop - at < SCALE_TOGETHER ? stop - at : int64_t(SCALE_TOGETHER);
        compute_scale_grads(dy + at, x + at, mean, std, p.outer, p.n, width, products, totals);
        for (int64_t i = 0; i < width; ++i) give(at + i, products[i], totals[i]);
      }
    });
    return;
  }
  parallel_for(args.threads, p.n, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      double product = 0, total = 0;
      for (int64_t line = 0; line < p.outer * p.inner; ++line) {
        const int64_t at = (line / p.inner * p.n + i) * p.inner + line % p.inner;
        product += dy[at] * (x[at] - mean[line]) / std[line];
        total += dy[at];
      }
      give(i, product, total);
    }
  });
}

// y, mean, std from x, gamma, beta
template <typename T>
void instance_norm(const Args& args) {
  const InstanceNorm& p = args.as<InstanceNorm>();
  T* const out = args.output<T>(0);
  parallel_for(args.threads, p.batch * p.channels, [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) {
      const T* x = args.input<T>(0) + line * p.n;
      const int64_t c = line % p.channels;
      double mean, std;
      if (out) {
        normalize_line<false>(x, args.input<T>(1) + c, args.input<T>(2) + c, out + line * p.n, p.n,
                              p.eps, args.add[0], &mean, &std);
      } else {
        mean = sum_of_line(x, p.n, T(0)) / p.n;
        std = std::sqrt(line_square_sum(x, p.n, T(mean)) / p.n + p.eps);
      }
      put_number(args.output<T>(1), line, mean, args.add[1]);
      put_number(args.output<T>(2), line, std, args.add[2]);
    }
  });
}

// Computes the gradient of a line, and in `sums` its terms of dgamma and dbeta.
template <typename T>
void instance_gradient(const T* dy, const T* x, double gamma, double eps, T* dx, int64_t n,
                       bool add, double* sums) {
#if defined(__GNUC__)
  if constexpr (std::is_same<T, float>::value) {
    if (n <= SHORT_LINE) return short_instance_gradient(dy, x, gamma, eps, dx, n, add, sums);
  }
#endif
  const T mean = T(sum_of_line(x, n, T(0)) / n);
  const double scale = 1 / std::sqrt(line_square_sum(x, n, mean) / n + eps);
  const double total = sum_of_line(dy, n, T(0)), product = line_product(dy, x, n, mean);
  sums[0] = product * scale;
  sums[1] = total;
  if (!dx) return;
  const T a = T(gamma * scale), b = T(gamma * scale * scale * scale * product / n);
  const T d = T(gamma * scale * total / n);
  const auto value = [=](int64_t i) CYNET_XLAMBDA { return a * dy[i] - b * (x[i] - mean) - d; };
  if (add) {
    CYNET_IVDEP
    for (int64_t i = 0; i < n; ++i) dx[i] += value(i);
  } else {
    CYNET_IVDEP
    for (int64_t i = 0; i < n; ++i) dx[i] = value(i);
  }
}

// Computes dx, dgamma, dbeta from dy, x, gamma; dx may be dy.
template <typename T>
void instance_norm_grad(const Args& args) {
  const InstanceNorm& p = args.as<InstanceNorm>();
  double* sums = static_cast<double*>(args.space);
  T* const dx = args.output<T>(0);
  parallel_for(args.threads, p.batch * p.channels, [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line)
      instance_gradient(args.input<T>(0) + line * p.n, args.input<T>(1) + line * p.n,
                        double(args.input<T>(2)[line % p.channels]), p.eps,
                        dx ? dx + line * p.n : dx, p.n, args.add[0], sums + 2 * line);
  });
  const int64_t both = 2 * p.channels;
  for (int64_t image = 1; image < p.batch; ++image)
    for (int64_t i = 0; i < both; ++i) sums[i] += sums[image * both + i];
  for (int64_t c = 0; c < p.channels; ++c) {
    put_number(args.output<T>(1), c, p.batch ? sums[2 * c] : 0.0, args.add[1]);
    put_number(args.output<T>(2), c, p.batch ? sums[2 * c + 1] : 0.0, args.add[2]);
  }
}
}
#endif
