// y = x / sqrt(sum of x^2 + eps) along the middle axis of (outer, n, inner), and its gradient.
#ifndef CYNET_LANES
#include "kernel.h"
#include "reduce/line_reduce.h"

namespace cynet {
#define L2_NORM_FIELDS(field) \
  field(int64_t, outer) field(int64_t, n) field(int64_t, inner) field(double, eps)
CYNET_PARAMS(L2Norm, L2_NORM_FIELDS)
enum { L2_WIDTH = 64 };  // adjacent lines that are summed together
}  // namespace cynet

#define CYNET_PER_ISA_FILE "normalization/l2_norm.cc"
#include "isa/for_each_isa.h"

CYNET_KERNEL(l2_norm, L2Norm, 2, CYNET_FLOATS)
CYNET_KERNEL(l2_norm_grad, L2Norm, 3, CYNET_FLOATS)
#else
namespace {

// Calls line(first, width) for all lines: one contiguous line, or up to L2_WIDTH interleaved ones
// from offset `first` on.
template <class Line>
void for_lines(const Args& args, const L2Norm& p, Line line) {
  const int64_t parts = (p.inner + L2_WIDTH - 1) / L2_WIDTH;
  parallel_for(args.threads, p.outer * parts, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t at = i % parts * L2_WIDTH, left = p.inner - at;
      line(i / parts * p.n * p.inner + at, left < L2_WIDTH ? left : int64_t(L2_WIDTH));
    }
  });
}

// out (+)= a[i] x + b[i] y over `width` lines; y may be NULL.
template <typename T>
void sum_scaled_lines(const T* x, const T* a, const T* y, const T* b, T* out, const L2Norm& p,
                      int64_t width, bool add) {
  for (int64_t k = 0; k < p.n; ++k) {
    const int64_t at = k * p.inner;
    CYNET_IVDEP
    for (int64_t i = 0; i < width; ++i) {
      const T value = y ? a[i] * x[at + i] - b[i] * y[at + i] : a[i] * x[at + i];
      out[at + i] = add ? out[at + i] + value : value;
    }
  }
}

template <typename T>
void sum_scaled_line(const T* x, T a, const T* y, T b, T* out, int64_t n, bool add) {
  CYNET_IVDEP
  for (int64_t i = 0; i < n; ++i) {
    const T value = y ? a * x[i] - b * y[i] : a * x[i];
    out[i] = add ? out[i] + value : value;
  }
}

template <typename T>
void l2_norm(const Args& args) {
  const L2Norm& p = args.as<L2Norm>();
  const T* x = args.input<T>(0);
  T* y = args.output<T>(0);
  for_lines(args, p, [&](int64_t at, int64_t width) {
    if (p.inner == 1) {
      const T scale = T(1 / std::sqrt(line_square_sum(x + at, p.n, T(0)) + p.eps));
      return sum_scaled_line<T>(x + at, scale, nullptr, T(0), y + at, p.n, args.add[0]);
    }
    double total[L2_WIDTH] = {};
    T scale[L2_WIDTH];
    for (int64_t k = 0; k < p.n; ++k)
      for (int64_t i = 0; i < width; ++i) {
        const double value = x[at + k * p.inner + i];
        total[i] += value * value;
      }
    for (int64_t i = 0; i < width; ++i) scale[i] = T(1 / std::sqrt(total[i] + p.eps));
    sum_scaled_lines<T>(x + at, scale, nullptr, nullptr, y + at, p, width, args.add[0]);
  });
}

// dx = (dy - y sum of dy y) / |x|: reads dy and x.
template <typename T>
void l2_norm_grad(const Args& args) {
  const L2Norm& p = args.as<L2Norm>();
  const T *dy = args.input<T>(0), *x = args.input<T>(1);
  T* dx = args.output<T>(0);
  for_lines(args, p, [&](int64_t at, int64_t width) {
    if (p.inner == 1) {
      const double scale = 1 / std::sqrt(line_square_sum(x + at, p.n, T(0)) + p.eps);
      const T back = T(scale * scale * scale * line_product(dy + at, x + at, p.n, T(0)));
      return sum_scaled_line(dy + at, T(scale), x + at, back, dx + at, p.n, args.add[0]);
    }
    double total[L2_WIDTH] = {}, product[L2_WIDTH] = {};
    T a[L2_WIDTH], b[L2_WIDTH];
    for (int64_t k = 0; k < p.n; ++k)
      for (int64_t i = 0; i < width; ++i) {
        const double value = x[at + k * p.inner + i];
        total[i] += value * value;
        product[i] += dy[at + k * p.inner + i] * value;
      }
    for (int64_t i = 0; i < width; ++i) {
      const double scale = 1 / std::sqrt(total[i] + p.eps);
      a[i] = T(scale);
      b[i] = T(scale * scale * scale * product[i]);
    }
    sum_scaled_lines(dy + at, a, x + at, b, dx + at, p, width, args.add[0]);
  });
}
}
#endif
